"""How well scores tell two classes apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.checks import vector

__all__ = ["average_precision", "recall_at_positives", "roc_auc"]


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, a tie counting half.

    Labels are 0 or 1 (or booleans). By ranks: (sum of the positives' ranks - p (p + 1) / 2) / (p n).

    >>> roc_auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    """
    from scipy.stats import rankdata

    data, truth, positives, negatives = _checked(scores, labels, "an AUC")
    ranks = rankdata(data)[truth == 1].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))


def average_precision(scores: ArrayLike, labels: ArrayLike) -> float:
    """Precision at each threshold, weighted by the recall that it adds; equal scores share a threshold.

        AP = sum_n (R_n - R_n-1) P_n

    >>> round(average_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 4)
    0.8333
    """
    data, truth, positives, _ = _checked(scores, labels, "an average precision")
    order = np.argsort(-data, kind="stable")
    ranked, found = data[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.diff(ranked, append=np.nan) != 0)  # of each run of equal scores
    precision, recall = found[last] / (last + 1), found[last] / positives
    return float((np.diff(recall, prepend=0.0) * precision).sum())


def recall_at_positives(scores: ArrayLike, labels: ArrayLike) -> float:
    """Share of the positives among the K highest scores, K the number of positives; of equal scores the later wins.

    >>> recall_at_positives([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.5
    """
    data, truth, positives, _ = _checked(scores, labels, "a recall")
    chosen = np.argsort(data, kind="stable")[::-1][:positives]
    return float(truth[chosen].sum() / positives)


def _checked(
    scores: ArrayLike, labels: ArrayLike, what: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, int]:
    """Scores, labels, and how many labels there are of each kind."""
    data, truth = vector(scores, "scores"), vector(labels, "labels")
    if data.size != truth.size:
        msg = f"scores and labels must be of equal length, got {data.size} and {truth.size}"
        raise InputError(msg)
    other = truth[(truth != 0) & (truth != 1)]
    if other.size:
        msg = f"labels must be 0 or 1, got {float(other[0])!r}"
        raise InputError(msg)
    positives = int(truth.sum())
    negatives = truth.size - positives
    if positives == 0 or negatives == 0:
        msg = f"{what} needs labels of both kinds, got {positives} of 1 and {negatives} of 0"
        raise InputError(msg)
    return data, truth, positives, negatives
