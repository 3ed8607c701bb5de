"""Tests of paired differences, Williams' test of two correlations, and corrections for many tests.

The tests of systems are two-sided and take many pairs of systems at once: differences are instances x pairs, and
every function returns one p value per pair. A pair without differences has p = 1. Wilcoxon's test sorts all pairs at
once instead of calling scipy for each. docs/compare.md explains when to use which test.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.numeric import SAME, Vector, check_resampling, vector
from nlgauge.stats.resampling import Units, drawn_means, sum_by_unit

#: Up to this many differences without ties, p is exact, as in scipy.
_EXACT = 50


def wilcoxon(differences: Vector) -> tuple[Vector, Vector]:
    """Two-sided p values of paired differences (instances x pairs), as `scipy.stats.wilcoxon` has them by default.

    Differences of 0 are dropped. Up to 50 differences, none of them 0 and no two of one size, p is exact; else
    normal, with a correction for ties. A pair without any difference has p = 1. The second array has the side of the
    rank sum: 1 above its middle, -1 below, 0 on it.

    >>> wilcoxon(np.array([[1.0, 1], [2, -2], [4, 4], [3, 3], [-5, 3]]))[0].round(4).tolist()
    [0.625, 0.1362]
    """
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
    """For each value in sorted columns, the first and last index of the values equal to it."""
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


def t_statistics(sums: Vector, sizes: Vector) -> tuple[Vector, Vector]:
    """Mean and its standard error from sums over units (units x pairs) and the number of instances in each.

    For units of one instance it is the usual standard error; for documents that of a ratio, by their residuals.
    """
    units = len(sums)
    means = sums.sum(axis=0) / sizes.sum()
    residuals = sums - sizes[:, None] * means
    spread = (residuals**2).sum(axis=0)
    # A constant difference leaves rounding errors only.
    spread[spread <= (SAME * np.abs(sums)).max(axis=0) ** 2 * units] = 0
    return means, np.sqrt(spread * units / (units - 1)) / sizes.sum()


def paired_t(sums: Vector, sizes: Vector) -> Vector:
    """Student's t test of paired differences, given as sums over units and their sizes (`t_statistics`).

    >>> paired_t(np.array([[1.0], [2.0], [4.0], [3.0]]), np.ones(4)).round(5).tolist()
    [0.03047]
    """
    from scipy.stats import t as student

    means, errors = t_statistics(sums, sizes)
    ratios = np.divide(np.abs(means), errors, out=np.full_like(means, np.inf), where=errors > 0)
    ratios[means == 0] = 0
    return np.asarray(2 * student.sf(ratios, len(sums) - 1), dtype=np.float64)


def sign_test(better: NDArray[np.int64], worse: NDArray[np.int64], ties: NDArray[np.int64] | None = None) -> Vector:
    """Two-sided sign test; ties are dropped.

    With `ties` they count as throws that neither side wins, as in the released code of Peyrard et al. (2021): many
    ties then look like a difference, and the result depends on which system is called the better one (D4).

    >>> sign_test(np.array([8]), np.array([1])).round(5).tolist()
    [0.03906]
    """
    from scipy.stats import binom

    throws = better + worse + (0 if ties is None else ties)
    lower, upper = binom.cdf(better, throws, 0.5), binom.sf(better - 1, throws, 0.5)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(lower, upper)), dtype=np.float64)


def mood(first: Vector, second: Vector) -> tuple[Vector, Vector]:
    """Mood's median test of two columns per pair (instances x pairs each), chi-squared with Yates' correction.

    It is unpaired: it compares the shares of both systems' scores above their common median; scores equal to it count
    as below. The second array tells which system has more scores above it: 1 the first, -1 the second, 0 neither.
    """
    from scipy.stats import chi2

    n = len(first)
    middle = np.median(np.concatenate([first, second]), axis=0)
    above = np.stack([(column > middle).sum(axis=0) for column in (first, second)]).astype(np.float64)
    expected = above.mean(axis=0)
    off = np.maximum(np.abs(above[0] - expected) - 0.5, 0.0)
    # The four cells are off by the same amount; two are expected to hold `expected`, two the rest.
    both = (expected > 0) & (expected < n)
    safe = np.where(both, expected, 1.0)
    statistic = 2 * off**2 * (1 / safe + 1 / np.where(both, n - safe, 1.0))
    return np.where(both, chi2.sf(statistic, 1), 1.0), np.sign(above[0] - above[1])


def centred_p(draws: Vector, observed: Vector) -> Vector:
    """Two-sided p of observed differences from bootstrap draws (draws x pairs) of them.

    The draws are moved to where they would be if there were no difference; p is the share of them that is at least as
    far from 0 as what was observed, the observation counted as a draw of its own. So it is never 0.
    """
    reached = (np.abs(draws - observed) >= np.abs(observed) * (1 - SAME)).sum(axis=0)
    return np.asarray((reached + 1) / (len(draws) + 1), dtype=np.float64)


def paired_order(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
) -> float:
    """One-sided paired bootstrap test of a higher mean of the first values, over resampled segments.

    p is the share of resamples in which they are not (each counted with one more, so never 0). The draw depends on
    the seed and the number of segments only, so all pairs of systems see the same ones. `clusters` names the
    document of each segment: whole documents are drawn then.

    >>> paired_order([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], resamples=99)
    0.01
    """
    a, b = vector(first, "paired_order"), vector(second, "paired_order")
    if a.size != b.size:
        msg = f"paired_order needs the same segments on both sides, got {a.size} and {b.size} values"
        raise InputError(msg)
    check_resampling(resamples, seed)
    # Documents differ in length, but a mean over their segments has the sign of the sum.
    differences = sum_by_unit(a - b, clusters)
    against = sum(int((means <= 0).sum()) for means in drawn_means(differences, None, resamples, seed))
    return (against + 1) / (resamples + 1)


class Williams(NamedTuple):
    """Williams' t and the one-sided p value of "the first correlation is higher"."""

    t: float
    p_value: float
    df: int


