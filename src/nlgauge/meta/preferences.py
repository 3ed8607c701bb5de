"""Pairs of outputs of which people clearly prefer one (WMT's DArr), and a metric's tau on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.meta.metric_scores import MetricScores, check_matrix, check_scores, human_scores
from nlgauge.stats.correlation import RelativeRanking, Ties, Undefined, relative_ranking

__all__ = ["Preferences", "preference_tau", "preferences_from_scores"]


class Preferences(NamedTuple):
    """For each pair: the system that people prefer, the other one, and the segment, all as indices."""

    better: NDArray[np.intp]
    worse: NDArray[np.intp]
    segment: NDArray[np.intp]


def preferences_from_scores(human: ArrayLike, *, margin: float = 25.0) -> Preferences:
    """Pairs of outputs of a segment whose human scores differ by at least `margin` (WMT: 25 points of DA)."""
    if not margin > 0:
        msg = f"margin must be above 0 (a tie is no preference), got {margin!r}"
        raise InputError(msg)
    gold = human_scores(human)
    found = []
    for system in range(len(gold)):
        with np.errstate(invalid="ignore"):
            others, segments = np.nonzero(gold[system] - gold >= margin)  # nan compares false
        found.append((np.full(others.size, system, dtype=np.intp), others, segments))
    pairs = Preferences(*(np.concatenate(part) for part in zip(*found, strict=True)))
    if not pairs.better.size:
        msg = f"no two outputs of a segment differ by {margin:g} or more in their human scores"
        raise InputError(msg)
    return pairs


def preference_tau(
    metric: MetricScores, pairs: Preferences, *, ties: Ties = "discordant", undefined: Undefined = "raise"
) -> RelativeRanking:
    """WMT's Kendall-like tau of a metric; a distance is turned round first, so its ties count as anyone's."""
    systems, segments = check_matrix(metric).shape
    for name, index, limit in (
        ("better", pairs.better, systems),
        ("worse", pairs.worse, systems),
        ("segment", pairs.segment, segments),
    ):
        if index.size and not (index.min() >= 0 and index.max() < limit):
            msg = f"pairs name {name} {int(index.max())}, but {metric.name!r} has scores for {limit} only"
            raise InputError(msg)
    needed = np.zeros(metric.values.shape, dtype=bool)
    needed[pairs.better, pairs.segment] = needed[pairs.worse, pairs.segment] = True
    scores = check_scores(metric, needed)
    return relative_ranking(
        scores[pairs.better, pairs.segment], scores[pairs.worse, pairs.segment], ties=ties, undefined=undefined
    )
