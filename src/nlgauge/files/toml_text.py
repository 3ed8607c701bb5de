"""TOML as plain values, on every version of Python."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["toml_content"]


def toml_content(text: str) -> dict[str, Any]:
    """What a text in TOML says; a ValueError where it is none.

    >>> toml_content("threads = 2")
    {'threads': 2}
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
