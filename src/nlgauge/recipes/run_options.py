"""Options of a run: how to compute, and what to refuse. They are no part of a recipe."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from nlgauge.encoders.cache import DEFAULT_GIGABYTES
from nlgauge.encoders.precision import DEFAULT_PRECISION, check_precision
from nlgauge.errors import RecipeError

__all__ = ["LONG", "RunOptions"]

#: What can be done with a text over a model's limit.
LONG = ("truncate", "error", "windows")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to compute, and what to refuse.

    Only the first three move a score: engine and device within 1e-5, a lower precision by more. `long="windows"` says
    `window="model"` in every recipe of the run that names no window; as a part of the recipe it is signed.
    """

    engine: str = "onnx"
    precision: str = DEFAULT_PRECISION
    device: str = "auto"
    threads: int | None = None
    batch_tokens: int = 4096
    long: Literal["truncate", "error", "windows"] = "truncate"
    empty: Literal["error", "zero"] = "error"
    alignments: bool = False
    progress: bool = False
    cache: str | os.PathLike[str] | None = None
    """Folder that keeps layer vectors for the next run; None keeps nothing."""
    cache_size: float = DEFAULT_GIGABYTES
    """Most that the folder may hold, in GB; what was used least recently goes first."""

    def __post_init__(self) -> None:
        for name in ("engine", "device", "long", "empty"):
            if not isinstance(getattr(self, name), str):
                msg = f"{name} must be a text, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        for name in ("alignments", "progress"):
            if not isinstance(getattr(self, name), bool | np.bool_ | int):
                msg = f"{name} must be True or False, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        if not isinstance(self.batch_tokens, int) or self.batch_tokens < 1:
            msg = f"batch_tokens must be a whole number, at least 1, got {self.batch_tokens!r}"
            raise RecipeError(msg)
        for name, allowed in (("long", LONG), ("empty", ("error", "zero"))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        check_precision(self.precision)
        size = self.cache_size
        if isinstance(size, bool) or not isinstance(size, numbers.Real) or not 0 < size < math.inf:
            msg = f"cache_size must be a number of gigabytes above 0, got {size!r}"
            raise RecipeError(msg)
        if self.cache is not None and (
            not isinstance(self.cache, str | os.PathLike) or "\0" in os.fsdecode(self.cache)
        ):
            msg = f"cache must be a folder, got {self.cache!r}"
            raise RecipeError(msg)

    @property
    def loading(self) -> dict[str, Any]:
        """What a model is loaded with."""
        return {name: getattr(self, name) for name in ("engine", "precision", "threads", "device", "progress")}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RunOptions:
        """From keywords, with an error that lists what there is."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                msg = f"unknown option {name!r}; options of a run are: {', '.join(known)}"
                raise RecipeError(msg)
        return cls(**given)
