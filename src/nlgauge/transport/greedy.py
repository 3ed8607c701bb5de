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
    """Scores of a greedy match; the partners follow from the similarity when asked for."""

    precision: float
    recall: float
    f1: float
    row_best: NDArray[np.float32]
    """For each row, its highest similarity."""
    column_best: NDArray[np.float32]
    """For each column, its highest similarity."""


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
    row_best = similarity.max(axis=1)
    column_best = similarity.max(axis=0)
    precision = float(row_best @ row_weight / row_weight.sum())
    recall = float(column_best @ column_weight / column_weight.sum())
    return GreedyMatch(precision, recall, harmonic_mean(precision, recall), row_best, column_best)


def harmonic_mean(precision: float, recall: float) -> float:
    """F measure; 0 where both are 0, as the released BERTScore sets it."""
    total = precision + recall
    return 2 * precision * recall / total if total != 0 else 0.0
