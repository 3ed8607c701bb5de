"""Options of a run, and its progress: how to compute, and which texts to refuse.

The options are not part of a recipe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from nlgauge.core.kinds import Choice, Flag, Float, Folder, Int, Kind, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.encoders.base import DEFAULT_PRECISION, PRECISIONS
from nlgauge.encoders.cache import DEFAULT_GIGABYTES
from nlgauge.encoders.load import engine_names
from nlgauge.encoders.run_context import current_run
from nlgauge.io.progress import log_seconds, start_progress

Item = TypeVar("Item")

#: Treatments of a text over the model's limit.
LONG = ("truncate", "error", "windows")


class EngineName(Kind):
    """The name of an engine, built in or from a package."""

    @property
    def values(self) -> str:
        """The engine names."""
        return f"one of {', '.join(engine_names())}"

    def check(self, value: Any) -> str:
        """A name; the engine is looked up when it is used."""
        if not isinstance(value, str) or not value:
            raise ValueError
        return value

    def words_of(self) -> tuple[str, ...]:
        """The engine names."""
        return tuple(engine_names())


@dataclass(frozen=True, kw_only=True)
class RunOptions(OptionSet):
    """How to compute, and which texts to refuse.

    Only engine, precision and device affect a score: engine and device within 1e-5, a lower precision by more.
    `long="windows"` sets `window="model"`, which is signed, in every recipe without a window.
    """

    called: ClassVar[str] = "options of a run"

    engine: str = option("onnx", EngineName(), help="backend", local=True)
    precision: str = option(
        DEFAULT_PRECISION, Choice(*PRECISIONS), help="precision; fp16 and bf16 need engine torch", local=True
    )
    device: str = option(
        "auto",
        Text("auto, cpu, cuda or cuda:NUMBER"),
        help="device: auto, cpu or cuda (engine torch only)",
        hidden=True,
        local=True,
    )
    threads: int | None = option(None, Int(1), help="number of threads", unset="all available cores", local=True)
    batch_tokens: int = option(4096, Int(1), help="tokens per batch", hidden=True, local=True)
    long: Literal["truncate", "error", "windows"] = option(
        "truncate",
        Choice(*LONG),
        help="how to treat texts over the model's limit",
        hidden=True,
    )
    empty: Literal["error", "zero"] = option(
        "error", Choice("error", "zero"), help="how to treat pairs of two empty texts", hidden=True
    )
    alignments: bool = option(False, Flag(), help="keep the token alignments")
    progress: bool = option(False, Flag(), help="show a progress bar", local=True)
    cache: str | os.PathLike[str] | None = option(
        None, Folder(), help="folder that caches layer vectors between runs", hidden=True, local=True
    )
    cache_size: float = option(
        DEFAULT_GIGABYTES,
        Float(above=0, unit="gigabytes"),
        help="maximum cache size in GB; the least recently used vectors are removed",
        needs="cache",
        hidden=True,
        metavar="GB",
        local=True,
    )

    @property
    def loading(self) -> dict[str, Any]:
        """The options for loading a model."""
        return {name: getattr(self, name) for name in ("engine", "precision", "threads", "device", "progress")}


def report_progress(items: Iterable[Item]) -> Iterator[Item]:
    """Iterate over items, report each one as done, and check for cancellation."""
    run = current_run()
    for item in items:
        run.check()
        yield item
        run.advance(1)


class Progress:
    """Counts tokens, or pairs; `with Progress(total, show=True) as advance: advance(100)`.

    Progress also shows the stage of a larger piece of work:

    >>> from nlgauge.encoders.run_context import run_context
    >>> with run_context(stage="pair 3 of 7"):
    ...     Progress(10, show=False).name
    'encoding, pair 3 of 7'
    """

    def __init__(
        self, total: int, *, show: bool, what: str = "encoding", unit: str = "token", timed: bool = True
    ) -> None:
        self.name = f"{what}, {stage}" if (stage := current_run().stage) else what
        self._counter = start_progress(total, what=self.name, unit=unit) if show else None
        self._timer = log_seconds(self.name) if timed else nullcontext()

    def __enter__(self) -> Callable[[int], None]:
        self._timer.__enter__()
        return _ignore if self._counter is None else self._counter.update

    def __exit__(self, *error: Any) -> None:
        self._timer.__exit__(*error)
        if self._counter is not None:
            self._counter.close()


def _ignore(_: int) -> None:
    return
