"""Progress of long work, on stderr: a bar on a terminal, and elsewhere a plain line every 30 seconds.

    with reporting(ProgressReport(interval=10)):
        nlgauge.score(hyps, refs, progress=True)

What was loaded and how long each stage took is logged by the logger `nlgauge` at level INFO; `--verbose` prints it.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol, TextIO

#: Stages and files of a run, at level INFO.
log = logging.getLogger("nlgauge")

#: Seconds between two plain lines, and before the first one.
INTERVAL = 30.0

#: Seconds before a bar is shown.
_DELAY = 1.0

#: Estimates are in seconds below this, in minutes below its square.
_LONG = 90


class Counter(Protocol):
    """Counts the items of a loop."""

    def update(self, count: int) -> None:
        """Count further items."""

    def close(self) -> None:
        """End the loop."""


class ProgressReport:
    """How progress is shown. Loops that follow each other share one timer, so short loops are reported too."""

    def __init__(
        self,
        *,
        interval: float | None = None,
        delay: float = _DELAY,
        clock: Callable[[], float] = time.monotonic,
        stream: TextIO | None = None,
    ) -> None:
        self._interval = INTERVAL if interval is None else interval
        self._delay, self._clock, self._stream = delay, clock, stream
        self._last = clock()

    def start(self, total: int, *, what: str, unit: str, done: int = 0) -> Counter:
        """Begin a loop over `total` items, `done` of which are finished."""
        stream = self._stream or sys.stderr
        if stream is None or not stream.isatty():
            return _PlainLines(self, total, what, unit, done)
        from tqdm import tqdm

        bar: Any = tqdm(
            total=total,
            initial=done,
            unit=unit,
            unit_scale=True,
            desc=what,
            delay=self._delay,
            leave=False,
            file=stream,
        )
        counter: Counter = bar
        return counter

    def seconds(self) -> float:
        """The time of the report's clock."""
        return self._clock()

    def print_if_due(self, line: Callable[[], str]) -> None:
        """Print a line unless the last one was printed a moment ago."""
        now, stream = self._clock(), self._stream or sys.stderr
        if now - self._last >= self._interval and stream is not None:
            self._last = now
            print(f"nlgauge: {line()}", file=stream, flush=True)


class _PlainLines:
    """Counts items, and prints a line now and then."""

    def __init__(self, report: ProgressReport, total: int, what: str, unit: str, done: int) -> None:
        self._report, self._total, self._what, self._unit = report, total, what, unit
        self._first = self._done = done
        self._began = report.seconds()

    def update(self, count: int) -> None:
        self._done += count
        self._report.print_if_due(self._line)

    def close(self) -> None:
        return

    def _line(self) -> str:
        counts = f"{self._done:,} of {self._total:,} {self._unit}s"
        if self._unit == "B":
            counts = f"{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB"
        what = f"{self._what}:" if "," in self._what else self._what
        share = f" ({100 * self._done / self._total:.0f} %)" if self._total else ""
        if (done := self._done - self._first) <= 0:
            return f"{what} {counts}{share}"
        left = (self._report.seconds() - self._began) * (self._total - self._done) / done
        return f"{what} {counts}{share}, about {format_seconds(left)} left"


def format_seconds(seconds: float) -> str:
    """A rough time.

    >>> format_seconds(12.3), format_seconds(130), format_seconds(9000)
    ('12 s', '2 min', '2.5 h')
    """
    if seconds < _LONG:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < _LONG * 60 else f"{seconds / 3600:.1f} h"


_REPORT: ContextVar[ProgressReport | None] = ContextVar("nlgauge_progress", default=None)


@contextlib.contextmanager
def reporting(report: ProgressReport) -> Iterator[None]:
    """Show the progress of all runs inside the block in one way."""
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)


def start_progress(total: int, *, what: str, unit: str, done: int = 0) -> Counter:
    """Begin a loop in the current report; without one, each loop has a timer of its own."""
    return (_REPORT.get() or ProgressReport()).start(total, what=what, unit=unit, done=done)


@contextlib.contextmanager
def log_seconds(what: str) -> Iterator[None]:
    """Log how many seconds a block took."""
    began = time.perf_counter()
    yield
    log.info("%s: %.1f s", what, time.perf_counter() - began)
