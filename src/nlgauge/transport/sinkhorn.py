"""Entropic optimal transport (Cuturi 2013), for the Sinkhorn values of BaryScore.

    T_reg = argmin_T <T, C> - reg * entropy(T)   over plans from a to b;   the value is <T_reg, C>

POT computes it. Its plain iteration multiplies by exp(-C / reg), which underflows to 0 where reg is small
beside the costs: it then stops and returns what it has, near 0 for costs of 1 and reg = .001. The same
iteration on logarithms does not. Whether an iteration converged is part of the result.
"""

from __future__ import annotations

import threading
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import RecipeError
from nlgauge.transport.exact import normalised_weights

__all__ = ["EntropicPlan", "sinkhorn_transport"]

#: The released BaryScore stops after so many iterations.
MOST_ITERATIONS = 10_000

#: POT's stop: the error of the marginals, looked at every tenth iteration.
_STOP = 1e-9

#: Filters of warnings belong to the process: two threads that change and restore them must not interleave.
_QUIET = threading.Lock()


class EntropicPlan(NamedTuple):
    """The entropic plan, what it costs (without the entropy), and whether the iteration came to rest."""

    cost: float
    flow: NDArray[np.float64]
    converged: bool


def sinkhorn_transport(
    a: ArrayLike,
    b: ArrayLike,
    cost: NDArray[np.float64],
    *,
    regularisation: float,
    stable: bool = True,
    most_iterations: int = MOST_ITERATIONS,
) -> EntropicPlan:
    """The plan of `regularisation`, by the plain iteration and, where that fails, by the one on logarithms.

    The second takes ten times as long, and seconds for regularisation .001. `stable=False` returns what the
    plain one has, as the released BaryScore does. A plan that is not at rest misses a marginal.

    >>> round(sinkhorn_transport([1, 1], [1, 1], np.array([[0.0, 2.0], [2.0, 0.0]]), regularisation=0.1).cost, 6)
    0.0
    """
    if not regularisation > 0:
        msg = f"the regularisation of a Sinkhorn distance is a number above 0, got {regularisation!r}"
        raise RecipeError(msg)
    rows, columns = normalised_weights(a, what="a"), normalised_weights(b, what="b")
    keep = np.ix_(rows > 0, columns > 0)
    problem = rows[rows > 0], columns[columns > 0], np.ascontiguousarray(cost[keep])
    plan, rest = _iterate(*problem, regularisation, "sinkhorn", most_iterations)
    if stable and not rest:
        plan, rest = _iterate(*problem, regularisation, "sinkhorn_log", most_iterations)
    flow = np.zeros_like(cost)
    flow[keep] = plan
    return EntropicPlan(float(np.vdot(flow, cost)), flow, rest)


def _iterate(
    a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64], reg: float, method: str, most: int
) -> tuple[NDArray[np.float64], bool]:
    import ot

    with _QUIET, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what POT warns of is in the second value
        plan, log = ot.sinkhorn(a, b, cost, reg, method=method, numItermax=most, stopThr=_STOP, log=True)
    rest = bool(log["err"]) and log["err"][-1] < _STOP and bool(np.isfinite(plan).all())
    return plan, bool(rest)
