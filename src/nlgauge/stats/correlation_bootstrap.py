"""Bootstrap of correlations: an interval for one, and whether the difference of two is more than luck.

Rows are drawn with replacement, the same rows for every metric. For Pearson a resample is a vector of
counts c, and the sums behind r (c.a, c.a^2, c.ah, c.h, c.h^2) of all metrics are one matrix product; what counts
give for ranks is in `rank_bootstrap`. Rows of one document (cluster) are not independent: with `clusters` documents
are drawn, and a row counts as often as its document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.checks import Vector, check_level, check_resampling, numbers, vector
from nlgauge.stats.correlation import correlate
from nlgauge.stats.rank_bootstrap import RankResampler, drawn_counts
from nlgauge.stats.resampling import Units, unit_numbers

__all__ = [
    "BootstrapDifference",
    "CorrelationDraws",
    "CorrelationInterval",
    "bootstrap_correlations",
    "paired_bootstrap",
]

#: Counts held at once (32 MB).
_CELLS = 4_000_000
#: A spread this small beside the squares is rounding.
_SAME = 1e-12


class CorrelationDraws(NamedTuple):
    """Correlations of several metrics with people, observed and in every resample."""

    observed: Vector
    draws: Vector
    """resamples x metrics; nan where a resample leaves the coefficient without a value."""
    seed: int

    def interval(self, metric: int = 0, *, level: float = 0.95) -> CorrelationInterval:
        """Percentile interval of one metric's correlation."""
        low, high, undefined = _percentiles(self.draws[:, metric], level)
        value = float(self.observed[metric])
        return CorrelationInterval(value, low, high, level, len(self.draws), self.seed, undefined)

    def difference(self, first: int, second: int, *, level: float = 0.95) -> BootstrapDifference:
        """How much higher the first metric correlates than the second."""
        deltas = self.draws[:, first] - self.draws[:, second]
        low, high, undefined = _percentiles(deltas, level)
        delta = float(self.observed[first] - self.observed[second])
        # A resample without a value cannot speak for the first metric.
        p_value = float(1 - (deltas > 0).mean())
        return BootstrapDifference(delta, p_value, low, high, level, len(deltas), self.seed, undefined)


class CorrelationInterval(NamedTuple):
    """A correlation with its two-sided percentile interval."""

    value: float
    low: float
    high: float
    level: float
    resamples: int
    seed: int
    undefined: int
    """Resamples in which the coefficient has no value; they are left out of the interval."""


class BootstrapDifference(NamedTuple):
    """A difference of two correlations; `p_value` is the share of resamples in which the first is not higher."""

    delta: float
    p_value: float
    low: float
    high: float
    level: float
    resamples: int
    seed: int
    undefined: int


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
    rng = np.random.default_rng(seed)
    draws = np.empty((resamples, len(table)))
    resample = _PearsonResampler(table, gold) if kind == "pearson" else RankResampler(table, gold, kind)
    block = max(1, _CELLS // gold.size)
    for start in range(0, resamples, block):
        counts = drawn_counts(rng.integers(0, count, size=(min(block, resamples - start), count)))
        draws[start : start + len(counts)] = resample(counts if clusters is None else counts.take(units, axis=1))
        if advance is not None:
            advance(len(counts))
    return CorrelationDraws(observed, draws, seed)


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
) -> BootstrapDifference:
    """Does the first metric follow people better than the second? Both see the same resampled rows."""
    check_level(level)
    a, b = numbers(first, "first"), numbers(second, "second")
    if a.shape != b.shape:
        msg = f"first and second must be of equal length, got shapes {a.shape} and {b.shape}"
        raise InputError(msg)
    return bootstrap_correlations([a, b], human, kind=kind, resamples=resamples, seed=seed).difference(
        0, 1, level=level
    )


class _PearsonResampler:
    """As `RankResampler`, for Pearson."""

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
        human_spread[human_spread <= _SAME * hh] = np.nan
        spread[spread <= _SAME * aa] = np.nan
        r: Vector = (ah - a * h / n) / np.sqrt(human_spread * spread)
        return r


def _percentiles(values: Vector, level: float) -> tuple[float, float, int]:
    check_level(level)
    defined = values[np.isfinite(values)]
    if not defined.size:
        msg = f"none of {values.size} resamples has a value; there are too few different scores to resample"
        raise InputError(msg)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return float(low), float(high), int(values.size - defined.size)
