"""A lower bound of exact transport that needs no plan (Kusner et al., "From Word Embeddings To Document Distances",
ICML 2015, section 4: the relaxed word mover's distance).

Without the condition on one side, each point sends all its mass to the nearest point of the other:

    bound = max( sum_i a_i min_j C_ij,  sum_j b_j min_i C_ij )  <=  EMD(a, b, C)

Costs are looked at some rows at a time, so memory does not grow with the product of two texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.transport.exact import Plan, normalised_weights

__all__ = ["RelaxedBound", "relaxed_transport"]


class RelaxedBound(NamedTuple):
    """The bound, and where each side would send its mass."""

    cost: float
    rows_move: bool
    """Whether the larger of the two sums is that of the rows."""
    row_target: NDArray[np.intp]
    """For each row the nearest column."""
    column_target: NDArray[np.intp]
    """For each column the nearest row."""

    def plan(self, a: ArrayLike, b: ArrayLike) -> Plan:
        """The flow behind the bound; it keeps the weights of one side only."""
        rows, columns = normalised_weights(a, what="a"), normalised_weights(b, what="b")
        flow = np.zeros((rows.size, columns.size))
        if self.rows_move:
            flow[np.arange(rows.size), self.row_target] = rows
        else:
            flow[self.column_target, np.arange(columns.size)] = columns
        return Plan(self.cost, flow)


def relaxed_transport(a: ArrayLike, b: ArrayLike, costs: Iterable[NDArray[np.float64]]) -> RelaxedBound:
    """The bound for weights `a` of the rows and `b` of the columns; `costs` are the rows of the matrix, in parts.

    A point without mass is no place to go to.

    >>> relaxed_transport([1, 1], [3, 1], [np.array([[0.0, 2.0], [2.0, 1.0]])]).cost
    0.5
    """
    rows, columns = normalised_weights(a, what="a"), normalised_weights(b, what="b")
    row_target, row_cost = np.empty(rows.size, dtype=np.intp), np.empty(rows.size)
    column_target, column_cost = np.zeros(columns.size, dtype=np.intp), np.full(columns.size, np.inf)
    closed = columns == 0
    start = 0
    for part in costs:
        stop = start + len(part)
        open_part = np.where(closed, np.inf, part) if closed.any() else part
        row_target[start:stop] = open_part.argmin(axis=1)
        row_cost[start:stop] = open_part[np.arange(len(part)), row_target[start:stop]]
        empty = rows[start:stop] == 0
        open_part = np.where(empty[:, None], np.inf, part) if empty.any() else part
        nearest = open_part.argmin(axis=0)
        lowest = open_part[nearest, np.arange(columns.size)]
        nearer = lowest < column_cost
        column_target[nearer], column_cost[nearer] = nearest[nearer] + start, lowest[nearer]
        start = stop
    sums = float(rows @ row_cost), float(columns @ np.where(closed, 0.0, column_cost))
    return RelaxedBound(max(sums), sums[0] >= sums[1], row_target, column_target)
