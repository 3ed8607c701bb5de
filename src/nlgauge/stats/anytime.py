"""Asymptotic confidence sequence for a mean: intervals that stay valid however often one looks at them.

    mean +- sd * sqrt(2 (n rho^2 + 1) / (n^2 rho^2) * log(sqrt(n rho^2 + 1) / alpha))

is the Gaussian-mixture sequence of Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas (2024, Time-uniform central limit
theory and asymptotic confidence sequences, Annals of Statistics 52:2613-2640), Theorem 2.2. With probability
1 - alpha it contains the mean at all n at once, so a run may stop at any n that it likes. rho decides where the
sequence is tightest; it is near the best for n* values with (the paper's appendix on optimising the mixture)

    rho^2 = (-2 log(alpha) + log(-2 log(alpha) + 1)) / n*

The guarantee is asymptotic: it holds for runs that do not look before `first_look` values, as that number grows.
Before it the interval is infinite.

Values of one document are not independent. With `sizes`, a value is the total of a document, the mean is the ratio of
totals to sizes, and its standard deviation that of the linearised ratio, as in `t_statistics`. Then n, n* and
`first_look` count documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.stats.numeric import SAME, Vector, vector

#: With fewer values a standard deviation says nothing.
_LEAST = 2


class Moments(NamedTuple):
    """Mean and variance of the first n values, for each n."""

    means: Vector
    variances: Vector
    """Of a value, divided by n - 1; of a document's influence on the mean where there are sizes. NaN at n = 1."""


@dataclass(frozen=True, kw_only=True)
class ConfidenceSequence:
    """Intervals for a mean that are valid at all n at once.

    >>> sequence = ConfidenceSequence(alpha=0.05)
    >>> round(float(sequence.half_width(200, 1.0)), 4)
    0.2146
    """

    alpha: float = 0.05
    """Probability that any of the intervals misses the mean."""
    tuned_for: int = 200
    """Number of values at which the sequence is tightest."""
    first_look: int = 50
    """Fewest values with a finite interval."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            msg = f"alpha must lie between 0 and 1, got {self.alpha!r}"
            raise InputError(msg)
        for name, value, least in (("tuned_for", self.tuned_for, 1), ("first_look", self.first_look, _LEAST)):
            if value < least:
                msg = f"{name} must be at least {least}, got {value!r}"
                raise InputError(msg)

    @property
    def rho_squared(self) -> float:
        """Variance of the mixture."""
        size = -2 * math.log(self.alpha)
        return (size + math.log(size + 1)) / self.tuned_for

    def half_width(self, count: ArrayLike, variance: ArrayLike) -> Vector:
        """Half widths after `count` values of this variance; infinite before the first look.

        Numbers or arrays, which are broadcast against each other.
        """
        n = np.asarray(count, dtype=np.float64)
        spread = np.asarray(variance, dtype=np.float64)
        if (n < 1).any() or (spread < 0).any():
            msg = "half_width needs counts of at least 1 and variances of at least 0"
            raise InputError(msg)
        scaled = n * self.rho_squared
        squared = 2 * (scaled + 1) / (n * scaled) * np.log(np.sqrt(scaled + 1) / self.alpha)
        return np.where(n < self.first_look, np.inf, np.sqrt(spread * squared))[()]

    def interval(self, values: ArrayLike, sizes: ArrayLike | None = None) -> tuple[float, float]:
        """Interval for the mean of all values; with `sizes` a value is the total of a document.

        >>> ConfidenceSequence(first_look=4).interval([1.0, 1.0, 1.0, 1.0])
        (1.0, 1.0)
        """
        lows, highs = self.intervals(values, sizes)
        return float(lows[-1]), float(highs[-1])

    def intervals(self, values: ArrayLike, sizes: ArrayLike | None = None) -> tuple[Vector, Vector]:
        """Lower and upper ends after each value, in the order of the values."""
        means, variances = running_moments(values, sizes)
        counts = np.arange(1, len(means) + 1)
        # One value has no variance, and no finite interval either.
        widths = self.half_width(counts, np.nan_to_num(variances))
        return means - widths, means + widths


def running_moments(values: ArrayLike, sizes: ArrayLike | None = None) -> Moments:
    """Mean and variance after each value; with `sizes` of the ratio of running totals.

    >>> running_moments([1.0, 3.0, 2.0]).means.tolist()
    [1.0, 2.0, 2.0]
    """
    totals = vector(values, "confidence sequence")
    weights = np.ones(totals.size) if sizes is None else vector(sizes, "sizes of documents")
    if weights.size != totals.size or (weights <= 0).any():
        msg = f"sizes must be positive, one for each of {totals.size} values, got {weights.size}"
        raise InputError(msg)
    counts = np.arange(1, totals.size + 1)
    ratio = totals.sum() / weights.sum()
    # Around the last mean, so that sums of squares lose no digits.
    residuals = totals - ratio * weights
    size_sums = np.cumsum(weights)
    shifts = np.cumsum(residuals) / size_sums
    squares = np.cumsum(residuals**2) - 2 * shifts * np.cumsum(residuals * weights)
    squares += shifts**2 * np.cumsum(weights**2)
    # A constant difference leaves rounding errors only.
    squares[squares <= np.maximum.accumulate(SAME * np.abs(totals)) ** 2 * counts] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = squares / (counts - 1) * (counts / size_sums) ** 2
    variances[0] = np.nan
    return Moments(ratio + shifts, variances)
