"""Bootstrap intervals for a mean over segments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.stats.checks import check_level, check_resampling, vector

#: Resamples drawn at once; bounds memory to about this many rows of the input.
_BLOCK = 64


class Interval(NamedTuple):
    """A two-sided percentile interval around a mean."""

    mean: float
    low: float
    high: float
    level: float
    resamples: int
    seed: int


def bootstrap_mean(values: ArrayLike, *, level: float = 0.95, resamples: int = 1000, seed: int = 12345) -> Interval:
    """Percentile bootstrap of the mean, resampling segments with replacement.

    The draw depends on the seed and the number of values only, so systems scored on the same segments
    are resampled alike.

    >>> bootstrap_mean([1.0, 1.0, 1.0])[:3]
    (1.0, 1.0, 1.0)
    """
    data = vector(values, "bootstrap_mean")
    check_level(level)
    check_resampling(resamples, seed)
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - start)
        draw = rng.integers(0, data.size, size=(rows, data.size))
        means[start : start + rows] = data[draw].mean(axis=1)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(float(data.mean()), float(low), float(high), level, resamples, seed)
