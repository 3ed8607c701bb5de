"""pyarrow and ray, which are installed only where they are wanted."""

from __future__ import annotations

import importlib
from typing import Any

from nlgauge.errors import MissingExtraError
from nlgauge.telemetry import REPORTING_PACKAGES, import_silenced

__all__ = ["package"]


def package(name: str) -> Any:
    """A module of pyarrow or ray."""
    load = import_silenced if name.partition(".")[0] in REPORTING_PACKAGES else importlib.import_module
    try:
        return load(name)
    except ImportError as error:
        msg = f"runs over many shards need {name.partition('.')[0]}: pip install 'nlgauge[cluster]'"
        raise MissingExtraError(msg) from error
