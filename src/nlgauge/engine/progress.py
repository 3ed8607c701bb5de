"""A bar on stderr for work that takes longer than a moment, where somebody can see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Progress"]


class Progress:
    """Counts tokens, or pairs; `with Progress(total, show=True) as advance: advance(100)`."""

    def __init__(self, total: int, *, show: bool, what: str = "encoding", unit: str = "token") -> None:
        self._bar: Any = None
        if show:
            from tqdm import tqdm

            # disable=None: tqdm stays silent where stderr is no terminal.
            self._bar = tqdm(total=total, unit=unit, unit_scale=True, desc=what, delay=1.0, disable=None, leave=False)

    def __enter__(self) -> Callable[[int], None]:
        return self._bar.update if self._bar is not None else lambda _: None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
