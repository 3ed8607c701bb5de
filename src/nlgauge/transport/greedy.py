"""Greedy matching: every point takes its most similar point on the other side.

BERTScore's equations: with similarity S (rows: hypothesis x, columns: reference y) and weights u, v,

    P = sum_i u_i max_j S_ij / sum_i u_i      R = sum_j v_j max_i S_ij / sum_j v_j      F = 2PR / (P + R)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GreedyMatch", "greedy_match"]


class GreedyMatch(NamedTuple):
    """Scores of a greedy match, and who matched whom."""

    precision: float
    recall: float
    f1: float
    row_partner: NDArray[np.int64]
    """For each row, the most similar column."""
    row_best: NDArray[np.float32]
    """For each row, that similarity."""
    column_partner: NDArray[np.int64]
    """For each column, the most similar row."""
    column_best: NDArray[np.float32]
    """For each column, that similarity."""


def greedy_match(
    similarity: NDArray[np.float32], row_weight: NDArray[np.float64], column_weight: NDArray[np.float64]
) -> GreedyMatch:
    """Match each row to its best column and each column to its best row.

    Weights need not sum to 1, but each side's sum must be positive. There is no padding here, so a point
    whose similarities are all negative keeps its negative maximum; the released implementation multiplies
    padding by 0 and lets it win then, which makes a score depend on the batch.

    >>> match = greedy_match(np.array([[1.0, 0.0]], dtype=np.float32), np.ones(1), np.ones(2))
    >>> match.precision, match.recall
    (1.0, 0.5)
    """
    row_partner, column_partner = similarity.argmax(axis=1), similarity.argmax(axis=0)
    row_best = similarity[np.arange(similarity.shape[0]), row_partner]
    column_best = similarity[column_partner, np.arange(similarity.shape[1])]
    precision = float(row_best @ row_weight / row_weight.sum())
    recall = float(column_best @ column_weight / column_weight.sum())
    f1 = harmonic_mean(precision, recall)
    return GreedyMatch(precision, recall, f1, row_partner, row_best, column_partner, column_best)


def harmonic_mean(precision: float, recall: float) -> float:
    """F measure; 0 where both are 0, as the released BERTScore sets it."""
    total = precision + recall
    return 2 * precision * recall / total if total != 0 else 0.0
