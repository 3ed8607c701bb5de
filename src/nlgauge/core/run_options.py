"""Options of a run, and its progress: how to compute, what to refuse, and a progress bar.

The options are no part of a recipe. A bar on stderr is shown for work that takes longer than a moment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from nlgauge.core.kinds import Choice, Flag, Float, Folder, Int, Kind, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.encoders.base import DEFAULT_PRECISION, PRECISIONS
from nlgauge.encoders.cache import DEFAULT_GIGABYTES
from nlgauge.encoders.load import engine_names
from nlgauge.encoders.run_context import current_run

Item = TypeVar("Item")

#: What can be done with a text over a model's limit.
LONG = ("truncate", "error", "windows")

#: Seconds before a bar is shown.
_DELAY = 1.0


class EngineName(Kind):
    """The name of an engine; packages may add some."""

    @property
    def values(self) -> str:
        """The engines that are installed or known."""
        return f"one of {', '.join(engine_names())}"

    def check(self, value: Any) -> str:
        """A name; whether there is an engine of that name is looked up where it is used."""
        if not isinstance(value, str) or not value:
            raise ValueError
        return value

    def words_of(self) -> tuple[str, ...]:
        """The engines."""
        return tuple(engine_names())


@dataclass(frozen=True, kw_only=True)
class RunOptions(OptionSet):
    """How to compute, and what to refuse.

    Only the first three move a score: engine and device within 1e-5, a lower precision by more. `long="windows"` says
    `window="model"` in every recipe of the run that names no window; as a part of the recipe it is signed.
    """

    called: ClassVar[str] = "options of a run"

    engine: str = option("onnx", EngineName(), help="backend", local=True)
    precision: str = option(DEFAULT_PRECISION, Choice(*PRECISIONS), help="precision", local=True)
    device: str = option(
        "auto",
        Text("auto, cpu, cuda or cuda:NUMBER"),
        help="auto, cpu or cuda; engine torch only",
        hidden=True,
        local=True,
    )
    threads: int | None = option(None, Int(1), help="number of threads", unset="all available cores", local=True)
    batch_tokens: int = option(4096, Int(1), help="tokens per batch", hidden=True, local=True)
    long: Literal["truncate", "error", "windows"] = option(
        "truncate",
        Choice(*LONG),
        help="cut, refuse, or read in windows a text over the model's limit",
        hidden=True,
    )
    empty: Literal["error", "zero"] = option(
        "error", Choice("error", "zero"), help="refuse a pair of two empty texts, or score it 0", hidden=True
    )
    alignments: bool = option(False, Flag(), help="keep what was matched with what")
    progress: bool = option(False, Flag(), help="show a progress bar", local=True)
    cache: str | os.PathLike[str] | None = option(
        None, Folder(), help="keep layer vectors in this folder for the next run", hidden=True, local=True
    )
    cache_size: float = option(
        DEFAULT_GIGABYTES,
        Float(above=0, unit="gigabytes"),
        help="largest size of the cache in GB; what was used least recently goes first",
        needs="cache",
        hidden=True,
        metavar="GB",
        local=True,
    )

    @property
    def loading(self) -> dict[str, Any]:
        """What a model is loaded with."""
        return {name: getattr(self, name) for name in ("engine", "precision", "threads", "device", "progress")}


def ticked(items: Iterable[Item]) -> Iterator[Item]:
    """The items; whoever counts them is told of each one that is done, and may end the run."""
    run = current_run()
    for item in items:
        run.check()
        yield item
        run.advance(1)


class Progress:
    """Counts tokens, or pairs; `with Progress(total, show=True) as advance: advance(100)`.

    A bar also shows where in a larger piece of work it is:

    >>> from nlgauge.encoders.run_context import run_context
    >>> with run_context(stage="pair 3 of 7"):
    ...     Progress(10, show=False).name
    'encoding, pair 3 of 7'
    """

    def __init__(self, total: int, *, show: bool, what: str = "encoding", unit: str = "token") -> None:
        self.name = f"{what}, {stage}" if (stage := current_run().stage) else what
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
