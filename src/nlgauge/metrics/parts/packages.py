"""Packages that compute a metric, with the command to run where one is missing."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any

from nlgauge.errors import MissingExtraError


def package(name: str) -> Any:
    """The module of that name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"this metric needs the package {name.partition('.')[0]}: pip install 'nlgauge[meta]'"
        raise MissingExtraError(msg) from error


def package_version(distribution: str) -> str:
    """The version of an installed package."""
    package(distribution.replace("-", "_"))  # an error with the command to run where it is missing
    return version(distribution)
