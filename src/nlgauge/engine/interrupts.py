"""Whoever waits for a long run may look at it between two pairs, or inside a long iteration, and end it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["between_pairs", "watched"]

_LOOK: ContextVar[Callable[[], None] | None] = ContextVar("nlgauge_look", default=None)


@contextmanager
def watched(look: Callable[[], None]) -> Iterator[None]:
    """Runs of this thread call `look` between two pairs, and within slow ones; what it raises ends them."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def between_pairs() -> None:
    """Let whoever watches the run have a look."""
    if (look := _LOOK.get()) is not None:
        look()
