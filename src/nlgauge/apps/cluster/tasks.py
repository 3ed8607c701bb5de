"""The queue of shards: taken by workers, tried again where a worker fails, and reported."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import IO

from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.worker import Report

#: How often a shard is tried.
TRIES = 3


class Tasks:
    """The shards of a pass, in order of work."""

    def __init__(self, shards: Sequence[RowShard], progress: ProgressLine | None = None) -> None:
        self._waiting = deque(shards)
        self._running: dict[int, RowShard] = {}
        self._tries: Counter[int] = Counter()
        self._progress = progress
        self.reports: list[Report] = []
        self.failed: dict[int, str] = {}
        """Shards that were given up, with the last reason."""

    def __bool__(self) -> bool:
        """Whether anything is left to do or under way."""
        return bool(self._waiting or self._running)

    @property
    def waiting(self) -> int:
        """Shards that nobody has taken."""
        return len(self._waiting)

    def take(self) -> RowShard | None:
        """The next shard; None where all are taken, of which some may come back."""
        if not self._waiting:
            return None
        shard = self._waiting.popleft()
        self._running[shard.number] = shard
        return shard

    def done(self, report: Report, *, workers: int) -> None:
        """A shard was done."""
        self._running.pop(report.shard, None)
        self.reports.append(report)
        if self._progress is not None:
            self._progress.advance(report.pairs, workers)

    def tell(self, text: str) -> None:
        """Something that whoever watches should know."""
        if self._progress is not None:
            self._progress.tell(text)

    def give_back(self, number: int) -> None:
        """A shard was taken and not begun: it is the next one again."""
        self._waiting.appendleft(self._running.pop(number))

    def fail(self, number: int, reason: str) -> None:
        """A shard was not done: it comes back behind the others, until it was tried three times."""
        shard = self._running.pop(number)
        self._tries[number] += 1
        if self._tries[number] < TRIES:
            self._waiting.append(shard)
        else:
            self.failed[number] = reason


class ProgressLine:
    """One line on stderr: share, rate, time left, workers."""

    def __init__(self, total: int, *, already: int = 0, what: str = "scoring", stream: IO[str] | None = None) -> None:
        self._total, self._already, self._what = total, already, what
        self._done, self._began, self._shown = 0, time.monotonic(), float("-inf")
        self._stream = stream or sys.stderr

    def advance(self, pairs: int, workers: int) -> None:
        """So many pairs more are done."""
        self._done += pairs
        every = 0.5 if self._stream.isatty() else 30.0
        now = time.monotonic()
        if now - self._shown >= every or self._done + self._already == self._total:
            self._shown = now
            self._show(self.line(now - self._began, workers))

    def line(self, seconds: float, workers: int) -> str:
        """What the line says after so many seconds."""
        rate = self._done / max(seconds, 1e-9)
        left = (self._total - self._already - self._done) / rate if rate else 0.0
        share = (self._already + self._done) / self._total
        many = "s" if workers != 1 else ""
        return f"{self._what}: {share:.1%}, {rate:,.0f} pairs/s, {clock(left)} left, {workers} worker{many}"

    def _show(self, line: str) -> None:
        if self._stream.isatty():
            self._stream.write(f"\r{line}\x1b[K")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def tell(self, text: str) -> None:
        """A line of its own."""
        self._show(f"{self._what}: {text}")
        if self._stream.isatty():
            self._stream.write("\n")

    def close(self) -> None:
        """End the line."""
        if self._stream.isatty() and self._done:
            self._stream.write("\n")


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
