"""Optimal transport between two weighted clouds: the cost of moving one onto the other.

    exact         EMD(a, b, C) = min_F sum_ij C_ij F_ij   with  F >= 0,  F 1 = a,  F' 1 = b
    sinkhorn-R    argmin_F <F, C> - R * entropy(F) over the same plans; the value is <F, C>       at least EMD
    relaxed       max( sum_i a_i min_j C_ij,  sum_j b_j min_i C_ij )                               at most EMD

*Exact* transport is solved on the m x n problem by POT's network simplex. The released MoverScore poses the same
problem on the (m+n) x (m+n) matrix of all points; the optimum is the same, the work is not. Weights are normalised in
float64, and points without mass are removed before solving: sums that differ in the last bit made POT report
"infeasible" (POT issues 93, 190), and zero-mass bins made pyemd hang (issue 57). Problems of a text's size take
0.1 ms each, so they are solved one by one: a pool of two threads was slower (`python -m benchmarks.transport`).

*Entropic* transport (Cuturi 2013) is computed by POT. Its plain iteration multiplies by exp(-C / R), which underflows
to 0 if R is small compared with the costs: it then stops and returns its current plan, near 0 for costs of 1 and
R = .001. The same iteration on logarithms does not underflow. The result tells whether the iteration converged.

The *relaxed* bound (Kusner et al., ICML 2015, section 4) needs no plan: without the constraint on one side, each
point sends all its mass to the nearest point of the other. Costs are read in blocks of rows, so memory does not grow
with the product of two texts' lengths.

*Trimming* a flow is called dropout in XMoverScore's later code, although it is not random (D8.5). Of the m masses
above 0, the k-th smallest is a threshold, k = max(int(share * m), 1); smaller masses are set to 0, and the others are
not rescaled. Of several optimal flows a solver returns one, and their trimmed costs differ: if the optimum is not
unique (equal distances, repeated words), a trimmed cost depends on the solver and its version.

A free-support *barycentre* of several weighted clouds of the same size is found by transport: its points X move,
their weights b stay. One step of the fixed-point iteration (Cuturi and Doucet 2014, algorithm 2 without line search;
POT's `free_support_barycenter`):

    T_l = argmin over plans from (b, X) to (w_l, x_l) of  <T, ||X_i - x_lj||^2>
    X  <- mean over l of  diag(1/b) T_l x_l
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError, TooLongError

EXACT, RELAXED, SINKHORN = "exact", "relaxed", "sinkhorn-"

#: Most entries of a cost matrix: 8,192 x 8,192 (0.5 GB); exact transport needs four times as much in addition.
MOST_COSTS = 2**26

#: Most pivots of the network simplex; problems of a few hundred points need a few thousand.
_MOST_PIVOTS = 1_000_000

#: Iterations after which the released BaryScore stops.
MOST_ITERATIONS = 10_000

#: POT's stopping criterion: the error of the marginals, checked every tenth iteration.
_STOP = 1e-9

#: Warning filters belong to the process, so threads must change and restore them one at a time. Only the fast plain
#: iteration holds the lock; the one on logarithms may take minutes.
_QUIET = threading.Lock()

#: Smaller masses are rounding errors of a solver.
NOTHING = 1e-12


class Plan(NamedTuple):
    """A transport plan and its cost."""

    cost: float
    flow: NDArray[np.float64]
    """Mass moved from each row to each column; in the relaxed bound only one side keeps its weights."""
    converged: bool = True
    """Whether the iteration converged."""


def squared_distances(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distances between rows, never below 0."""
    square: NDArray[np.float64] = x @ y.T
    square *= -2
    square += np.einsum("ij,ij->i", x, x)[:, None]
    square += np.einsum("ij,ij->i", y, y)[None, :]
    return np.maximum(square, 0.0, out=square)


def check_size(rows: int, columns: int, *, what: str, instead: str) -> None:
    """Raise TooLongError for a matrix that would not fit in memory; `instead` is the remedy in the message."""
    if rows * columns > MOST_COSTS:
        gigabytes = 8 * rows * columns / 1e9
        msg = (
            f"{what} of {rows} x {columns} points needs a matrix of {gigabytes:.1f} GB and several times that as "
            f"working memory; the limit is {MOST_COSTS} entries (8,192 x 8,192): {instead}"
        )
        raise TooLongError(msg)


def normalise_weights(weights: ArrayLike, *, what: str = "weights") -> NDArray[np.float64]:
    """Weights as float64 that sum to 1.

    >>> normalise_weights([1, 3]).tolist()
    [0.25, 0.75]
    """
    mass = np.asarray(weights, dtype=np.float64)
    if mass.ndim != 1 or mass.size == 0:
        msg = f"{what}: expected a non-empty list of numbers, got shape {mass.shape}"
        raise InputError(msg)
    total = mass.sum()
    # A NaN or infinity makes the sum one, so the usual case needs two checks only.
    if not (np.isfinite(total) and mass.min() >= 0):
        index = int(np.flatnonzero(~(np.isfinite(mass) & (mass >= 0)))[0])
        msg = f"{what}[{index}]: a weight must be a finite number >= 0, got {mass[index]!r}"
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
    rows, columns = normalise_weights(a, what="a"), normalise_weights(b, what="b")
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


