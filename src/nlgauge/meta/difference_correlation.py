"""Pairwise-difference Pearson: do metric and people see the same distance between two outputs of a segment?

r over all ordered pairs (i, j) of outputs within a segment of (metric_i - metric_j, human_i - human_j). Both
orders are taken, so the differences have mean 0 and the value does not depend on how systems are listed. As

    sum over i, j of (m_i - m_j)(h_i - h_j) = 2 k sum over i of (m_i - mean m)(h_i - mean h)

for the k outputs of a segment, no pair has to be formed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.meta.metric_scores import Matrix, MetricScores, check_scores, human_scores
from nlgauge.stats.correlation import Undefined

__all__ = ["DifferenceCorrelation", "pairwise_difference_pearson"]


class DifferenceCorrelation(NamedTuple):
    """Pearson of within-segment differences, over how many (unordered) pairs."""

    value: float
    pairs: int
    items: int
    reason: str | None = None


def pairwise_difference_pearson(
    metric: MetricScores, human: ArrayLike, *, undefined: Undefined = "raise"
) -> DifferenceCorrelation:
    """Pearson's r of the differences between outputs of the same segment."""
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    scores = check_scores(metric, judged)
    outputs = judged.sum(axis=0)
    pairs, items = int((outputs * (outputs - 1) // 2).sum()), int((outputs >= 2).sum())
    if not pairs:
        msg = "no segment has two judged outputs, so there is no difference to compare"
        raise InputError(msg)
    ours, theirs = _centred(scores, judged), _centred(gold, judged)
    both, metric_spread, human_spread = (
        float((outputs * (a * b).sum(axis=0)).sum()) for a, b in ((ours, theirs), (ours, ours), (theirs, theirs))
    )
    for side, spread in ((repr(metric.name), metric_spread), ("human", human_spread)):
        if spread == 0:
            reason = f"{side} scores do not differ within any segment"
            if undefined == "nan":
                return DifferenceCorrelation(float("nan"), pairs, items, reason)
            msg = f"pairwise-difference Pearson has no value: {reason}; pass undefined='nan' to get nan"
            raise InputError(msg)
    return DifferenceCorrelation(float(np.clip(both / np.sqrt(metric_spread * human_spread), -1, 1)), pairs, items)


def _centred(table: Matrix, judged: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Matrix:
    """Scores minus the mean of their segment, exactly 0 where a segment is constant or nobody judged."""
    lowest = np.where(judged, table, np.inf).min(axis=0)
    above = np.where(judged, table - np.where(np.isfinite(lowest), lowest, 0), 0.0)
    mean = above.sum(axis=0) / np.maximum(judged.sum(axis=0), 1)
    return np.where(judged, above - mean, 0.0)
