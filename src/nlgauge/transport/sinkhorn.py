"""Entropic optimal transport (Cuturi 2013), for the Sinkhorn values of BaryScore.

    T_reg = argmin_T <T, C> - reg * entropy(T)   over plans from a to b;   the value is <T_reg, C>

POT computes it. Its plain iteration multiplies by exp(-C / reg), which underflows to 0 where reg is small
beside the costs: it then stops and returns what it has, near 0 for costs of 1 and reg = .001. The same
iteration on logarithms does not. Whether an iteration converged is part of the result.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import RecipeError
from nlgauge.transport.exact import normalised_weights

__all__ = ["EntropicPlan", "sinkhorn_transport"]

#: The released BaryScore stops after so many iterations.
MOST_ITERATIONS = 10_000

#: POT's stop: the error of the marginals, looked at every tenth iteration.
_STOP = 1e-9

#: Filters of warnings belong to the process: two threads that change and restore them must not interleave. Only the
#: plain iteration needs it, which takes a moment: the one on logarithms may take minutes.
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
    check: Callable[[], None] | None = None,
) -> EntropicPlan:
    """The plan of `regularisation`, by the plain iteration and, where that fails, by the one on logarithms.

    The second takes ten times as long, and seconds for regularisation .001. `stable=False` returns what the
    plain one has, as the released BaryScore does. A plan that is not at rest misses a marginal. `check` is called
    every tenth iteration, and may raise to end the work.

    >>> round(sinkhorn_transport([1, 1], [1, 1], np.array([[0.0, 2.0], [2.0, 0.0]]), regularisation=0.1).cost, 6)
    0.0
    """
    if not regularisation > 0:
        msg = f"the regularisation of a Sinkhorn distance is a number above 0, got {regularisation!r}"
        raise RecipeError(msg)
    rows, columns = normalised_weights(a, what="a"), normalised_weights(b, what="b")
    keep = np.ix_(rows > 0, columns > 0)
    problem = rows[rows > 0], columns[columns > 0], np.ascontiguousarray(cost[keep])
    run = partial(_iterate, *problem, regularisation, most=most_iterations, stop=_Stop(_STOP, check))
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what POT warns of is in the second value
        plan, rest = run("sinkhorn")
    if stable and not rest:
        plan, rest = run("sinkhorn_log")  # without a warning
    flow = np.zeros_like(cost)
    flow[keep] = plan
    return EntropicPlan(float(np.vdot(flow, cost)), flow, rest)


class _Stop(np.float64):
    """POT's stop. POT has no callback, but compares the error with this number every tenth iteration."""

    def __new__(cls, value: float, check: Callable[[], None] | None) -> _Stop:
        made = super().__new__(cls, value)
        made._check = check
        return made

    _check: Callable[[], None] | None

    def __gt__(self, error: Any) -> Any:  # `error < stop`: Python asks the operand of the derived type first
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
    rest = bool(log["err"]) and log["err"][-1] < _STOP and bool(np.isfinite(plan).all())
    return plan, bool(rest)