def _solve(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    if 1 in cost.shape:  # all mass goes to, or comes from, one point
        return np.outer(a, b)
    import ot

    # Scaled, because the sums may differ in their last bit.
    flow, log = ot.emd(
        a, b * (a.sum() / b.sum()), cost, numItermax=_MOST_PIVOTS, log=True, center_dual=False, check_marginals=False
    )
    if log["warning"] is not None:
        msg = f"could not solve the transport problem of {a.size} x {b.size} points: {log['warning']}"
        raise InputError(msg)
    plan: NDArray[np.float64] = flow
    return plan


class RelaxedBound(NamedTuple):
    """The relaxed bound, and the target of each point's mass."""

    cost: float
    rows_move: bool
    """Whether the larger of the two sums is that of the rows."""
    row_target: NDArray[np.intp]
    """For each row the nearest column."""
    column_target: NDArray[np.intp]
    """For each column the nearest row."""

    def plan(self, a: ArrayLike, b: ArrayLike) -> Plan:
        """The flow behind the bound; it keeps the weights of one side only."""
        rows, columns = normalise_weights(a, what="a"), normalise_weights(b, what="b")
        flow = np.zeros((rows.size, columns.size))
        if self.rows_move:
            flow[np.arange(rows.size), self.row_target] = rows
        else:
            flow[self.column_target, np.arange(columns.size)] = columns
        return Plan(self.cost, flow)


def relaxed_transport(a: ArrayLike, b: ArrayLike, costs: Iterable[NDArray[np.float64]]) -> RelaxedBound:
    """The bound for weights `a` of the rows and `b` of the columns; `costs` are blocks of rows of the matrix.

    Points without mass receive none.

    >>> relaxed_transport([1, 1], [3, 1], [np.array([[0.0, 2.0], [2.0, 1.0]])]).cost
    0.5
    """
    rows, columns = normalise_weights(a, what="a"), normalise_weights(b, what="b")
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


def sinkhorn_transport(
    a: ArrayLike,
    b: ArrayLike,
    cost: NDArray[np.float64],
    *,
    regularisation: float,
    stable: bool = True,
    most_iterations: int = MOST_ITERATIONS,
    check: Callable[[], None] | None = None,
) -> Plan:
    """The entropic plan, by the plain iteration or, if that fails, by the one on logarithms.

    The cost does not include the entropy. The second iteration takes ten times as long, and seconds for
    regularisation .001. `stable=False` always uses the plain iteration, as in the released BaryScore. A plan that has
    not converged violates a marginal. `check` is called every tenth iteration and can raise an exception to stop.

    >>> round(sinkhorn_transport([1, 1], [1, 1], np.array([[0.0, 2.0], [2.0, 0.0]]), regularisation=0.1).cost, 6)
    0.0
    """
    if not regularisation > 0:
        msg = f"the regularisation of a Sinkhorn distance must be a number above 0, got {regularisation!r}"
        raise RecipeError(msg)
    rows, columns = normalise_weights(a, what="a"), normalise_weights(b, what="b")
    keep = np.ix_(rows > 0, columns > 0)
    problem = rows[rows > 0], columns[columns > 0], np.ascontiguousarray(cost[keep])
    run = partial(_iterate, *problem, regularisation, most=most_iterations, stop=_Stop(_STOP, check))
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence is returned instead
        plan, converged = run("sinkhorn")
    if stable and not converged:
        plan, converged = run("sinkhorn_log")  # this one does not warn
    flow = np.zeros_like(cost)
    flow[keep] = plan
    return Plan(float(np.vdot(flow, cost)), flow, converged)


class _Stop(np.float64):
    """A stopping criterion with a callback: POT has none, but compares its error with this number."""

    def __new__(cls, value: float, check: Callable[[], None] | None) -> _Stop:
        criterion = super().__new__(cls, value)
        criterion._check = check
        return criterion

    _check: Callable[[], None] | None

    def __gt__(self, error: Any) -> Any:  # for `error < stop`, Python first calls the operand of the derived type
        if self._check is not None:
            self._check()
        return super().__gt__(error)


def _iterate(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    cost: NDArray[np.float64],
    reg: float,
    method: str,
    *,
    most: int,
    stop: _Stop,
) -> tuple[NDArray[np.float64], bool]:
    import ot

    with np.errstate(all="ignore"):
        plan, log = ot.sinkhorn(a, b, cost, reg, method=method, numItermax=most, stopThr=stop, log=True, warn=False)
    converged = bool(log["err"]) and log["err"][-1] < _STOP and bool(np.isfinite(plan).all())
    return plan, bool(converged)


def regularisation(solver: str) -> float:
    """The number in `sinkhorn-R`.

    >>> regularisation("sinkhorn-0.05")
    0.05
    """
    try:
        value = float(solver.removeprefix(SINKHORN)) if solver.startswith(SINKHORN) else math.nan
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        msg = f"solver must be {EXACT}, {RELAXED}, or {SINKHORN}R with a number R above 0, got {solver!r}"
        raise RecipeError(msg)
    return value


def solve(
    solver: str, a: ArrayLike, b: ArrayLike, costs: NDArray[np.float64], *, check: Callable[[], None] | None = None
) -> Plan:
    """Move the weights `a` (rows) onto `b` (columns), with a solver by name.

    `check` is called regularly while the solver iterates, and can raise an exception to stop.

    >>> costs = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> solve("exact", [3, 1], [1, 3], costs).cost, solve("relaxed", [3, 1], [1, 3], costs).cost
    (1.0, 0.0)
    """
    if solver == EXACT:
        return exact_transport(a, b, costs)
    if solver == RELAXED:
        return relaxed_transport(a, b, [costs]).plan(a, b)
    return sinkhorn_transport(a, b, costs, regularisation=regularisation(solver), check=check)


def trim_flow(flow: ArrayLike, cost: ArrayLike, *, share: float = 0.3) -> Plan:
    """Remove the masses below the k-th smallest, and compute the cost of the others.

    >>> trim_flow([[0.5, 0.1], [0.0, 0.4]], [[1.0, 2.0], [9.0, 3.0]], share=0.7).flow.tolist()
    [[0.5, 0.0], [0.0, 0.4]]
    """
    mass, price = np.asarray(flow, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    if mass.shape != price.shape or mass.ndim != 2:
        msg = f"flow and cost must be matrices of one shape, got {mass.shape} and {price.shape}"
        raise InputError(msg)
    if not 0 <= share < 1:
        msg = f"share must be at least 0 and below 1, got {share!r}"
        raise RecipeError(msg)
    is_positive = mass > NOTHING
    values = np.sort(mass[is_positive])
    trimmed = mass
    if len(values):
        threshold = values[max(int(share * len(values)), 1) - 1]
        # The tolerance keeps all of several equal masses, which can differ in their last bits.
        trimmed = np.where(is_positive & (mass >= threshold * (1 - NOTHING)), mass, 0.0)
    return Plan(float((trimmed * price).sum()), trimmed)


class Barycentre(NamedTuple):
    """Points of a barycentre, with the work to find them."""

    points: NDArray[np.float64]
    steps: int
    """Number of iterations; 1 if the start was the solution."""
    solved: int
    """Transport problems that needed the solver."""


def free_support_barycentre(
    clouds: Sequence[NDArray[np.float64]],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    most_steps: int = 1000,
    stop: float = 1e-7,
) -> Barycentre:
    """Iterate from `start` until the points' total squared movement is at most `stop`.

    All clouds and the barycentre have the same weights. If every point of the barycentre is closer to its own
    counterpart than to any other, moving each point to its counterpart is the cheapest plan, and no solver is needed.
    That is the usual case for the layers of an encoder.
    """
    check_size(len(start), len(start), what="a barycentre", instead="score shorter texts, or with another metric")
    points, solved, steps = start, 0, 0
    moved = np.inf
    while moved > stop and steps < most_steps:
        steps += 1
        target = np.zeros_like(points)
        for cloud in clouds:
            cost = squared_distances(points, cloud)
            if (cost.diagonal() <= cost.min(axis=1)).all():
                target += cloud
            else:
                plan = exact_transport(weights, weights, cost)
                target += (plan.flow @ cloud) / weights[:, None]
                solved += 1
        target /= len(clouds)
        moved = float(((target - points) ** 2).sum())
        points = target
    return Barycentre(points, steps, solved)


def barycentre_from_origin(layers: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Barycentre of the layers' unit vectors under uniform weights, from X = 0, by POT's own function.

    At X = 0 every cost is 1, so the first plan is arbitrary, and rounding decides between local optima. The vectors
    are scaled in float64, in which ties are most nearly exact.
    """
    import ot

    check_size(len(layers[0]), len(layers[0]), what="a barycentre", instead="score shorter texts")
    clouds = []
    for layer in layers:
        wide = layer.astype(np.float64)
        clouds.append(wide / np.linalg.norm(wide, axis=1, keepdims=True))
    weights = np.full(len(clouds[0]), 1 / len(clouds[0]))
    points: NDArray[np.float64] = ot.lp.free_support_barycenter(
        clouds, [weights] * len(clouds), np.zeros_like(clouds[0]), b=weights, numItermax=1000, stopThr=1e-7
    )
    return points
