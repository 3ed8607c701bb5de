"""Names that objects of a module had before 0.2; they work until 0.3, with a warning."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from nlgauge.errors import DeprecatedNameWarning

__all__ = ["old_names"]


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that finds objects by their old names: old name -> new name, or module:name."""

    def find(name: str) -> Any:
        if name not in names:
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        now = names[name].replace(":", ".")
        msg = f"{module}.{name} is called {now} now; the old name works until 0.3"
        warnings.warn(msg, DeprecatedNameWarning, stacklevel=2)
        place, _, new = names[name].rpartition(":")
        return getattr(importlib.import_module(place or module), new)

    return find
