"""Shared numerical constants, argument checks, and relative changes.

    RD(a, b) = (a - b) / b * 100 %                 the change from setting b to setting a
    CV(x)    = sd(x) / mean(x) * 100 %             the spread over several settings

of the reproducibility study of Chen et al. (2022), which does not say whether its standard deviation divides by
n - 1 or by n: `ddof` is 1 (the estimate from a few settings) unless 0 is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError

Vector: TypeAlias = NDArray[np.float64]

#: Absolute or relative difference up to which numbers are equal, because sums in another order differ that much.
SAME = 1e-12

#: Numbers per block (32 MB of float64) where all of them would fill the memory.
BLOCK_CELLS = 4_000_000

#: With fewer resamples, an interval may not contain its estimate.
LEAST_RESAMPLES = 100


def blocks(count: int, cells: int, most: int | None = None) -> Iterator[slice]:
    """Divide `count` items of `cells` numbers each into slices with at most `most` numbers.

    >>> [(part.start, part.stop) for part in blocks(5, 10, most=20)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, (BLOCK_CELLS if most is None else most) // cells)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def orient(values: Vector, *, higher_is_better: bool) -> Vector:
    """Make higher scores better: scores of distances are negated."""
    return values if higher_is_better else -values


def numbers(values: ArrayLike, what: str) -> Vector:
    """Convert values of any shape to float64; raises InputError if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{what}: expected numbers in rows of equal length, got something else ({error})"
        raise InputError(msg) from error


def vector(values: ArrayLike, what: str, *, least: int = 1) -> Vector:
    """Convert a list of at least `least` finite numbers to float64."""
    data = numbers(values, what)
    if data.ndim != 1 or data.size < least:
        wanted = "a non-empty list of numbers" if least == 1 else f"a list of at least {least} numbers"
        msg = f"{what} needs {wanted}, got shape {data.shape}"
        raise InputError(msg)
    bad = ~np.isfinite(data)
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        msg = f"{what} needs finite values, got {float(data[index])!r} at index {index}"
        raise InputError(msg)
    return data


def check_level(level: float) -> None:
    """Raise InputError unless a confidence level is between 0 and 1."""
    if not 0 < level < 1:
        msg = f"level must lie between 0 and 1, got {level!r}"
        raise InputError(msg)


def check_resampling(resamples: int, seed: int) -> None:
    """Raise InputError unless there is at least one resample and a valid seed."""
    if resamples < 1:
        msg = f"resamples must be at least 1, got {resamples!r}"
        raise InputError(msg)
    if seed < 0:
        msg = f"seed must be 0 or more, got {seed!r}"
        raise InputError(msg)


def relative_difference(value: float, base: float) -> float:
    """RD in per cent; undefined for a base of 0.

    >>> relative_difference(0.69, 0.75)
    -8.0
    """
    for name, number in (("value", value), ("base", base)):
        if not math.isfinite(number):
            msg = f"relative_difference needs finite numbers, got {name}={number!r}"
            raise InputError(msg)
    if base == 0:
        msg = f"the relative difference of {value!r} to a base of 0 is not defined"
        raise InputError(msg)
    # Rounded to the precision of float64: 0.06 / 0.75 gives 8, not 8.000000000000007.
    return float(round((value - base) / base * 100, 12))


def coefficient_of_variation(values: ArrayLike, *, ddof: int = 1) -> float:
    """CV in per cent of the mean's size; undefined for a mean of 0, or for fewer than `ddof` + 1 values.

    >>> round(coefficient_of_variation([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], ddof=0), 12)
    40.0
    """
    if ddof not in (0, 1):
        msg = f"ddof is 1 (divide by n - 1) or 0 (divide by n), got {ddof!r}"
        raise InputError(msg)
    data = vector(values, "coefficient_of_variation", least=ddof + 1)
    mean = float(data.mean())
    if mean == 0:
        msg = "the coefficient of variation of values whose mean is 0 is not defined"
        raise InputError(msg)
    return float(data.std(ddof=ddof)) / abs(mean) * 100
