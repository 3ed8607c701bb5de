"""Small statistics of scores: how far a number moves between settings, and how well scores separate two classes.

    RD(a, b) = (a - b) / b * 100 %                 the change from setting b to setting a
    CV(x)    = sd(x) / mean(x) * 100 %             the spread over several settings

of the reproducibility study of Chen et al. (2022), which does not say whether its standard deviation divides by
n - 1 or by n: `ddof` is 1 (the estimate from a few settings) unless 0 is asked for.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.resampling import BLOCK, Units, sum_by_unit
from nlgauge.stats.validation import check_resampling, vector


def relative_difference(value: float, base: float) -> float:
    """RD in per cent; undefined for a base of 0.

    >>> relative_difference(0.69, 0.75)
    -8.0
    """
    for name, number in (("value", value), ("base", base)):
        if not math.isfinite(number):
            msg = f"relative_difference needs finite numbers, got {name}={number!r}"
            raise InputError(msg)
    if base == 0:
        msg = f"the relative difference of {value!r} to a base of 0 is not defined"
        raise InputError(msg)
    # Rounded where float64 ends, so that 0.06 / 0.75 is 8 and not 8.000000000000007.
    return float(round((value - base) / base * 100, 12))


def coefficient_of_variation(values: ArrayLike, *, ddof: int = 1) -> float:
    """CV in per cent of the mean's size; undefined for a mean of 0, or for fewer than `ddof` + 1 values.

    >>> round(coefficient_of_variation([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], ddof=0), 12)
    40.0
    """
    if ddof not in (0, 1):
        msg = f"ddof is 1 (divide by n - 1) or 0 (divide by n), got {ddof!r}"
        raise InputError(msg)
    data = vector(values, "coefficient_of_variation", least=ddof + 1)
    mean = float(data.mean())
    if mean == 0:
        msg = "the coefficient of variation of values whose mean is 0 is not defined"
        raise InputError(msg)
    return float(data.std(ddof=ddof)) / abs(mean) * 100


def paired_order(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
) -> float:
    """Paired bootstrap, one-sided: are the first's values higher on average, segments drawn with replacement?

    p is the share of resamples in which they are not (each counted with one more, so never 0). The draw depends on
    the seed and the number of segments only, so all pairs of systems see the same ones. `clusters` names the
    document of each segment: whole documents are drawn then.

    >>> paired_order([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], resamples=99)
    0.01
    """
    a, b = vector(first, "paired_order"), vector(second, "paired_order")
    if a.size != b.size:
        msg = f"paired_order needs the same segments on both sides, got {a.size} and {b.size} values"
        raise InputError(msg)
    check_resampling(resamples, seed)
    # Documents differ in length, but a mean over their segments has the sign of the sum.
    differences = sum_by_unit(a - b, clusters)
    rng = np.random.default_rng(seed)
    against = 0
    for start in range(0, resamples, BLOCK):
        rows = min(BLOCK, resamples - start)
        draw = rng.integers(0, differences.size, size=(rows, differences.size))
        against += int((differences[draw].mean(axis=1) <= 0).sum())
    return (against + 1) / (resamples + 1)


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
    ranked, hits = data[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.diff(ranked, append=np.nan) != 0)  # of each run of equal scores
    precision, recall = hits[last] / (last + 1), hits[last] / positives
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
