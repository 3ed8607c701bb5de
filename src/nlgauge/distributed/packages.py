"""pyarrow and ray, which are installed only where they are wanted."""

from __future__ import annotations

import importlib
from typing import Any

from nlgauge.errors import MissingExtraError

__all__ = ["package"]


def package(name: str) -> Any:
    """A module of pyarrow or ray."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"runs over many shards need {name.partition('.')[0]}: pip install 'nlgauge[cluster]'"
        raise MissingExtraError(msg) from error
