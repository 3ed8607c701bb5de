"""Greedy matching: every point takes its most similar point on the other side.

BERTScore's equations: with similarity S (rows: hypothesis x, columns: reference y) and weights u, v,

    P = sum_i u_i max_j S_ij / sum_i u_i      R = sum_j v_j max_i S_ij / sum_j v_j      F = 2PR / (P + R)

The similarities of two long texts are computed in blocks, so memory does not grow with the product of their lengths.
Blocks are distributed to threads (`RunContext.threads`); a block's bits do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.run_context import current_run

#: Similarities per step for stacks of clouds; they fit into a processor's cache.
_CACHED = 2**18

#: Similarities that are computed at once: 64 MB, two texts of 4,000 tokens. More are computed in blocks.
_AT_ONCE = 2**24

#: Rows and columns of a block of similarities of two long texts: 8 MB, so maxima are not slower than products.
_BLOCK = (1024, 2048)

#: Unit vectors, a row per point, and their weights.
Weighted: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float64]]


class GreedyMatch(NamedTuple):
    """Scores and partners of a greedy match."""

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

    Weights need not sum to 1, but each side's sum must be positive. There is no padding, so a point whose
    similarities are all negative keeps its negative maximum. In the released implementation, padding has similarity 0
    and wins in this case, so a score depends on the batch.

    >>> match = greedy_match(np.array([[1.0, 0.0]], dtype=np.float32), np.ones(1), np.ones(2))
    >>> match.precision, match.recall
    (1.0, 0.5)
    """
    return _score_match(_best(similarity), row_weight, column_weight)


