"""Optional packages, imported where they are used: a missing one comes with the command that installs it.

Some packages report to their vendors. Each of them reads its switch once, while it is imported, so nlgauge imports
them only through `import_silenced`. Variables are set in the environment, so that processes started from this one
inherit them. SECURITY.md lists what each package does otherwise.
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

#: What switches a package's reports off: variables of the environment by package.
_SWITCHES = {
    "onnxruntime": {"ORT_DISABLE_TELEMETRY": "1"},
    # Its consent file would have to be written to the home folder; without this package, OpenVINO takes its own stub.
    "openvino": {},
    "huggingface_hub": {"HF_HUB_DISABLE_TELEMETRY": "1"},
    "transformers": {"HF_HUB_DISABLE_TELEMETRY": "1"},
    "ray": {"RAY_USAGE_STATS_ENABLED": "0"},
}

#: Packages that nlgauge imports through `import_silenced` only.
REPORTING_PACKAGES = frozenset(_SWITCHES)

_openvino_lock = threading.Lock()


def import_silenced(name: str) -> Any:
    """Import a package, or a module of it, that sends no reports. Raises ImportError where it is not installed.

    The switches replace the user's own settings: nlgauge promises that nothing is sent. A program that imported the
    package before nlgauge did has decided for itself, except that ONNX Runtime collects no further events.
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
    """While this lasts, an import of the module fails. Afterwards the program can import it as before."""
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
    """Import a package, or a module of it, that an extra of nlgauge installs.

    `instead` is what a user can do without the package. Raises MissingExtraError where it cannot be imported.
    """
    package = name.partition(".")[0]
    load = import_silenced if package in REPORTING_PACKAGES else importlib.import_module
    try:
        return load(name)
    except ImportError as error:
        if find_spec(package) is None:
            msg = not_installed(package, extra)
        else:  # it is installed, but something that it needs is missing, such as a library of the system
            reason = " ".join(str(error).split())
            msg = f"the package {package} cannot be imported ({reason}); run: {install_command(extra)}"
        if instead:
            msg += f", or {instead}"
        raise MissingExtraError(msg) from error


def package_version(distribution: str, extra: str) -> str:
    """The version of an installed package."""
    require(distribution.replace("-", "_"), extra)  # an error with the command to run where it is missing
    return version(distribution)


def not_installed(package: str, extra: str) -> str:
    """The message about a missing package.

    >>> not_installed("sacrebleu", "lexical")
    "the package sacrebleu is not installed; run: pip install 'nlgauge[lexical]'"
    """
    return f"the package {package} is not installed; run: {install_command(extra)}"


def install_command(extra: str) -> str:
    """The command that adds the packages of an extra to an installed nlgauge."""
    return f"pip install 'nlgauge[{extra}]'"
