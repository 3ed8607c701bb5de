"""The area under the curve, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.correlation import average_precision, recall_at_positives, roc_auc


def test_auc_is_the_share_of_pairs_won() -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.integers(0, 6, size=80), rng.integers(0, 2, size=80)
    positives, negatives = scores[labels == 1], scores[labels == 0]
    won = [(p > n) + 0.5 * (p == n) for p in positives for n in negatives]
    assert roc_auc(scores, labels) == pytest.approx(np.mean(won))
    assert roc_auc(-scores, labels) == pytest.approx(1 - np.mean(won))
    # scikit-learn's documented example of roc_auc_score
    assert roc_auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75


def test_average_precision_is_the_mean_precision_at_each_positive() -> None:
    # scikit-learn's documented example of average_precision_score: 0.83
    assert average_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]) == pytest.approx(5 / 6)
    rng = np.random.default_rng(2)
    scores, labels = rng.permutation(60), rng.integers(0, 2, size=60)
    order = np.argsort(-scores)
    hits = labels[order]
    precisions = [hits[: place + 1].mean() for place in range(60) if hits[place]]
    assert average_precision(scores, labels) == pytest.approx(np.mean(precisions))


def test_equal_scores_share_a_threshold() -> None:
    # All tied: one threshold, whose precision is the share of positives.
    assert average_precision([1, 1, 1, 1], [0, 1, 0, 0]) == 0.25
    # Thresholds 2 (one of one) and 1 (two of three): 1/2 * 1 + 1/2 * 2/3.
    assert average_precision([2, 1, 1], [1, 0, 1]) == pytest.approx(5 / 6)


def test_recall_looks_at_as_many_as_there_are_positives_and_ties_fall_to_the_later() -> None:
    assert recall_at_positives([0.9, 0.8, 0.1, 0.7], [1, 0, 0, 1]) == 0.5
    assert recall_at_positives([0.5, 0.5, 0.5], [0, 0, 1]) == 1.0
    assert recall_at_positives([0.5, 0.5, 0.5], [1, 0, 0]) == 0.0
    many = np.zeros(40)  # beyond what an unstable sort leaves in place
    assert recall_at_positives(many, [0] * 39 + [1]) == 1.0


@pytest.mark.parametrize("statistic", [roc_auc, average_precision, recall_at_positives])
@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 2], [1, 1], "both kinds"),
        ([1, 2], [1, 2], "0 or 1, got 2.0"),
        ([1, 2], [1], "equal length"),
        ([1, math.nan], [1, 0], "index 1"),
    ],
)
def test_label_statistics_refuse_invalid_input(
    statistic: Callable[[list[float], list[int]], float], scores: list[float], labels: list[int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        statistic(scores, labels)
