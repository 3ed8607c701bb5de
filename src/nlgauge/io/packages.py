"""Optional packages: imported where they are used, with the command that installs a missing one."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from nlgauge.errors import MissingExtraError
from nlgauge.io.telemetry import REPORTING_PACKAGES, import_silenced


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
