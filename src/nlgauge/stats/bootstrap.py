"""Intervals for a mean over segments that hold the mean as often as they say.

The plain percentile bootstrap is too narrow for short lists: it has the deviation of n values and not of n - 1, and
the tails of the normal distribution and not of Student's t. At n = 12 its "95 %" hold the mean of skewed scores
(Beta(8, 2)) in 89 of 100 cases. So

    fewer than 30 values    Student's t interval; nothing is drawn
    30 and more             percentile bootstrap, the percentiles moved outwards by as much as t with n - 1 degrees
                            of freedom is wider: tails of Phi(-t sqrt(n / (n - 1))), the "expanded percentile"
                            interval of Hesterberg (2015, The American Statistician 69:371-386). The plain one is its
                            limit: at n = 500 the tails are 2.46 per cent instead of 2.5.

Values of one document (cluster) are not independent. With `clusters`, documents take the place of values: they are
what is drawn and what is counted, and the t interval has the deviation of their sums (linearised ratio).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.stats.checks import Vector, check_level, check_resampling, vector
from nlgauge.stats.resampling import Units, expanded_tail, unit_numbers

__all__ = ["FEW", "Interval", "bootstrap_mean"]

#: With fewer values (or documents) than this the interval is Student's.
FEW = 30

#: Resamples drawn at once; bounds memory to about this many rows of the input.
_BLOCK = 64


class Interval(NamedTuple):
    """A two-sided interval around a mean."""

    mean: float
    low: float
    high: float
    level: float
    resamples: int
    """0 where nothing was drawn (t interval)."""
    seed: int
    method: str = "bootstrap"
    """bootstrap or t"""
    n: int = 0
    """What was drawn or counted: values, or documents."""
    clustered: bool = False
    """Whether that is documents."""

    def __str__(self) -> str:
        """How the interval was made, in a line.

        >>> str(bootstrap_mean([0.5, 0.7, 0.9]))
        't interval: 95 %, 3 segments (below 30 a bootstrap is too narrow)'
        """
        percent = f"{100 * self.level:.10g} %"
        what = f"{self.n} {'documents' if self.clustered else 'segments'}"
        if self.method == "t":
            return f"t interval: {percent}, {what} (below {FEW} a bootstrap is too narrow)"
        drawn = f" of {what}" if self.clustered else ""
        return f"bootstrap: {percent} of {self.resamples} resamples{drawn}, seed {self.seed}, expanded percentiles"


def bootstrap_mean(
    values: ArrayLike,
    *,
    clusters: Units | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
) -> Interval:
    """An interval for the mean: bootstrap, or Student's t for fewer than 30 values (documents).

    `clusters` names the document of each value: whole documents are drawn then. The draw depends on the seed and the
    number of values (documents) only, so systems scored on the same segments are resampled alike.

    >>> bootstrap_mean([1.0, 1.0, 1.0])[:3]
    (1.0, 1.0, 1.0)
    >>> bootstrap_mean([0.2, 0.3, 0.8, 0.9], clusters=["a", "a", "b", "b"]).n
    2
    """
    data = vector(values, "bootstrap_mean")
    check_level(level)
    check_resampling(resamples, seed)
    sums, sizes = (data, np.ones(data.size)) if clusters is None else _by_cluster(data, clusters)
    what = "value" if clusters is None else "document"
    if sums.size < 2:
        msg = f"an interval needs at least 2 {what}s, got {sums.size}; leave out the interval"
        raise InputError(msg)
    mean = float(data.mean())
    if sums.size < FEW:
        half = _t_half_width(sums, sizes, mean, level)
        return Interval(mean, mean - half, mean + half, level, 0, seed, "t", sums.size, clusters is not None)
    means = np.concatenate(list(_drawn_means(sums, None if clusters is None else sizes, resamples, seed)))
    tail = 100 * expanded_tail(level, sums.size)
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(
        mean, float(low), float(high), level, resamples, seed, "bootstrap", sums.size, clusters is not None
    )


def _by_cluster(data: Vector, clusters: Units) -> tuple[Vector, Vector]:
    """Sum and number of the values of each cluster, in the order in which clusters come first."""
    at = unit_numbers(clusters, data.size)
    sums: Vector = np.bincount(at, weights=data).astype(np.float64)
    return sums, np.bincount(at).astype(np.float64)


def _t_half_width(sums: Vector, sizes: Vector, mean: float, level: float) -> float:
    from scipy.special import stdtrit

    n = sums.size
    if np.ptp(sums / sizes) == 0:  # equal values: their mean may be a rounding away from them
        return 0.0
    residuals = sums - mean * sizes
    error = math.sqrt(n / (n - 1) * float(residuals @ residuals)) / float(sizes.sum())
    return float(stdtrit(n - 1, (1 + level) / 2)) * error


def _drawn_means(sums: Vector, sizes: Vector | None, resamples: int, seed: int) -> Iterator[Vector]:
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, _BLOCK):
        draw = rng.integers(0, sums.size, size=(min(_BLOCK, resamples - start), sums.size))
        yield sums[draw].mean(axis=1) if sizes is None else sums[draw].sum(axis=1) / sizes[draw].sum(axis=1)
