"""What metrics have in common that move one cloud onto another: flow, empty texts, several references."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Flow
from nlgauge.clouds.cloud import Cloud
from nlgauge.recipes.kinds import Choice
from nlgauge.recipes.metric import Comparison, Pair, State, SystemResult
from nlgauge.recipes.options import option
from nlgauge.recipes.profile import ProfiledMetric
from nlgauge.transport import Plan, exact_transport

__all__ = ["TransportMetric"]

_NO_PLAN = Plan(np.nan, np.empty((0, 0)))


@dataclass(frozen=True, kw_only=True)
class TransportMetric(ProfiledMetric[Cloud]):
    """Hypothesis and reference are clouds; the exact plan between them, or its cost, is the score."""

    empty_value: ClassVar[float | None] = None

    multiref: str = option(
        "mean", Choice("mean", "best"), help="rule for several references; mean is as published", short="mr"
    )

    @abstractmethod
    def cost(self, x: Cloud, y: Cloud) -> NDArray[np.float64]:
        """What it costs to move a unit of mass from each point to each other."""

    @abstractmethod
    def value(self, x: Cloud, y: Cloud, costs: NDArray[np.float64], plan: Plan) -> Pair:
        """Components, from the costs and from the exact plan (of cost nan where none is needed)."""

    @abstractmethod
    def value_of_empty(self, cloud: Cloud | None) -> float:
        """Score of a text against an empty one (None: of two empty texts).

        A similarity is 0; a distance, or what is made of one, is that to a cloud at the origin.
        """

    @property
    def needs_plan(self) -> bool:
        """Whether the exact plan is part of what was asked for."""
        return True

    def compare(self, x: Cloud | None, y: Cloud | None, state: State, *, align: bool) -> Pair:
        if x is None or y is None:
            return Pair([self.value_of_empty(y if x is None else x)] * len(self.components))
        costs = self.cost(x, y)
        plan = exact_transport(x.weights, y.weights, costs) if self.needs_plan or align else _NO_PLAN
        found = self.value(x, y, costs, plan)
        return found._replace(alignment=_flow(x, y, plan.flow, costs)) if align else found

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        return {system: self.joined(found, rule=self.multiref) for system, found in comparisons.items()}


def _flow(x: Cloud, y: Cloud, flow: NDArray[np.float64], costs: NDArray[np.float64]) -> Flow:
    return Flow(
        reference_index=0,
        hypothesis_tokens=x.labels,
        reference_tokens=y.labels,
        hypothesis_weight=flow.sum(axis=1),
        reference_weight=flow.sum(axis=0),
        flow=flow,
        cost=costs,
    )
