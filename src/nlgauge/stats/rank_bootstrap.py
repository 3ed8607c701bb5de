"""Kendall's tau-b and Spearman's rho of resampled rows, all resamples at once.

A resample is a vector of counts c. Rows drawn twice are tied with themselves, so of a list with tie groups g, each
drawn t_g times, the ranks are cumulated counts (sorted once, whatever is drawn), and the pairs that differ are
n^2 - sum t_g^2; n is the sum of c, which differs between resamples of whole documents. The sum behind tau is c'Mc
with M = sign(a_i - a_j) sign(h_i - h_j): one product of all resamples with a matrix. Everything is a whole number
until the last division.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.checks import Vector
from nlgauge.stats.correlation import correlate
from nlgauge.stats.correlation_rows import rho, tau_b

__all__ = ["RankResampler", "drawn_counts"]

#: Cells of a block of pairs (float32: 16 MB).
_CELLS = 4_000_000
#: Longest list whose pairs are multiplied out; sorting every resample costs as much there.
_MOST_KENDALL = 16_384


def drawn_counts(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each resample has each row (resamples x n), from the numbers of the rows it drew.

    >>> drawn_counts(np.array([[0, 0, 2], [1, 2, 0]]))
    array([[2, 0, 1],
           [1, 1, 1]])
    """
    draws, n = rows.shape
    offsets = n * np.arange(draws)[:, None]
    return np.bincount((rows + offsets).ravel(), minlength=draws * n).reshape(draws, n)


class RankResampler:
    """Correlations of the metrics of a table (metrics x rows) with people on resampled rows."""

    def __init__(self, table: Vector, gold: Vector, kind: str) -> None:
        self._table, self._gold, self._kind = table, gold, kind
        self._lists = [_TieGroups(row) for row in table]
        self._people = _TieGroups(gold)

    def __call__(self, counts: NDArray[np.int64]) -> Vector:
        """Correlations (resamples x metrics) from how often each row was drawn (resamples x rows); nan for none."""
        if self._kind == "kendall" and self._gold.size > _MOST_KENDALL:
            drawn = (np.repeat(np.arange(self._gold.size), often) for often in counts)
            return np.array([[self._sorted(metric, rows) for metric in self._table] for rows in drawn])
        found = np.empty((len(counts), len(self._table)))
        people = self._people.ranks(counts) if self._kind == "spearman" else self._people.distinct(counts)
        for at, groups in enumerate(self._lists):
            if self._kind == "spearman":
                found[:, at] = rho(groups.ranks(counts), people, counts.astype(np.float64))
            else:
                agreeing = self._agreeing(self._table[at], counts.astype(np.float32))
                found[:, at] = tau_b(agreeing, groups.distinct(counts), people)
        return found

    def _agreeing(self, metric: Vector, counts: NDArray[np.float32]) -> Vector:
        gold = self._gold
        total = np.zeros(len(counts))
        step = max(1, _CELLS // gold.size)
        for start in range(0, gold.size, step):
            part = slice(start, start + step)
            orders = [np.sign(x[part, None] - x).astype(np.float32) for x in (metric, gold)]
            product = counts @ (orders[0] * orders[1]).T
            total += np.einsum("rb,rb->r", product, counts[:, part], dtype=np.float64)
        return total

    def _sorted(self, metric: Vector, rows: NDArray[np.intp]) -> float:
        return correlate(metric[rows], self._gold[rows], kind="kendall", undefined="nan").value


class _TieGroups:
    """A list sorted once, with the places where its value changes."""

    def __init__(self, values: Vector) -> None:
        distinct, self._group = np.unique(values, return_inverse=True)
        self._order = np.argsort(self._group, kind="stable")
        self._starts = np.searchsorted(self._group[self._order], np.arange(distinct.size))

    def _drawn(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each distinct value was drawn."""
        drawn: NDArray[np.int64] = np.add.reduceat(counts[:, self._order], self._starts, axis=1)
        return drawn

    def ranks(self, counts: NDArray[np.int64]) -> Vector:
        """Twice the average rank of each row, centred, among what was drawn."""
        drawn = self._drawn(counts)
        upto = drawn.cumsum(axis=1)
        doubled = 2 * upto - drawn - upto[:, -1:]
        ranks: Vector = doubled[:, self._group].astype(np.float64)
        return ranks

    def distinct(self, counts: NDArray[np.int64]) -> Vector:
        """Ordered pairs of drawn rows whose values differ."""
        drawn = self._drawn(counts)
        n = drawn.sum(axis=1)
        pairs: Vector = (n * n - np.einsum("rg,rg->r", drawn, drawn)).astype(np.float64)
        return pairs
