"""Ranking measures of labels (P@k, NDCG@k) and of answers (MAP, MRR)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.correlation import average_precision

__all__ = ["AnswerQuality", "answer_quality", "label_quality", "ndcg_at_k", "precision_at_k"]

#: Labels of which the released code takes the ideal order (D7.18).
_RELEASED_DEPTH = 50


def precision_at_k(ranking: Sequence[int], relevant: Collection[int], k: int) -> float:
    """Share of the first k labels that are relevant.

    >>> precision_at_k([7, 3, 5], {3, 5}, 3)
    0.6666666666666666
    """
    _check_ranking(ranking, k)
    return sum(label in relevant for label in ranking[:k]) / k


def ndcg_at_k(
    ranking: Sequence[int], relevant: Collection[int], k: int, *, ideal: Literal["all", "released"] = "all"
) -> float:
    """sum_r rel(r) / log2(r + 1) over ranks r up to k, as a share of the same sum of the best order.

    The best order has `all` relevant labels; the `released` code has those only that are among the first 50 of the
    ranking, so that a relevant label it never found costs nothing (D7.18).

    >>> round(ndcg_at_k([7, 3], {3, 5}, 2), 4), round(ndcg_at_k([7, 3], {3, 5}, 2, ideal="released"), 4)
    (0.3869, 0.6309)
    """
    _check_ranking(ranking, k)
    gains = np.array([label in relevant for label in ranking[:k]], dtype=np.float64)
    known = set(relevant) if ideal == "all" else set(relevant) & set(ranking[:_RELEASED_DEPTH])
    discounts = 1 / np.log2(np.arange(2, k + 2))
    best = discounts[: min(k, len(known))].sum()
    return float(gains @ discounts / best) if best else 0.0


def label_quality(
    scores: ArrayLike,
    relevant: Sequence[Collection[int]],
    *,
    ks: Sequence[int] = (1, 3, 5),
    ideal: Literal["all", "released"] = "all",
) -> dict[str, float]:
    """P@k and N@k, averaged over texts; `scores` is (texts, labels), and labels of -inf come last.

    >>> label_quality([[0.1, 0.9], [0.8, 0.2]], [{1}, {1}], ks=(1, 2))
    {'P@1': 0.5, 'P@2': 0.5, 'N@1': 0.5, 'N@2': 0.8154648767857288}
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(relevant) or not len(table):
        msg = f"scores must be (texts, labels) for {len(relevant)} texts, got the shape {table.shape}"
        raise InputError(msg)
    if np.isnan(table).any():
        msg = f"the scores of text {int(np.argwhere(np.isnan(table))[0, 0])} hold a NaN"
        raise InputError(msg)
    rankings = np.argsort(-table, axis=1, kind="stable")[:, : max(_RELEASED_DEPTH, *ks)].tolist()
    pairs = list(zip(rankings, relevant, strict=True))
    precision = {f"P@{k}": _mean([precision_at_k(ranks, gold, k) for ranks, gold in pairs]) for k in ks}
    gain = {f"N@{k}": _mean([ndcg_at_k(ranks, gold, k, ideal=ideal) for ranks, gold in pairs]) for k in ks}
    return {**precision, **gain}


class AnswerQuality(NamedTuple):
    """Over questions that have both a right and a wrong answer."""

    mean_average_precision: float
    mean_reciprocal_rank: float
    questions: int


def answer_quality(scores: Sequence[ArrayLike], right: Sequence[ArrayLike]) -> AnswerQuality:
    """MAP and MRR; each question has a score for every candidate and says which of them are right (0 or 1).

    With one right answer to every question the two are equal. Equal scores do not help: the reciprocal rank of a
    right answer is that of the last candidate with its score.

    >>> answer_quality([[0.2, 0.9, 0.4]], [[0, 0, 1]])
    AnswerQuality(mean_average_precision=0.5, mean_reciprocal_rank=0.5, questions=1)
    """
    precisions, ranks = [], []
    for values, truth in zip(scores, right, strict=True):
        of_one = np.asarray(values, dtype=np.float64), np.asarray(truth, dtype=np.int64)
        if not 0 < of_one[1].sum() < len(of_one[1]):
            continue
        precisions.append(average_precision(*of_one))
        best = of_one[0][of_one[1] == 1].max()
        ranks.append(1 / int((of_one[0] >= best).sum()))
    if not ranks:
        msg = "no question has both a right and a wrong answer"
        raise InputError(msg)
    return AnswerQuality(_mean(precisions), _mean(ranks), len(ranks))


def _check_ranking(ranking: Sequence[int], k: int) -> None:
    if not 1 <= k <= len(ranking):
        msg = f"k must lie between 1 and the {len(ranking)} labels of the ranking, got {k!r}"
        raise InputError(msg)


def _mean(values: list[float]) -> float:
    array: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    return float(array.mean())
