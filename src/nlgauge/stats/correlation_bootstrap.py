"""Bootstrap of correlations: an interval for one, and whether the difference of two is significant.

Rows are drawn with replacement, the same rows for every metric. Rows of one document (cluster) are not independent:
with `clusters` documents are drawn, and a row counts as often as its document. A resample is a vector of counts c, so
all resamples are computed at once.

For Pearson, the sums behind r (c.a, c.a^2, c.ah, c.h, c.h^2) of all metrics are one matrix product.

For Kendall's tau-b and Spearman's rho, rows drawn twice are tied with themselves. So of a list with tie groups g,
each drawn t_g times, the ranks are cumulated counts (sorted once, whatever is drawn), and the pairs that differ are
n^2 - sum t_g^2; n is the sum of c, which differs between resamples of whole documents. The sum behind tau is c'Mc
with M = sign(a_i - a_j) sign(h_i - h_j): one product of all resamples with a matrix. Everything is a whole number
until the last division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate, rho, tau_b
from nlgauge.stats.numeric import BLOCK_CELLS, MOST_KENDALL, SAME
from nlgauge.stats.resampling import Units, bootstrap_counts, unit_numbers
from nlgauge.stats.validation import Vector, check_level, check_resampling, numbers, vector


class CorrelationInterval(NamedTuple):
    """A correlation, or a difference of two, with its two-sided percentile interval."""

    value: float
    low: float
    high: float
    p_value: float
    """Share of resamples in which it is not above 0; one without a value is not."""
    undefined: int
    """Resamples in which it has no value; they are left out of the interval."""


class CorrelationDraws(NamedTuple):
    """Correlations of several metrics with people, observed and in every resample."""

    observed: Vector
    draws: Vector
    """resamples x metrics; nan where a resample leaves the coefficient without a value."""

    def interval(self, metric: int = 0, *, level: float = 0.95) -> CorrelationInterval:
        """One metric's correlation."""
        return _interval(self.observed[metric], self.draws[:, metric], level)

    def difference(self, first: int, second: int, *, level: float = 0.95) -> CorrelationInterval:
        """How much higher the first metric correlates than the second."""
        draws = self.draws[:, first] - self.draws[:, second]
        return _interval(self.observed[first] - self.observed[second], draws, level)