def williams(first: float, second: float, between: float, n: int) -> Williams:
    """Williams' test of two correlations that share one list (Williams 1959; Graham & Baldwin 2014).

    `first` = r(A, human), `second` = r(B, human), `between` = r(A, B), over the same `n` items. One-sided:
    the alternative is first > second. For distances pass correlations of flipped scores.

    >>> [round(value, 5) for value in williams(0.65, 0.55, 0.3, 50)]
    [0.81608, 0.20929, 47]
    """
    for name, value in (("first", first), ("second", second), ("between", between)):
        if not -1 <= value <= 1:  # nan fails as well
            msg = f"{name} must be a correlation between -1 and 1, got {value!r}"
            raise InputError(msg)
    if n < 4:
        msg = f"williams needs at least 4 items, got {n!r}"
        raise InputError(msg)
    k = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    if k < -1e-9:
        msg = f"these correlations contradict each other: first={first!r}, second={second!r}, between={between!r}"
        raise InputError(msg)
    spread = 2 * max(k, 0.0) * (n - 1) / (n - 3) + (first + second) ** 2 / 4 * (1 - between) ** 3
    if abs(first - second) < SAME:  # equal up to rounding, as for a metric and its rescaled self
        t = 0.0
    elif spread <= 0:
        msg = f"williams is undefined for two metrics that correlate perfectly (between={between!r})"
        raise InputError(msg)
    else:
        t = (first - second) * math.sqrt((n - 1) * (1 + between) / spread)
    from scipy.stats import t as student

    return Williams(t, float(student.sf(t, n - 3)), n - 3)


def bonferroni(p_values: ArrayLike) -> Vector:
    """p values times their number, at most 1.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    values = _p_values(p_values)
    return np.minimum(values * values.size, 1.0)


def holm(p_values: ArrayLike) -> Vector:
    """Holm's step-down correction: never above Bonferroni's, with the same error rate.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = _p_values(p_values)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def _p_values(p_values: ArrayLike) -> Vector:
    values = vector(p_values, "p_values")
    bad = (values < 0) | (values > 1)
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        msg = f"p_values must lie between 0 and 1, got {float(values[index])!r} at index {index}"
        raise InputError(msg)
    return values
