"""Options of a run, and its progress: how to compute, what to refuse, a progress bar, and a way to end the run.

The options are no part of a recipe. A bar on stderr is shown for work that takes longer than a moment. Whoever waits
for a run may look at it between two pairs, or inside a long iteration, and end it (`watched`).
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np

from nlgauge.encoders.base import DEFAULT_PRECISION, check_precision
from nlgauge.encoders.cache import DEFAULT_GIGABYTES
from nlgauge.errors import RecipeError

Item = TypeVar("Item")

#: What can be done with a text over a model's limit.
LONG = ("truncate", "error", "windows")

#: Called between two pairs.
_LOOK: ContextVar[Callable[[], None] | None] = ContextVar("nlgauge_look", default=None)

#: Seconds before a bar is shown.
_DELAY = 1.0

#: Where in a larger piece of work a bar stands; set by who does the larger piece, shown by bars below it.
_STAGE: ContextVar[str] = ContextVar("stage", default="")

#: Told of every item that a loop elsewhere is done with.
_TICK: ContextVar[Callable[[int], None] | None] = ContextVar("tick", default=None)


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


@contextmanager
def _setting(variable: ContextVar[Item], value: Item) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def watched(look: Callable[[], None]) -> AbstractContextManager[None]:
    """Runs of this thread call `look` between two pairs, and within slow ones; what it raises ends them."""
    return _setting(_LOOK, look)


def between_pairs() -> None:
    """Let whoever watches the run have a look."""
    if (look := _LOOK.get()) is not None:
        look()


def progress_stage(stage: str) -> AbstractContextManager[None]:
    """Bars that are shown meanwhile say this too: `encoding, pair 3 of 7`.

    >>> with progress_stage("pair 3 of 7"):
    ...     Progress(10, show=False).name
    'encoding, pair 3 of 7'
    """
    return _setting(_STAGE, stage)


def ticking(advance: Callable[[int], None]) -> AbstractContextManager[None]:
    """Loops over `ticked` items tell `advance` meanwhile, wherever they are."""
    return _setting(_TICK, advance)


def ticked(items: Iterable[Item]) -> Iterator[Item]:
    """The items; who counts them, if anybody, is told of each one that is done."""
    for item in items:
        between_pairs()
        yield item
        tick(1)


def tick(count: int) -> None:
    """Tell who counts items, if anybody, that some more are done."""
    if (advance := _TICK.get()) is not None:
        advance(count)


class Progress:
    """Counts tokens, or pairs; `with Progress(total, show=True) as advance: advance(100)`."""

    def __init__(self, total: int, *, show: bool, what: str = "encoding", unit: str = "token") -> None:
        self.name = f"{what}, {_STAGE.get()}" if _STAGE.get() else what
        self._bar: Any = None
        if show:
            from tqdm import tqdm

            # disable=None: tqdm stays silent where stderr is no terminal.
            self._bar = tqdm(
                total=total, unit=unit, unit_scale=True, desc=self.name, delay=_DELAY, disable=None, leave=False
            )

    def __enter__(self) -> Callable[[int], None]:
        return self._bar.update if self._bar is not None else lambda _: None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