def bootstrap_correlations(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    advance: Callable[[int], None] | None = None,
) -> CorrelationDraws:
    """Correlations of the metrics in `scores` (metrics x rows) with `human` over resampled rows.

    `clusters` names the document of each row: whole documents are drawn then. `advance` is told how many resamples
    are done.
    """
    check_resampling(resamples, seed)
    gold = vector(human, "human", least=2)
    table = numbers(scores, "scores")
    if table.ndim != 2 or not len(table) or table.shape[1] != gold.size:
        msg = f"scores must be metrics x {gold.size} rows (as many as human scores), got shape {table.shape}"
        raise InputError(msg)
    units = np.arange(gold.size) if clusters is None else unit_numbers(clusters, gold.size)
    count = int(units.max()) + 1
    if count < 2:
        msg = f"a bootstrap needs at least 2 documents, got {count} for all {gold.size} rows"
        raise InputError(msg)
    observed = np.array([correlate(row, gold, kind=kind).value for row in table])
    draws = np.empty((resamples, len(table)))
    resample = _PearsonResampler(table, gold) if kind == "pearson" else _RankResampler(table, gold, kind)
    done = 0
    for counts in bootstrap_counts(count, resamples, seed, block=max(1, BLOCK_CELLS // gold.size)):
        draws[done : done + len(counts)] = resample(counts if clusters is None else counts.take(units, axis=1))
        done += len(counts)
        if advance is not None:
            advance(len(counts))
    return CorrelationDraws(observed, draws)


def _interval(value: float, draws: Vector, level: float) -> CorrelationInterval:
    check_level(level)
    defined = draws[np.isfinite(draws)]
    if not defined.size:
        msg = f"none of {draws.size} resamples has a value; there are too few different scores to resample"
        raise InputError(msg)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    p_value = float(1 - (draws > 0).mean())
    return CorrelationInterval(float(value), float(low), float(high), p_value, draws.size - defined.size)


class _PearsonResampler:
    """Pearson's r of the metrics of a table (metrics x rows) with human scores on resampled rows."""

    def __init__(self, table: Vector, gold: Vector) -> None:
        # h, h^2, then a, a^2, ah of every metric; centred first, because r does not mind and rounding does.
        h = (gold - gold.mean()) / gold.std()
        z = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
        self._columns = np.concatenate([[h, h**2], z, z**2, z * h]).T
        self._metrics = len(table)

    def __call__(self, counts: NDArray[np.int64]) -> Vector:
        sums = counts.astype(np.float64) @ self._columns
        n, metrics = counts.sum(axis=1, keepdims=True), self._metrics
        h, hh = sums[:, :1], sums[:, 1:2]
        a, aa, ah = (sums[:, 2 + part * metrics : 2 + (part + 1) * metrics] for part in range(3))
        human_spread, spread = hh - h**2 / n, aa - a**2 / n
        human_spread[human_spread <= SAME * hh] = np.nan
        spread[spread <= SAME * aa] = np.nan
        r: Vector = (ah - a * h / n) / np.sqrt(human_spread * spread)
        return r


class _RankResampler:
    """Kendall's tau-b or Spearman's rho, as `_PearsonResampler`."""

    def __init__(self, table: Vector, gold: Vector, kind: str) -> None:
        self._table, self._gold, self._kind = table, gold, kind
        self._lists = [_TieGroups(row) for row in table]
        self._people = _TieGroups(gold)

    def __call__(self, counts: NDArray[np.int64]) -> Vector:
        """Correlations (resamples x metrics) from how often each row was drawn (resamples x rows); nan for none."""
        if self._kind == "kendall" and self._gold.size > MOST_KENDALL:
            drawn = (np.repeat(np.arange(self._gold.size), often) for often in counts)
            return np.array([[self._sorted(metric, rows) for metric in self._table] for rows in drawn])
        correlations = np.empty((len(counts), len(self._table)))
        people = self._people.ranks(counts) if self._kind == "spearman" else self._people.distinct(counts)
        for index, groups in enumerate(self._lists):
            if self._kind == "spearman":
                correlations[:, index] = rho(groups.ranks(counts), people, counts.astype(np.float64))
            else:
                agreeing = self._agreeing(self._table[index], counts.astype(np.float32))
                correlations[:, index] = tau_b(agreeing, groups.distinct(counts), people)
        return correlations

    def _agreeing(self, metric: Vector, counts: NDArray[np.float32]) -> Vector:
        gold = self._gold
        total = np.zeros(len(counts))
        step = max(1, BLOCK_CELLS // gold.size)
        for start in range(0, gold.size, step):
            part = slice(start, start + step)
            orders = [np.sign(x[part, None] - x).astype(np.float32) for x in (metric, gold)]
            product = counts @ (orders[0] * orders[1]).T
            total += np.einsum("rb,rb->r", product, counts[:, part], dtype=np.float64)
        return total

    def _sorted(self, metric: Vector, rows: NDArray[np.intp]) -> float:
        return correlate(metric[rows], self._gold[rows], kind="kendall", undefined="nan").value


class _TieGroups:
    """A list sorted once, with the places where its value changes."""

    def __init__(self, values: Vector) -> None:
        distinct, self._group = np.unique(values, return_inverse=True)
        self._order = np.argsort(self._group, kind="stable")
        self._starts = np.searchsorted(self._group[self._order], np.arange(distinct.size))

    def _drawn(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each distinct value was drawn."""
        drawn: NDArray[np.int64] = np.add.reduceat(counts[:, self._order], self._starts, axis=1)
        return drawn

    def ranks(self, counts: NDArray[np.int64]) -> Vector:
        """Twice the average rank of each row, centred, among what was drawn."""
        drawn = self._drawn(counts)
        upto = drawn.cumsum(axis=1)
        doubled = 2 * upto - drawn - upto[:, -1:]
        ranks: Vector = doubled[:, self._group].astype(np.float64)
        return ranks

    def distinct(self, counts: NDArray[np.int64]) -> Vector:
        """Ordered pairs of drawn rows whose values differ."""
        drawn = self._drawn(counts)
        n = drawn.sum(axis=1)
        pairs: Vector = (n * n - np.einsum("rg,rg->r", drawn, drawn)).astype(np.float64)
        return pairs
