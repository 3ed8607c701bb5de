"""Bootstrap intervals for a mean over segments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError

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
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or data.size == 0:
        msg = f"bootstrap_mean needs a non-empty list of numbers, got shape {data.shape}"
        raise InputError(msg)
    if not np.isfinite(data).all():
        index = int(np.flatnonzero(~np.isfinite(data))[0])
        msg = f"bootstrap_mean needs finite values, got {data[index]!r} at index {index}"
        raise InputError(msg)
    if not 0 < level < 1:
        msg = f"level must lie between 0 and 1, got {level!r}"
        raise InputError(msg)
    if resamples < 1:
        msg = f"resamples must be at least 1, got {resamples!r}"
        raise InputError(msg)
    if seed < 0:
        msg = f"seed must be 0 or more, got {seed!r}"
        raise InputError(msg)
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - start)
        draw = rng.integers(0, data.size, size=(rows, data.size))
        means[start : start + rows] = data[draw].mean(axis=1)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(float(data.mean()), float(low), float(high), level, resamples, seed)
