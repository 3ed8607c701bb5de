"""acc_eq with tie calibration: pairs of outputs that metric and people order, or tie, alike.

Deutsch, Foster & Freitag 2023 (arXiv 2305.14324). Within each item (segment), a pair of outputs is right if
both sides prefer the same output or both call a tie; a metric calls a tie where its scores differ by at most
epsilon. The value is the mean over items of the share of right pairs, at the epsilon that maximises it.

A pair changes only once as epsilon grows: at its own difference it turns from right or wrong into a tie. So
all pairs are sorted by difference once and the whole curve is one cumulative sum.

What chance would give: a metric that knows nothing is right on (1 - t)/2 of the pairs if it never ties and on
t of them if it always does, where t is the share of human ties; calibrated, it gets the larger of the two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.meta.metric_scores import MetricScores, check_scores, human_scores
from nlgauge.stats.checks import Vector

__all__ = [
    "CalibrationCurve",
    "OutcomePairs",
    "TieAccuracy",
    "calibration_curve",
    "outcome_pairs",
    "tie_calibrated_accuracy",
]

#: Accuracies closer than this are equal; the smaller epsilon wins.
_SAME = 1e-12


class TieAccuracy(NamedTuple):
    """acc_eq of one metric."""

    metric: str
    value: float
    epsilon: float
    """Metric differences up to this count as ties."""
    calibrated: bool
    """Whether epsilon was searched on these very data."""
    chance: float
    """What a metric that knows nothing would reach, calibrated the same way."""
    without_ties: float
    """The value at epsilon 0."""
    human_ties: float
    """Share of pairs that people tie, averaged over items."""
    metric_ties: float
    """Share of pairs that the metric ties at epsilon, averaged over items."""
    items: int
    skipped: int
    """Items with fewer than two judged outputs."""
    pairs: int


class CalibrationCurve(NamedTuple):
    """Accuracy at every epsilon that changes it; the first is 0."""

    epsilons: Vector
    accuracies: Vector


class OutcomePairs(NamedTuple):
    """All pairs within items: metric difference, whether right if not tied, whether people tie, weight."""

    difference: Vector
    agrees: NDArray[np.bool_]
    human_tie: NDArray[np.bool_]
    weight: Vector
    items: int
    skipped: int
    item: NDArray[np.intp]
    """The item of each pair, by its number."""

    def right(self, epsilon: float) -> NDArray[np.bool_]:
        """Which pairs are right if differences up to epsilon are ties."""
        return np.where(self.difference <= epsilon, self.human_tie, self.agrees)

    def share(self, which: NDArray[np.bool_]) -> float:
        """Mean over items of the share of such pairs; summed exactly, so that everything is 1."""
        return min(1.0, math.fsum(self.weight[which]))


def tie_calibrated_accuracy(metric: MetricScores, human: ArrayLike, *, epsilon: float | None = None) -> TieAccuracy:
    """acc_eq, grouped by item, with the epsilon that suits these data best, or with a given one.

    A given `epsilon` (from other data) makes the comparison fair to metrics with few distinct values; nobody
    knows a metric's best epsilon beforehand.
    """
    pairs = outcome_pairs(metric, human)
    human_ties = pairs.share(pairs.human_tie)
    if epsilon is None:
        curve = _curve(pairs)
        best = np.flatnonzero(curve.accuracies >= curve.accuracies.max() - _SAME)[0]
        chosen = float(curve.epsilons[best])
    elif np.isfinite(epsilon) and epsilon >= 0:
        chosen = float(epsilon)
    else:
        msg = f"epsilon must be a finite number of 0 or more, got {epsilon!r}"
        raise InputError(msg)
    metric_ties = pairs.share(pairs.difference <= chosen)
    if epsilon is None:
        chance = max(human_ties, (1 - human_ties) / 2)
    else:  # as many ties as this metric calls, in no relation to people
        chance = metric_ties * human_ties + (1 - metric_ties) * (1 - human_ties) / 2
    return TieAccuracy(
        metric.name,
        pairs.share(pairs.right(chosen)),
        chosen,
        epsilon is None,
        chance,
        pairs.share(pairs.right(0.0)),
        human_ties,
        metric_ties,
        pairs.items,
        pairs.skipped,
        pairs.difference.size,
    )


def calibration_curve(metric: MetricScores, human: ArrayLike) -> CalibrationCurve:
    """acc_eq as a function of epsilon, for a plot."""
    return _curve(outcome_pairs(metric, human))


def _curve(pairs: OutcomePairs) -> CalibrationCurve:
    order = np.argsort(pairs.difference, kind="stable")
    difference = pairs.difference[order]
    # Every pair starts untied; passing its difference makes it right exactly if people tie it.
    gain = (pairs.weight * (pairs.human_tie.astype(np.float64) - pairs.agrees))[order]
    start = float(pairs.weight @ pairs.agrees)
    last = np.flatnonzero(np.append(difference[1:] != difference[:-1], True))
    epsilons, accuracies = difference[last], start + np.cumsum(gain)[last]
    if epsilons[0] > 0:
        epsilons, accuracies = np.insert(epsilons, 0, 0.0), np.insert(accuracies, 0, start)
    return CalibrationCurve(epsilons, accuracies)


def outcome_pairs(metric: MetricScores, human: ArrayLike) -> OutcomePairs:
    """All pairs of judged outputs within an item, in the same order for every metric."""
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    scores = check_scores(metric, judged)
    per_item = judged.sum(axis=0)
    usable = per_item >= 2
    items = int(usable.sum())
    if not items:
        msg = "no segment has two judged outputs, so there is no pair to compare"
        raise InputError(msg)
    weights = np.zeros(gold.shape[1])
    weights[usable] = 2 / (per_item * (per_item - 1))[usable] / items
    first, second = np.triu_indices(len(gold), 1)
    there = judged[first] & judged[second]
    ours = (scores[first] - scores[second])[there]
    theirs = np.sign((gold[first] - gold[second])[there])
    weight = np.broadcast_to(weights, there.shape)[there]
    agrees = (np.sign(ours) == theirs) & (theirs != 0)
    skipped = gold.shape[1] - items
    return OutcomePairs(np.abs(ours), agrees, theirs == 0, weight, items, skipped, np.nonzero(there)[1])
