"""Whether one metric follows people better than another: Williams' test, and corrections for many tests."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.stats.checks import Vector, vector

__all__ = ["Williams", "bonferroni", "holm", "williams"]


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
        msg = f"no three lists correlate like this: first={first!r}, second={second!r}, between={between!r}"
        raise InputError(msg)
    spread = 2 * max(k, 0.0) * (n - 1) / (n - 3) + (first + second) ** 2 / 4 * (1 - between) ** 3
    if abs(first - second) < 1e-12:  # equal up to rounding, as for a metric and its rescaled self
        t = 0.0
    elif spread <= 0:
        msg = f"williams has no value for two metrics that correlate perfectly (between={between!r})"
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
    """Holm's step-down correction: never above Bonferroni's, and it holds the same error rate.

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
