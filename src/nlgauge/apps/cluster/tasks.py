"""The queue of shards: taken by workers, tried again where a worker fails, and reported."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.worker import Outcome, Report
from nlgauge.errors import NlgaugeError

#: How often a shard is tried.
TRIES = 3


class Tasks:
    """The shards of a pass, in order of work."""

    def __init__(self, shards: Sequence[RowShard], bar: Any = None) -> None:
        self._waiting = deque(shards)
        self._running: dict[int, RowShard] = {}
        self._tries: Counter[int] = Counter()
        self._bar = bar
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

    def settle(self, number: int, outcome: Outcome, *, workers: int) -> None:
        """What became of a shard: a report, the error that ends the run, or the reason why it is tried again."""
        if isinstance(outcome, NlgaugeError):
            raise outcome
        if isinstance(outcome, str):
            self.fail(number, outcome)
            return
        self._running.pop(number, None)
        self.reports.append(outcome)
        if self._bar is not None:
            self._bar.set_postfix_str(f"{workers} worker{'s' if workers != 1 else ''}", refresh=False)
            self._bar.update(outcome.pairs)

    def tell(self, text: str) -> None:
        """Something that whoever watches should know."""
        if self._bar is not None:
            self._bar.write(f"{self._bar.desc}: {text}", file=sys.stderr)

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


def progress_bar(total: int, *, already: int, what: str) -> Any:
    """Pairs that are done, on stderr; where that is a file, only every half minute."""
    from tqdm import tqdm

    every = 0.5 if sys.stderr.isatty() else 30.0
    return tqdm(total=total, initial=already, desc=what, unit=" pairs", unit_scale=True, mininterval=every)
