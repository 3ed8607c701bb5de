"""Intervals of system scores and of strengths, of the level that they say.

Percentiles of resamples cover less than they say where there are few units: .87 instead of .95 at n = 12. So below 30
units the interval of a mean is Student's t, and percentiles go as much further out as t does (`expanded_tail`).
Below four units there is no interval.
"""

from __future__ import annotations

import numpy as np

from nlgauge.compare.draws import Sample
from nlgauge.compare.settings import CompareSettings
from nlgauge.compare.table import Matrix
from nlgauge.stats import Interval
from nlgauge.stats.paired_tests import t_statistics
from nlgauge.stats.resampling import expanded_tail

__all__ = ["LEAST_UNITS", "SMALL_SAMPLE", "percentile_bounds", "score_intervals", "strength_intervals"]

#: Fewer instances (or documents) have no interval.
LEAST_UNITS = 4
#: From here on the interval of a mean is made of percentiles of resamples.
SMALL_SAMPLE = 30


def percentile_bounds(draws: Matrix, *, level: float, units: int) -> tuple[Matrix, Matrix]:
    """Lower and upper ends for every column of draws (draws x columns) made from that many units."""
    tail = 100 * expanded_tail(level, units)
    low, high = np.percentile(draws, [tail, 100 - tail], axis=0)
    return low, high


def score_intervals(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> list[Interval | None]:
    """Of the systems' scores, as the metric has them."""
    observed = sample.observed
    if sample.units < LEAST_UNITS or draws is None:
        return [None] * observed.size
    resamples = settings.resamples
    if sample.table.statistics is None and sample.units < SMALL_SAMPLE:
        from scipy.stats import t

        _, errors = t_statistics(sample.sums, sample.sizes)
        reach = t.ppf((1 + settings.level) / 2, sample.units - 1) * errors
        low, high, resamples = observed - reach, observed + reach, 0
    else:
        low, high = percentile_bounds(draws, level=settings.level, units=sample.units)
    if not sample.table.higher_is_better:
        observed, low, high = -observed, -high, -low
    return _intervals(observed, low, high, settings, resamples)


def strength_intervals(
    strengths: Matrix, draws: Matrix, units: int, settings: CompareSettings
) -> list[Interval | None]:
    """Of Bradley-Terry strengths."""
    if units < LEAST_UNITS:
        return [None] * strengths.size
    low, high = percentile_bounds(draws, level=settings.level, units=units)
    return _intervals(strengths, low, high, settings, settings.resamples)


def _intervals(
    values: Matrix, low: Matrix, high: Matrix, settings: CompareSettings, resamples: int
) -> list[Interval | None]:
    return [
        Interval(float(value), float(one), float(other), settings.level, resamples, settings.seed)
        for value, one, other in zip(values, low, high, strict=True)
    ]
