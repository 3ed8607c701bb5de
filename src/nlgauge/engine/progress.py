"""A bar on stderr for work that takes longer than a moment, where somebody can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from nlgauge.engine.interrupts import between_pairs

__all__ = ["Progress", "progress_stage", "tick", "ticked", "ticking"]

Item = TypeVar("Item")

#: Seconds before a bar is shown.
_DELAY = 1.0

#: Where in a larger piece of work a bar stands; set by who does the larger piece, shown by bars below it.
_STAGE: ContextVar[str] = ContextVar("stage", default="")

#: Told of every item that a loop elsewhere is done with.
_TICK: ContextVar[Callable[[int], None] | None] = ContextVar("tick", default=None)


@contextmanager
def progress_stage(stage: str) -> Iterator[None]:
    """Bars that are shown meanwhile say this too: `encoding, pair 3 of 7`.

    >>> with progress_stage("pair 3 of 7"):
    ...     Progress(10, show=False).name
    'encoding, pair 3 of 7'
    """
    token = _STAGE.set(stage)
    try:
        yield
    finally:
        _STAGE.reset(token)


@contextmanager
def ticking(advance: Callable[[int], None]) -> Iterator[None]:
    """Loops over `ticked` items tell `advance` meanwhile, wherever they are."""
    token = _TICK.set(advance)
    try:
        yield
    finally:
        _TICK.reset(token)


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
