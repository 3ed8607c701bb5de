"""The option that says how transport is solved: exactly, or, for long texts, by something cheaper that is named."""

from __future__ import annotations

from typing import Any

from nlgauge.recipes.kinds import Kind, Number, as_text
from nlgauge.recipes.options import option
from nlgauge.transport.solvers import EXACT, RELAXED, SINKHORN, regularisation

__all__ = ["SolverName", "solver_option"]


class SolverName(Kind):
    """exact, relaxed, or sinkhorn-R."""

    @property
    def values(self) -> str:
        """The names."""
        return f"{EXACT}, {RELAXED}, or {SINKHORN}R with a regularisation R above 0 ({SINKHORN}0.1)"

    def check(self, value: Any) -> str:
        """One of the names, a regularisation as short as it can be."""
        solver = as_text(value)
        if solver in (EXACT, RELAXED):
            return solver
        return f"{SINKHORN}{Number().show(regularisation(solver))}"


def solver_option() -> Any:
    """The option of metrics that move one cloud onto another."""
    return option(
        EXACT,
        SolverName(),
        help="how transport is solved: exact; relaxed is a lower bound; sinkhorn-R is entropic with regularisation R",
        short="so",
        optional=True,
    )
