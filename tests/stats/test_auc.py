"""The area under the curve, pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats import (
    roc_auc,
)


def test_auc_is_the_share_of_pairs_won() -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.integers(0, 6, size=80), rng.integers(0, 2, size=80)
    positives, negatives = scores[labels == 1], scores[labels == 0]
    won = [(p > n) + 0.5 * (p == n) for p in positives for n in negatives]
    assert roc_auc(scores, labels) == pytest.approx(np.mean(won))
    assert roc_auc(-scores, labels) == pytest.approx(1 - np.mean(won))
    # scikit-learn's documented example of roc_auc_score
    assert roc_auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 2], [1, 1], "both kinds"),
        ([1, 2], [1, 2], "0 or 1, got 2.0"),
        ([1, 2], [1], "equal length"),
        ([1, math.nan], [1, 0], "index 1"),
    ],
)
def test_auc_refuses(scores: list[float], labels: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        roc_auc(scores, labels)