def greedy_match_points(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    row_weight: NDArray[np.float64],
    column_weight: NDArray[np.float64],
) -> GreedyMatch:
    """Greedy match of unit vectors; it has the bits of `greedy_match(x @ y.T, ...)`, unless the clouds are large."""
    if len(x) * len(y) <= _AT_ONCE:
        return greedy_match(x @ y.T, row_weight, column_weight)
    row_partner = np.empty(len(x), dtype=np.int64)
    row_best = np.empty(len(x), dtype=np.float32)
    column_partner = np.zeros(len(y), dtype=np.int64)
    column_best = np.full(len(y), -np.inf, dtype=np.float32)
    size = max(1, _AT_ONCE // len(y))
    for start in range(0, len(x), size):
        part = slice(start, start + size)
        row_partner[part], row_best[part], partner, best = _best(x[part] @ y.T)
        better = best > column_best  # the first of equals, as in one piece
        column_partner[better] = partner[better] + start
        column_best[better] = best[better]
    return _score_match((row_partner, row_best, column_partner, column_best), row_weight, column_weight)


def greedy_values(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    row_weight: NDArray[np.float64],
    column_weight: NDArray[np.float64],
) -> tuple[float, float, float]:
    """Precision, recall and F of `greedy_match_points`; for large clouds faster, without partners."""
    return _weighted(*best_similarities(x, y), row_weight, column_weight)


def best_similarities(
    x: NDArray[np.float32], y: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The highest similarity of each row, and of each column, of two clouds of unit vectors."""
    if len(x) * len(y) > _AT_ONCE:
        return _best_of_blocks(x, y)
    _, row_best, _, column_best = _best(x @ y.T)
    return row_best, column_best


def _best_of_blocks(
    x: NDArray[np.float32], y: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    run = current_run()
    height, width = _BLOCK
    row_best = np.empty(len(x), dtype=np.float32)
    column_best = np.full(len(y), -np.inf, dtype=np.float32)

    def best_of_rows(start: int) -> NDArray[np.float32]:
        rows = x[start : start + height].copy()  # otherwise BLAS uses another routine if x and y are one array
        best = np.full(len(rows), -np.inf, dtype=np.float32)
        columns = np.empty(len(y), dtype=np.float32)
        space = np.empty(len(rows) * width, dtype=np.float32)
        for first in range(0, len(y), width):
            part = y[first : first + width]
            block = np.matmul(rows, part.T, out=space[: len(rows) * len(part)].reshape(len(rows), len(part)))
            np.maximum(best, block.max(axis=1), out=best)
            columns[first : first + width] = block.max(axis=0)
        row_best[start : start + height] = best
        return columns

    starts = range(0, len(x), height)
    if run.threads < 2:
        for start in starts:
            np.maximum(column_best, best_of_rows(start), out=column_best)
            run.check()
        return row_best, column_best
    from concurrent.futures import ThreadPoolExecutor  # imported here, because the import is slow

    pool = ThreadPoolExecutor(run.threads)
    try:
        for columns in pool.map(best_of_rows, starts):
            np.maximum(column_best, columns, out=column_best)
            run.check()
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupted run does not wait for the rest
    return row_best, column_best


#: Partner and similarity of each row, partner and similarity of each column.
_Best: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]


def _best(similarity: NDArray[np.float32]) -> _Best:
    row_partner, column_partner = similarity.argmax(axis=1), similarity.argmax(axis=0)
    row_best = similarity[np.arange(similarity.shape[0]), row_partner]
    column_best = similarity[column_partner, np.arange(similarity.shape[1])]
    return row_partner, row_best, column_partner, column_best


def _score_match(best: _Best, row_weight: NDArray[np.float64], column_weight: NDArray[np.float64]) -> GreedyMatch:
    precision, recall, f1 = _weighted(best[1], best[3], row_weight, column_weight)
    return GreedyMatch(precision, recall, f1, *best)


def _weighted(
    row_best: NDArray[np.float32],
    column_best: NDArray[np.float32],
    row_weight: NDArray[np.float64],
    column_weight: NDArray[np.float64],
) -> tuple[float, float, float]:
    precision = float(row_best @ row_weight / row_weight.sum())
    recall = float(column_best @ column_weight / column_weight.sum())
    total = precision + recall  # F is 0 if both are 0, as in the released BERTScore
    return precision, recall, 2 * precision * recall / total if total != 0 else 0.0


def greedy_scores(rows: Sequence[Weighted], columns: Sequence[Weighted]) -> NDArray[np.float64]:
    """Precision, recall and F (rows, columns, 3) of every cloud of unit vectors against every other.

    Each number has the bits of `greedy_match(x @ y.T, ...)`: clouds of one size are stacked, and for each pair a
    product of stacks is a BLAS product of the two clouds' shapes. (One product with all columns concatenated would be
    faster, but its last bits depend on the other clouds.) The exception is a cloud against itself: `x @ x.T` is
    another routine of BLAS, which stacks never call. Large clouds are matched pair by pair.
    """
    scores = np.empty((len(rows), len(columns), 3))
    stacked_columns = list(_stacks(columns))
    for row_numbers, x, u, u_sum in _stacks(rows):
        for column_numbers, y, v, v_sum in stacked_columns:
            if len(column_numbers) * y.shape[1] * x.shape[1] > _AT_ONCE:
                for row, column in itertools.product(row_numbers.tolist(), column_numbers.tolist()):
                    (left, weight), (right, other) = rows[row], columns[column]
                    scores[row, column] = greedy_values(left, right, weight, other)
                continue
            size = max(1, _CACHED // (y.shape[0] * y.shape[1] * x.shape[1]))
            for start in range(0, len(row_numbers), size):
                part = slice(start, start + size)
                similarity = np.matmul(x[part, None], y.transpose(0, 2, 1)[None])
                precision = _dot(similarity.max(axis=3), u[part, None]) / u_sum[part, None]
                recall = _dot(similarity.max(axis=2), v[None]) / v_sum
                total = precision + recall
                f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)
                scores[np.ix_(row_numbers[part], column_numbers)] = np.stack([precision, recall, f1], axis=2)
    return scores


class _Stack(NamedTuple):
    """Clouds of one size."""

    numbers: NDArray[np.intp]
    points: NDArray[np.float32]
    weights: NDArray[np.float64]
    sums: NDArray[np.float64]


def _stacks(clouds: Sequence[Weighted]) -> Iterator[_Stack]:
    sizes = np.array([len(weights) for _, weights in clouds], dtype=np.intp)
    for size in np.unique(sizes):
        numbers = np.flatnonzero(sizes == size)
        points, weights = zip(*(clouds[number] for number in numbers.tolist()), strict=True)
        yield _Stack(numbers, np.stack(points), np.stack(weights), np.array([mass.sum() for mass in weights]))


def _dot(best: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products over the last axis, with the same BLAS dot product as for a single pair."""
    dots: NDArray[np.float64] = np.matmul(best[..., None, :].astype(np.float64), weights[..., None])[..., 0, 0]
    return dots
