"""How well scores tell two classes apart."""

from __future__ import annotations

from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.stats.checks import vector

__all__ = ["roc_auc"]


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, a tie counting half.

    Labels are 0 or 1 (or booleans). By ranks: (sum of the positives' ranks - p (p + 1) / 2) / (p n).

    >>> roc_auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    """
    from scipy.stats import rankdata

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
        msg = f"an AUC needs labels of both kinds, got {positives} of 1 and {negatives} of 0"
        raise InputError(msg)
    ranks = rankdata(data)[truth == 1].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))
