"""Ways to say what it costs to move one cloud onto another, by name.

exact         the cheapest plan: the earth mover's distance
sinkhorn-R    the plan of entropic transport with regularisation R, without its entropy: at least as much
relaxed       a lower bound without a plan: at most as much

"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import RecipeError
from nlgauge.transport.exact import exact_transport
from nlgauge.transport.relaxed import relaxed_transport
from nlgauge.transport.sinkhorn import sinkhorn_transport

__all__ = ["EXACT", "RELAXED", "SINKHORN", "Solution", "regularisation", "solve"]

EXACT, RELAXED, SINKHORN = "exact", "relaxed", "sinkhorn-"


class Solution(NamedTuple):
    """A plan, what it costs, and whether it was found."""

    cost: float
    flow: NDArray[np.float64]
    """Mass moved from each row to each column; of the relaxed bound only one side keeps its weights."""
    converged: bool = True


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
        msg = f"a solver is {EXACT}, {RELAXED}, or {SINKHORN}R with a number R above 0, got {solver!r}"
        raise RecipeError(msg)
    return value


def solve(
    solver: str,
    a: ArrayLike,
    b: ArrayLike,
    costs: NDArray[np.float64],
    *,
    check: Callable[[], None] | None = None,
) -> Solution:
    """What it costs to move the weights `a` (rows) onto `b` (columns), by the solver of that name.

    `check` is called now and then while the solver iterates, and may raise to end the work.

    >>> costs = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> solve("exact", [3, 1], [1, 3], costs).cost, solve("relaxed", [3, 1], [1, 3], costs).cost
    (1.0, 0.0)
    """
    if solver == EXACT:
        return Solution(*exact_transport(a, b, costs))
    if solver == RELAXED:
        return Solution(*relaxed_transport(a, b, [costs]).plan(a, b))
    return Solution(*sinkhorn_transport(a, b, costs, regularisation=regularisation(solver), check=check))
