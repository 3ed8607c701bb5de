"""Optional packages, imported on first use; the error for a missing package contains the command that installs it.

Some packages send usage reports to their vendors. Each reads its switch once, during its import, so nlgauge imports
them only through `import_silenced`. The switches are environment variables, so child processes inherit them.
SECURITY.md lists what each package would send.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from nlgauge.errors import MissingExtraError

#: Environment variables that switch off the usage reports of each package.
_SWITCHES = {
    "onnxruntime": {"ORT_DISABLE_TELEMETRY": "1"},
    # Its consent file would be written to the home folder. Without the package, OpenVINO uses its own stub.
    "openvino": {},
    "huggingface_hub": {"HF_HUB_DISABLE_TELEMETRY": "1"},
    "transformers": {"HF_HUB_DISABLE_TELEMETRY": "1"},
    "ray": {"RAY_USAGE_STATS_ENABLED": "0"},
}

#: Packages that nlgauge imports only through `import_silenced`.
REPORTING_PACKAGES = frozenset(_SWITCHES)

_openvino_lock = threading.Lock()


def import_silenced(name: str) -> Any:
    """Import a package, or one of its modules, with its usage reports switched off.

    The switches override the user's settings, because nlgauge promises that nothing is sent. They have no effect on a
    package that the program imported earlier; only ONNX Runtime stops collecting events then. Raises ImportError for
    a package that is not installed.
    """
    package = name.partition(".")[0]
    os.environ.update(_SWITCHES[package])
    if package == "openvino":
        with _openvino_lock, _without_module("openvino_telemetry"):
            return importlib.import_module(name)
    module = importlib.import_module(name)
    if package == "onnxruntime":
        module.disable_telemetry_events()
    return module


@contextmanager
def _without_module(name: str) -> Iterator[None]:
    """Make imports of a module fail inside the block."""
    missing = object()
    before: Any = sys.modules.get(name, missing)
    sys.modules[name] = None  # type: ignore[assignment]  # how Python marks a module that must not be imported
    try:
        yield
    finally:
        if before is missing:
            del sys.modules[name]
        else:
            sys.modules[name] = before


def require(name: str, extra: str, *, instead: str = "") -> Any:
    """Import a package of an extra, or one of its modules.

    Raises MissingExtraError if the import fails; `instead` adds an alternative to its message.
    """
    package = name.partition(".")[0]
    load = import_silenced if package in REPORTING_PACKAGES else importlib.import_module
    try:
        return load(name)
    except ImportError as error:
        if find_spec(package) is None:
            msg = missing_package_message(package, extra)
        else:  # the package is installed, but one of its dependencies is missing, such as a system library
            reason = " ".join(str(error).split())
            msg = f"the package {package} cannot be imported ({reason}); run: {install_command(extra)}"
        if instead:
            msg += f", or {instead}"
        raise MissingExtraError(msg) from error


def package_version(distribution: str, extra: str) -> str:
    """The version of an installed package."""
    require(distribution.replace("-", "_"), extra)  # raises MissingExtraError for a missing package
    return version(distribution)


def missing_package_message(package: str, extra: str) -> str:
    """The error message for a missing package.

    >>> missing_package_message("sacrebleu", "lexical")
    "the package sacrebleu is not installed; run: pip install 'nlgauge[lexical]'"
    """
    return f"the package {package} is not installed; run: {install_command(extra)}"


def install_command(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'nlgauge[{extra}]'"
