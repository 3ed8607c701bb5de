"""Scores of several systems on the same instances under one metric: what all comparisons start from.

An instance is what systems are compared on: a segment, a summary, a dialogue turn. Rows are instances, columns are
systems, and `oriented` turns a distance round once, so that everything later may take higher for better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.files.html import HtmlCell, html_table
from nlgauge.stats.checks import numbers

__all__ = ["CorpusStatistics", "Matrix", "SystemScores"]

Matrix = NDArray[np.float64]

#: Sizes whose squares, and sums of them, are neither infinite nor 0.
_SMALLEST, _LARGEST = 1e-100, 1e100


class CorpusStatistics(Protocol):
    """Counts behind a score of a whole corpus (BLEU, chrF): a resample of instances adds up other counts."""

    @property
    def counts(self) -> Matrix:
        """Instances x systems x counts."""

    def score(self, totals: Matrix) -> Matrix:
        """The corpus score for summed counts; the last axis of `totals` is that of the counts, and goes.

        The score is the metric's own (a distance stays one). Sums of a resample are whole numbers where the counts
        are; in approximate randomisation they are too.
        """

    def take(self, systems: Sequence[int]) -> CorpusStatistics:
        """The same of some systems, by number."""


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores:
    """Scores of systems on the same instances, one metric; read-only.

    >>> scores = SystemScores("wer", ("old", "new"), [[0.5, 0.25], [0.75, 0.5]], higher_is_better=False)
    >>> scores.oriented.tolist()
    [[-0.5, -0.25], [-0.75, -0.5]]
    """

    metric: str
    systems: tuple[str, ...]
    values: Matrix
    """Instances x systems, as the metric gave them."""
    higher_is_better: bool = True
    signature: str = ""
    """Recipe part of the signature; of scores from a file what the file says, and its digest."""
    instances: tuple[str, ...] = ()
    """Names of the instances; their numbers from 0 where nothing names them."""
    documents: tuple[str, ...] | None = None
    """The document of each instance; instances of one document are not independent."""
    statistics: CorpusStatistics | None = None
    """Behind the score of a whole system, where it is no mean over instances."""

    def __post_init__(self) -> None:
        values = np.array(numbers(self.values, f"scores of {self.metric!r}"))
        if values.ndim != 2 or values.size == 0:
            msg = f"scores of {self.metric!r} must be instances x systems, got shape {values.shape}"
            raise InputError(msg)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "systems", tuple(map(str, self.systems)))
        object.__setattr__(self, "instances", tuple(map(str, self.instances)) or tuple(map(str, range(len(values)))))
        if self.documents is not None:
            object.__setattr__(self, "documents", tuple(map(str, self.documents)))
        self._check_names()
        self._check_values()

    def _check_names(self) -> None:
        if len(self.systems) != self.k:
            msg = f"scores of {self.metric!r} have {self.k} columns, but {len(self.systems)} systems are named"
            raise InputError(msg)
        twice = [name for name, times in Counter(self.systems).items() if times > 1]
        if twice:
            msg = f"scores of {self.metric!r}: two systems are called {twice[0]!r}; give each a name of its own"
            raise InputError(msg)
        for what, names in (("instances", self.instances), ("documents", self.documents)):
            if names is not None and len(names) != self.n:
                msg = f"scores of {self.metric!r} have {self.n} rows, but {len(names)} {what} are named"
                raise InputError(msg)
        counts = None if self.statistics is None else np.shape(self.statistics.counts)[:2]
        if counts is not None and counts != (self.n, self.k):
            msg = f"statistics of {self.metric!r} must be of {self.n} instances x {self.k} systems, got {counts}"
            raise InputError(msg)

    def _check_values(self) -> None:
        bad = np.argwhere(~np.isfinite(self.values))
        if not bad.size:
            self._check_sizes()
            return
        row, column = map(int, bad[0])
        more = f", and {len(bad) - 1} more scores are no finite numbers" if len(bad) > 1 else ""
        msg = (
            f"scores of {self.metric!r}: system {self.systems[column]!r} has {float(self.values[row, column])!r} for "
            f"instance {self.instances[row]!r}{more}; all systems need a score for every instance, so leave such "
            "instances out for all of them"
        )
        raise InputError(msg)

    def _check_sizes(self) -> None:
        """Scores are squared on the way; what is then no number any more is refused before."""
        sizes = np.abs(self.values)
        row, column = (int(at) for at in np.unravel_index(int(sizes.argmax()), sizes.shape))
        largest = float(sizes[row, column])
        if largest == 0 or _SMALLEST <= largest <= _LARGEST:
            return
        msg = (
            f"scores of {self.metric!r}: the largest is {float(self.values[row, column])!r}, of system "
            f"{self.systems[column]!r} for instance {self.instances[row]!r}; sizes from {_SMALLEST:g} to "
            f"{_LARGEST:g} can be compared, so scale all scores of the metric"
        )
        raise InputError(msg)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        return f"<SystemScores {self.metric}: {shape}{'' if self.higher_is_better else ', lower is better'}>"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [name, float(column.mean()), float(np.median(column)), float(column.min()), float(column.max())]
            for name, column in zip(self.systems, self.values.T, strict=True)
        ]
        columns = ["system", "mean", "median", "lowest", "highest"]
        return html_table(columns, rows, caption=repr(self)[1:-1], notes=[self.signature] if self.signature else [])

    @property
    def n(self) -> int:
        """How many instances."""
        return int(self.values.shape[0])

    @property
    def k(self) -> int:
        """How many systems."""
        return int(self.values.shape[1])

    @property
    def oriented(self) -> Matrix:
        """The scores with higher meaning better: a distance is negated."""
        return self.values if self.higher_is_better else -self.values

    def take(self, systems: Sequence[str]) -> SystemScores:
        """The same of some systems, in the order asked for."""
        unknown = [name for name in systems if name not in self.systems]
        if unknown:
            msg = f"there are no scores of {self.metric!r} for system {unknown[0]!r}; there are {list(self.systems)}"
            raise InputError(msg)
        at = [self.systems.index(name) for name in systems]
        statistics = None if self.statistics is None else self.statistics.take(at)
        return replace(self, systems=tuple(systems), values=self.values[:, at], statistics=statistics)
