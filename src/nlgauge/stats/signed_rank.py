"""Wilcoxon's signed-rank test for many pairs at once: one sort instead of a call per pair."""

from __future__ import annotations

import numpy as np

from nlgauge.stats.checks import Vector

__all__ = ["signed_rank_test", "wilcoxon"]

#: Up to this many differences without ties the distribution of the rank sum is counted out, as scipy does.
_EXACT = 50


def wilcoxon(differences: Vector) -> Vector:
    """Two-sided p values of paired differences (instances x pairs), as `scipy.stats.wilcoxon` has them by default.

    Differences of 0 are dropped. Up to 50 differences, none of them 0 and no two of one size, p is exact; else
    normal, with a correction for ties. A pair without any difference has p = 1.

    >>> wilcoxon(np.array([[1.0, 1], [2, -2], [4, 4], [3, 3], [-5, 3]])).round(4).tolist()
    [0.625, 0.1362]
    """
    return signed_rank_test(differences)[0]


def signed_rank_test(differences: Vector) -> tuple[Vector, Vector]:
    """p values as `wilcoxon` gives them, and the side of the rank sum: 1 above its middle, -1 below, 0 on it."""
    from scipy.stats import norm

    n = len(differences)
    sizes = np.abs(differences)
    order = np.argsort(sizes, axis=0)
    sizes, ordered = (np.take_along_axis(values, order, axis=0) for values in (sizes, differences))
    first, last = _runs(sizes)
    zeros = (sizes == 0).sum(axis=0)
    ranks = (first + last) / 2 + 1 - zeros
    above = np.where(ordered > 0, ranks, 0).sum(axis=0)
    # A run of c equal sizes takes (c^3 - c) / 48 off the variance: (c^2 - 1) / 48 for each of them.
    tied = np.where(sizes > 0, (last - first + 1.0) ** 2 - 1, 0).sum(axis=0)
    m = n - zeros
    middle = m * (m + 1) / 4
    variance = m * (m + 1) * (2 * m + 1) / 24 - tied / 48
    scaled = np.divide(np.abs(above - middle), np.sqrt(variance), out=np.zeros(m.shape), where=variance > 0)
    p = np.asarray(2 * norm.sf(scaled), dtype=np.float64)
    exact = (zeros == 0) & (tied == 0)
    if n <= _EXACT and exact.any():
        p[exact] = _exact(above[exact].astype(np.intp), n)
    return p, np.sign(above - middle)


def _runs(ordered: Vector) -> tuple[Vector, Vector]:
    """Of each value in sorted columns, the first and the last place of those equal to it, from 0."""
    places = np.arange(len(ordered))[:, None]
    starts = np.ones(ordered.shape, dtype=bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    ends = np.ones(ordered.shape, dtype=bool)
    ends[:-1] = starts[1:]
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=0)
    last = np.minimum.accumulate(np.where(ends, places, len(ordered))[::-1], axis=0)[::-1]
    return first, last


def _exact(above: np.ndarray[tuple[int, ...], np.dtype[np.intp]], n: int) -> Vector:
    """Two-sided p of rank sums from the number of sign patterns that lead to each."""
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1
    for rank in range(1, n + 1):
        chances[rank:] = chances[rank:] + chances[:-rank]
        chances /= 2
    below = np.cumsum(chances)
    least = np.minimum(below[above], 1 - below[above] + chances[above])
    return np.asarray(np.minimum(1.0, 2 * least), dtype=np.float64)
