"""Metrics ranked by acc_eq, with every difference tested.

Each metric's epsilon is chosen once; then the outcomes of single pairs are swapped between two metrics
(`stats.permutation_of_outcomes`), so that no draw needs a calibration of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.meta.metric_scores import MetricScores, distinct_names
from nlgauge.meta.ranks import MetricComparison, assign_ranks, correct_pairs, unbeaten
from nlgauge.meta.tie_accuracy import TieAccuracy, outcome_pairs, tie_calibrated_accuracy
from nlgauge.stats.permutation import permutation_of_outcomes
from nlgauge.stats.resampling import Units, unit_numbers

__all__ = ["TieComparison", "compare_tie_accuracies"]


class TieComparison(NamedTuple):
    """acc_eq of every metric from best to worst, and the comparison of them."""

    accuracies: tuple[TieAccuracy, ...]
    comparison: MetricComparison
    """Its `correlations` are the accuracies."""


def compare_tie_accuracies(
    metrics: Sequence[MetricScores],
    human: ArrayLike,
    *,
    documents: Units | None = None,
    alpha: float = 0.05,
    correction: Literal["bonferroni", "holm"] | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
) -> TieComparison:
    """acc_eq with tie calibration for several metrics, ranked by significance.

    `documents` names the document of each item; all outcomes of a document are swapped together.
    """
    distinct_names(metrics)
    found = [tie_calibrated_accuracy(metric, human) for metric in metrics]
    order = sorted(range(len(found)), key=lambda index: -found[index].value)
    accuracies = tuple(found[index] for index in order)
    p_values = np.full((len(order), len(order)), np.nan)
    if len(order) > 1:
        pairs = [outcome_pairs(metrics[index], human) for index in order]
        right = np.stack([of.right(one.epsilon) for of, one in zip(pairs, accuracies, strict=True)])
        clusters = None if documents is None else unit_numbers(documents, np.shape(human)[1])[pairs[0].item]
        tested = permutation_of_outcomes(
            right, pairs[0].weight, clusters=clusters, resamples=resamples, seed=seed, add_one=add_one
        )
        upper = np.triu_indices(len(order), 1)
        p_values[upper] = tested.p_values[upper]
        p_values = correct_pairs(p_values, correction)
    comparison = MetricComparison(
        tuple(one.metric for one in accuracies),
        np.array([one.value for one in accuracies]),
        p_values,
        assign_ranks(p_values, alpha=alpha),
        unbeaten(p_values, alpha=alpha),
        "item",
        "acc_eq",
        "permutation of pairs",
        alpha,
        correction,
        resamples,
        seed,
        {},
    )
    return TieComparison(accuracies, comparison)
