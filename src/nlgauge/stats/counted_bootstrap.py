"""Bootstrap of statistics that are counts of wins: the area under the ROC curve, and WMT's tau of ranked pairs.

As in `bootstrap_correlations`, a resample is a vector of counts c (how often each row or pair was drawn), and all
metrics share the draws, so a difference of two metrics is paired.

    AUC   sum over distinct scores g of P_g (N_<g + N_g / 2) / (P N), where P_g and N_g count the drawn positives and
          negatives with score g; undefined in a resample without positives or without negatives
    tau   sum of c_i o_i / sum of c_i, where o_i is 1 for a concordant pair and -1 for a discordant or tied one

Pairs of one segment share outputs, so they are not independent: segments (or documents) are drawn with all their
pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.correlation import CorrelationDraws, roc_auc
from nlgauge.stats.numeric import BLOCK_CELLS, Vector, check_resampling, numbers, vector
from nlgauge.stats.resampling import Units, bootstrap_counts, unit_numbers


def bootstrap_auc(
    scores: ArrayLike, labels: ArrayLike, *, clusters: Units | None = None, resamples: int = 1000, seed: int = 12345
) -> CorrelationDraws:
    """The AUC of each metric in `scores` (metrics x rows) over resampled rows, or documents (`clusters`)."""
    truth = vector(labels, "labels", least=2)
    table = _table(scores, truth.size, "labels")
    observed = np.array([roc_auc(row, truth) for row in table])  # checks the labels
    positive = (truth == 1).astype(np.int64)
    groups = [_Groups(row) for row in table]
    draws = np.empty((resamples, len(table)))
    done = 0
    units = np.arange(truth.size) if clusters is None else unit_numbers(clusters, truth.size)
    for drawn in _counts(units, truth.size, resamples, seed, "rows"):
        counts = drawn if clusters is None else drawn.take(units, axis=1)
        part = slice(done, done + len(counts))
        for metric, group in enumerate(groups):
            draws[part, metric] = _auc(group.sums(counts * positive), group.sums(counts * (1 - positive)))
        done = part.stop
    return CorrelationDraws(observed, draws)


def bootstrap_tau(outcomes: ArrayLike, units: Units, *, resamples: int = 1000, seed: int = 12345) -> CorrelationDraws:
    """WMT's tau of each metric over resampled units; `outcomes` (metrics x pairs) are 1 or -1 (`pair_outcomes`)."""
    values = numbers(outcomes, "outcomes")
    numbered = unit_numbers(units, values.shape[-1])
    table = _table(values, numbered.size, "units")
    check_resampling(resamples, seed)
    sizes = np.bincount(numbered).astype(np.float64)
    sums = np.stack([np.bincount(numbered, weights=row) for row in table], axis=1)
    parts = [
        (drawn @ sums) / (drawn @ sizes)[:, None]
        for drawn in _counts(numbered, numbered.size, resamples, seed, "pairs")
    ]
    return CorrelationDraws(table.mean(axis=1), np.concatenate(parts))


def pair_outcomes(better: ArrayLike, worse: ArrayLike) -> Vector:
    """Outcome of each ranked pair by WMT's rule: 1 if the preferred output scores higher, else -1; a tie is -1.

    >>> pair_outcomes([3, 2, 1], [1, 2, 3]).tolist()
    [1.0, -1.0, -1.0]
    """
    return np.where(numbers(better, "better") > numbers(worse, "worse"), 1.0, -1.0)


def _table(scores: ArrayLike, count: int, what: str) -> Vector:
    table = numbers(scores, "scores")
    if table.ndim != 2 or not len(table) or table.shape[1] != count:
        msg = f"scores must be metrics x {count} (as many as {what}), got shape {table.shape}"
        raise InputError(msg)
    return table


def _counts(units: NDArray[np.intp], size: int, resamples: int, seed: int, what: str) -> Iterator[NDArray[np.int64]]:
    """How often each unit is drawn, in blocks of resamples."""
    check_resampling(resamples, seed)
    count = int(units.max()) + 1
    if count < 2:
        msg = f"a bootstrap needs at least 2 units, got {count} for all {size} {what}"
        raise InputError(msg)
    return bootstrap_counts(count, resamples, seed, block=max(1, BLOCK_CELLS // size))


def _auc(positives: Vector, negatives: Vector) -> Vector:
    """AUC from the drawn positives and negatives at each distinct score, in ascending order (resamples x scores)."""
    below = negatives.cumsum(axis=1) - negatives / 2
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        areas: Vector = (positives * below).sum(axis=1) / pairs
    return areas


class _Groups:
    """Rows with equal scores, by ascending score."""

    def __init__(self, values: Vector) -> None:
        distinct, group = np.unique(values, return_inverse=True)
        self._order = np.argsort(group, kind="stable")
        self._starts = np.searchsorted(group[self._order], np.arange(distinct.size))

    def sums(self, counts: NDArray[np.int64]) -> Vector:
        """Sum of the counts of each distinct score."""
        return np.add.reduceat(counts[:, self._order], self._starts, axis=1).astype(np.float64)
