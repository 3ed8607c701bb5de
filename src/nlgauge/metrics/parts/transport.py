"""What metrics share that move one cloud onto another: the options, the problem, and the flow that a result shows.

Transport is solved exactly, or, for long texts, by something cheaper that the recipe names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Kind, as_text
from nlgauge.core.options import option
from nlgauge.encoders.run_context import current_run
from nlgauge.vectors.cloud import Cloud, Flow
from nlgauge.vectors.transport import (
    EXACT,
    RELAXED,
    SINKHORN,
    Plan,
    check_size,
    regularisation,
    relaxed_transport,
    solve,
)

#: Entries of a matrix of costs that are computed at once where no plan is needed.
_AT_ONCE = 2**24


class SolverName(Kind):
    """exact, relaxed, or sinkhorn-R."""

    @property
    def values(self) -> str:
        """The names."""
        return f"{EXACT}, {RELAXED}, or {SINKHORN}R with a regularisation R above 0, such as {SINKHORN}0.1"

    def check(self, value: Any) -> str:
        """One of the names, a regularisation as short as it can be."""
        solver = as_text(value)
        if solver in (EXACT, RELAXED):
            return solver
        return f"{SINKHORN}{Float().show(regularisation(solver))}"


@dataclass(frozen=True, eq=False)
class Problem:
    """Hypothesis x and reference y with what it costs to move a unit of mass from each point to each other."""

    x: Cloud
    y: Cloud
    cost_between: Callable[[Cloud, Cloud], NDArray[np.float64]]
    solver: str = EXACT

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """From each point of x to each of y."""
        check_size(
            len(self.x),
            len(self.y),
            what="transport",
            instead="use the lower bound solver=relaxed, which needs no such matrix",
        )
        return self.cost_between(self.x, self.y)

    @cached_property
    def plan(self) -> Plan:
        """The solver's plan, solved where somebody asks for it."""
        return solve(self.solver, self.x.weights, self.y.weights, self.costs, check=current_run().check)

    @property
    def cost(self) -> float:
        """What moving all mass costs, by the solver; for a bound of large clouds no plan is made."""
        if self.solver != RELAXED or len(self.x) * len(self.y) <= _AT_ONCE:
            return self.plan.cost
        return relaxed_transport(self.x.weights, self.y.weights, self._parts()).cost

    @property
    def converged(self) -> bool:
        """Whether the solver came to rest."""
        return self.solver in (EXACT, RELAXED) or self.plan.converged

    def _parts(self) -> Iterator[NDArray[np.float64]]:
        """The costs, some rows at a time."""
        points, weights = self.x.points, self.x.weights
        step = max(1, _AT_ONCE // len(self.y))
        for start in range(0, len(points), step):
            rows = slice(start, start + step)
            yield self.cost_between(Cloud(points[rows], weights[rows]), self.y)

    def flow(self) -> Flow:
        """The plan as a result shows it."""
        return Flow.of(self.x, self.y, self.plan.flow, self.costs)


def mean_length(cloud: Cloud | None, lengths: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """Mean distance of a text's points to the origin, where an empty text stands; `lengths` gives one per point."""
    if cloud is None:
        return 0.0
    return float(lengths(cloud.points) @ cloud.weights / cloud.weights.sum())


def solver_option() -> Any:
    """The option of metrics that move one cloud onto another."""
    return option(
        EXACT,
        SolverName(),
        help="transport solver; relaxed: fast lower bound; sinkhorn-R: entropic with regularisation R",
        optional=True,
    )


def multiref_option() -> Any:
    """The rule for several references that `VectorMetric.finish` follows."""
    return option("mean", Choice("mean", "best"), help="how to combine several references (published: mean)")
