"""Exact optimal transport between two weighted clouds (earth mover's distance).

    EMD(a, b, C) = min_F sum_ij C_ij F_ij   with  F >= 0,  F 1 = a,  F' 1 = b

solved on the m x n problem by POT's network simplex. The released MoverScore poses the same problem on the
(m+n) x (m+n) matrix of all points; the optimum is the same, the work is not.

Weights are normalised in float64 here, and points without mass never reach the solver: sums that differ in
the last bit made POT say "infeasible" (POT issues 93, 190), and zero-mass bins made pyemd hang (issue 57).

Problems of a text's size take a tenth of a millisecond each, so a list of them is solved in turn: a pool of
two threads took longer than the loop (`python -m benchmarks.transport`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError

__all__ = ["Plan", "Problem", "exact_transport", "exact_transports", "normalised_weights"]

#: Pivots of the network simplex; problems of a few hundred points need a few thousand.
_MOST_PIVOTS = 1_000_000


class Problem(NamedTuple):
    """Weights of the rows, weights of the columns, and what a unit of mass costs between them."""

    a: ArrayLike
    b: ArrayLike
    cost: ArrayLike


class Plan(NamedTuple):
    """A transport plan and what it costs."""

    cost: float
    flow: NDArray[np.float64]
    """Mass moved from each row to each column."""


def normalised_weights(weights: ArrayLike, *, what: str = "weights") -> NDArray[np.float64]:
    """Weights as float64 that sum to 1.

    >>> normalised_weights([1, 3]).tolist()
    [0.25, 0.75]
    """
    mass = np.asarray(weights, dtype=np.float64)
    if mass.ndim != 1 or mass.size == 0:
        msg = f"{what}: expected a non-empty list of numbers, got shape {mass.shape}"
        raise InputError(msg)
    total = mass.sum()
    # A NaN or an infinity anywhere makes the sum one, so the usual case needs two looks only.
    if not (np.isfinite(total) and mass.min() >= 0):
        index = int(np.flatnonzero(~(np.isfinite(mass) & (mass >= 0)))[0])
        msg = f"{what}[{index}]: a weight is a finite number >= 0, got {mass[index]!r}"
        raise InputError(msg)
    if total == 0:
        msg = f"{what}: all weights are 0, so there is nothing to transport"
        raise InputError(msg)
    normal: NDArray[np.float64] = mass / total
    return normal


def exact_transport(a: ArrayLike, b: ArrayLike, cost: ArrayLike) -> Plan:
    """The cheapest plan that moves the weights `a` (rows) onto `b` (columns).

    >>> exact_transport([1, 1], [1, 1], [[0.0, 2.0], [2.0, 0.0]]).cost
    0.0
    """
    rows, columns = normalised_weights(a, what="a"), normalised_weights(b, what="b")
    matrix = np.ascontiguousarray(cost, dtype=np.float64)
    if matrix.shape != (rows.size, columns.size):
        msg = f"cost: expected shape {(rows.size, columns.size)} for these weights, got {matrix.shape}"
        raise InputError(msg)
    if not np.isfinite(matrix.sum()):
        msg = "cost: all entries must be finite"
        raise InputError(msg)
    if rows.min() > 0 and columns.min() > 0:
        flow = _solve(rows, columns, matrix)
    else:
        with_mass = np.ix_(rows > 0, columns > 0)
        flow = np.zeros_like(matrix)
        flow[with_mass] = _solve(rows[rows > 0], columns[columns > 0], np.ascontiguousarray(matrix[with_mass]))
    return Plan(float(np.vdot(flow, matrix)), flow)


def exact_transports(problems: Iterable[Problem | tuple[ArrayLike, ArrayLike, ArrayLike]]) -> list[Plan]:
    """A plan for each problem, in order; an error names the problem's number.

    >>> [plan.cost for plan in exact_transports([([1], [1], [[2.0]]), ([1], [1], [[3.0]])])]
    [2.0, 3.0]
    """
    plans = []
    for number, (a, b, cost) in enumerate(problems):
        try:
            plans.append(exact_transport(a, b, cost))
        except InputError as error:
            msg = f"problem {number}: {error}"
            raise InputError(msg) from error
    return plans


def _solve(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    if 1 in cost.shape:  # all mass goes to, or comes from, one point
        return np.outer(a, b)
    import ot

    # Sums that differ in the last bit are no difference in mass.
    flow, log = ot.emd(
        a, b * (a.sum() / b.sum()), cost, numItermax=_MOST_PIVOTS, log=True, center_dual=False, check_marginals=False
    )
    if log["warning"] is not None:
        msg = f"the transport problem of {a.size} x {b.size} points was not solved: {log['warning']}"
        raise InputError(msg)
    plan: NDArray[np.float64] = flow
    return plan
