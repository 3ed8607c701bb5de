"""Exact optimal transport between two weighted clouds (earth mover's distance).

    EMD(a, b, C) = min_F sum_ij C_ij F_ij   with  F >= 0,  F 1 = a,  F' 1 = b

solved on the m x n problem by POT's network simplex. The released MoverScore poses the same problem on the
(m+n) x (m+n) matrix of all points; the optimum is the same, the work is not.

Weights are normalised in float64 here, and points without mass never reach the solver: sums that differ in
the last bit made POT say "infeasible" (POT issues 93, 190), and zero-mass bins made pyemd hang (issue 57).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError

__all__ = ["Plan", "exact_transport", "normalised_weights"]

#: Pivots of the network simplex; problems of a few hundred points need a few thousand.
_MOST_PIVOTS = 1_000_000


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
    bad = ~(np.isfinite(mass) & (mass >= 0))
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        msg = f"{what}[{index}]: a weight is a finite number >= 0, got {mass[index]!r}"
        raise InputError(msg)
    total = mass.sum()
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
    if not np.isfinite(matrix).all():
        msg = "cost: all entries must be finite"
        raise InputError(msg)
    with_mass = np.ix_(rows > 0, columns > 0)
    flow = np.zeros_like(matrix)
    flow[with_mass] = _solve(rows[rows > 0], columns[columns > 0], np.ascontiguousarray(matrix[with_mass]))
    return Plan(float((flow * matrix).sum()), flow)


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
