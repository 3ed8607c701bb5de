"""Do two systems differ? Two-sided tests for many pairs of systems at once, on the instances that they share.

Differences are instances x pairs. Every function gives one p value per pair; a pair that cannot be told apart (all
differences 0) has p = 1. Which test fits which question: docs/compare.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.checks import Vector
from nlgauge.stats.signed_rank import signed_rank_test, wilcoxon

__all__ = [
    "centred_p",
    "extreme_p",
    "mood",
    "mood_side",
    "paired_t",
    "sign_test",
    "signed_rank_test",
    "t_statistics",
    "wilcoxon",
]

#: Sums that differ by less than this share of their size are equal; another order of adding differs that much.
_SAME = 1e-12


def t_statistics(sums: Vector, sizes: Vector) -> tuple[Vector, Vector]:
    """Mean and its standard error from sums over units (units x pairs) and the number of instances in each.

    For units of one instance it is the usual standard error; for documents that of a ratio, by their residuals.
    """
    units = len(sums)
    means = sums.sum(axis=0) / sizes.sum()
    residuals = sums - sizes[:, None] * means
    spread = (residuals**2).sum(axis=0)
    # A constant difference leaves rounding errors only.
    spread[spread <= (_SAME * np.abs(sums)).max(axis=0) ** 2 * units] = 0
    return means, np.sqrt(spread * units / (units - 1)) / sizes.sum()


def paired_t(sums: Vector, sizes: Vector) -> Vector:
    """Student's t test of paired differences, given as sums over units and their sizes (`t_statistics`).

    >>> paired_t(np.array([[1.0], [2.0], [4.0], [3.0]]), np.ones(4)).round(5).tolist()
    [0.03047]
    """
    from scipy.stats import t

    means, errors = t_statistics(sums, sizes)
    ratios = np.divide(np.abs(means), errors, out=np.full_like(means, np.inf), where=errors > 0)
    ratios[means == 0] = 0
    return np.asarray(2 * t.sf(ratios, len(sums) - 1), dtype=np.float64)


def sign_test(better: NDArray[np.int64], worse: NDArray[np.int64], ties: NDArray[np.int64] | None = None) -> Vector:
    """Two-sided sign test: would a fair coin decide instances as unevenly? Ties are dropped.

    With `ties` they stay in the number of throws without being won, as in the released code of Peyrard et al. (2021):
    many ties then look like a difference, and it matters which of the systems is taken for the better one (D4).

    >>> sign_test(np.array([8]), np.array([1])).round(5).tolist()
    [0.03906]
    """
    from scipy.stats import binom

    throws = better + worse + (0 if ties is None else ties)
    lower, upper = binom.cdf(better, throws, 0.5), binom.sf(better - 1, throws, 0.5)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(lower, upper)), dtype=np.float64)


def mood(first: Vector, second: Vector) -> Vector:
    """Mood's median test of two columns per pair (instances x pairs each), chi-squared with Yates' correction.

    It is unpaired: it asks which share of either system's scores lies above their common median; scores equal to it
    count as below.
    """
    from scipy.stats import chi2

    n = len(first)
    above = _above_median(first, second)
    expected = above.mean(axis=0)
    off = np.maximum(np.abs(above[0] - expected) - 0.5, 0.0)
    # The four cells are off by the same amount; two are expected to hold `expected`, two the rest.
    both = (expected > 0) & (expected < n)
    safe = np.where(both, expected, 1.0)
    statistic = 2 * off**2 * (1 / safe + 1 / np.where(both, n - safe, 1.0))
    return np.where(both, chi2.sf(statistic, 1), 1.0)


def mood_side(first: Vector, second: Vector) -> Vector:
    """Which system has more scores above the common median: 1 the first, -1 the second, 0 neither."""
    above = _above_median(first, second)
    return np.asarray(np.sign(above[0] - above[1]), dtype=np.float64)


def _above_median(first: Vector, second: Vector) -> Vector:
    middle = np.median(np.concatenate([first, second]), axis=0)
    return np.stack([(column > middle).sum(axis=0) for column in (first, second)]).astype(np.float64)


def centred_p(draws: Vector, observed: Vector) -> Vector:
    """Two-sided p of observed differences from bootstrap draws (draws x pairs) of them.

    The draws are moved to where they would be if there were no difference; p is the share of them that is at least as
    far from 0 as what was observed, the observation counted as a draw of its own. So it is never 0.
    """
    return _share(np.abs(draws - observed), np.abs(observed))


def extreme_p(draws: Vector, observed: Vector) -> Vector:
    """Two-sided p of observed differences from draws (draws x pairs) made under the hypothesis of no difference."""
    return _share(np.abs(draws), np.abs(observed))


def _share(draws: Vector, observed: Vector) -> Vector:
    reached = (draws >= observed * (1 - _SAME)).sum(axis=0)
    return np.asarray((reached + 1) / (len(draws) + 1), dtype=np.float64)
