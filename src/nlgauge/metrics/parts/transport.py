"""Optimal transport between two clouds: options, problem and resulting flow, shared by several metrics.

Transport is solved exactly. For long texts the recipe can choose a cheaper solver.
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

#: Entries of the cost matrix computed at once if no plan is needed.
_BLOCK_ENTRIES = 2**24


class SolverName(Kind):
    """exact, relaxed, or sinkhorn-R."""

    @property
    def values(self) -> str:
        """The names."""
        return f"{EXACT}, {RELAXED}, or {SINKHORN}R with a regularisation R above 0, such as {SINKHORN}0.1"

    def check(self, value: Any) -> str:
        """A solver name, with the regularisation in its shortest form."""
        solver = as_text(value)
        if solver in (EXACT, RELAXED):
            return solver
        return f"{SINKHORN}{Float().show(regularisation(solver))}"


@dataclass(frozen=True, eq=False)
class Problem:
    """Hypothesis x, reference y, and the cost of moving a unit of mass from each point of x to each of y."""

    x: Cloud
    y: Cloud
    cost_between: Callable[[Cloud, Cloud], NDArray[np.float64]]
    solver: str = EXACT

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """The cost matrix."""
        check_size(
            len(self.x),
            len(self.y),
            what="transport",
            instead="use the lower bound solver=relaxed, which needs no such matrix",
        )
        return self.cost_between(self.x, self.y)

    @cached_property
    def plan(self) -> Plan:
        """The solver's plan, computed on first use."""
        return solve(self.solver, self.x.weights, self.y.weights, self.costs, check=current_run().check)

    @property
    def cost(self) -> float:
        """The total cost; the relaxed bound of large clouds is computed without a plan."""
        if self.solver != RELAXED or len(self.x) * len(self.y) <= _BLOCK_ENTRIES:
            return self.plan.cost
        return relaxed_transport(self.x.weights, self.y.weights, self._cost_blocks()).cost

    @property
    def converged(self) -> bool:
        """Whether the solver converged."""
        return self.solver in (EXACT, RELAXED) or self.plan.converged

    def _cost_blocks(self) -> Iterator[NDArray[np.float64]]:
        """The cost matrix, some rows at a time."""
        points, weights = self.x.points, self.x.weights
        step = max(1, _BLOCK_ENTRIES // len(self.y))
        for start in range(0, len(points), step):
            rows = slice(start, start + step)
            yield self.cost_between(Cloud(points[rows], weights[rows]), self.y)

    def flow(self) -> Flow:
        """The plan with tokens and costs, as it is reported in results."""
        return Flow.of(self.x, self.y, self.plan.flow, self.costs)


def mean_length(cloud: Cloud | None, lengths: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """Mean distance of a text's points to the origin, which represents an empty text."""
    if cloud is None:
        return 0.0
    return float(lengths(cloud.points) @ cloud.weights / cloud.weights.sum())


def solver_option() -> Any:
    """The option for the transport solver."""
    return option(
        EXACT,
        SolverName(),
        help="transport solver; relaxed: fast lower bound; sinkhorn-R: entropic with regularisation R",
        optional=True,
    )


def multiref_option() -> Any:
    """The option for several references, which `VectorMetric.finish` applies."""
    return option("mean", Choice("mean", "best"), help="how to combine several references (published: mean)")
