"""What metrics have in common that move one cloud onto another: flow, empty texts, several references."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Flow
from nlgauge.clouds.cloud import LabelledCloud
from nlgauge.errors import RecipeError
from nlgauge.recipes.metric import CloudMetric, Comparison, Finished, option
from nlgauge.transport import Plan, exact_transports

__all__ = ["MULTIREF_RULES", "Moved", "TransportMetric"]

State = TypeVar("State")

MULTIREF_RULES = ("mean", "best")

_NO_PLAN = Plan(np.nan, np.empty((0, 0)))


class Moved(NamedTuple):
    """Components of a hypothesis against a reference, made from the exact plan between them."""

    values: Sequence[float]
    converged: bool = True


@dataclass(frozen=True, kw_only=True)
class TransportMetric(CloudMetric[State, LabelledCloud], Generic[State]):
    """Hypothesis and reference are clouds; the exact plan between them, or its cost, is the score."""

    multiref: str = option("mean", parse=str, help="rule for several references: mean (as published) or best")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multiref not in MULTIREF_RULES:
            msg = f"multiref must be one of {', '.join(MULTIREF_RULES)}, got {self.multiref!r}"
            raise RecipeError(msg)

    @abstractmethod
    def costs(self, hypothesis: LabelledCloud, reference: LabelledCloud) -> NDArray[np.float64]:
        """What it costs to move a unit of mass from each point to each other."""

    @abstractmethod
    def moved(
        self, hypothesis: LabelledCloud, reference: LabelledCloud, costs: NDArray[np.float64], plan: Plan
    ) -> Moved:
        """Components, from the costs and from the exact plan (of cost nan where none is needed)."""

    @abstractmethod
    def value_of_empty(self, cloud: LabelledCloud) -> float:
        """Score of a text against an empty one; of two empty texts where the cloud is empty too.

        A similarity is 0; a distance, or what is made of one, is that to a cloud at the origin.
        """

    @property
    def needs_plan(self) -> bool:
        """Whether the exact plan is part of what was asked for."""
        return True

    def compare(
        self, hypothesis: LabelledCloud, references: Sequence[LabelledCloud], state: State, *, align: bool
    ) -> Comparison:
        values = np.zeros((len(references), len(self.components)))
        full = [row for row, reference in enumerate(references) if len(hypothesis) and len(reference)]
        costs = {row: self.costs(hypothesis, references[row]) for row in full}
        plans: list[Plan | None] = [None] * len(full)
        if self.needs_plan or align:
            problems = ((hypothesis.weights, references[row].weights, costs[row]) for row in full)
            plans = list(exact_transports(problems))
        flows: list[Flow | None] = [None] * len(references)
        zero = hypothesis.zero_weight or any(reference.zero_weight for reference in references)
        converged = True
        for row, plan in zip(full, plans, strict=True):
            reference = references[row]
            found = self.moved(hypothesis, reference, costs[row], plan or _NO_PLAN)
            values[row] = found.values
            converged = converged and found.converged
            if align and plan is not None:
                flows[row] = _flow(row, hypothesis, reference, plan.flow, costs[row])
        for row in set(range(len(references))) - set(full):
            values[row] = self.value_of_empty(hypothesis if len(hypothesis) else references[row])
        return Comparison(values, tuple(flows) if align else None, zero, not converged)

    def finish(self, comparisons: Sequence[Comparison], state: State) -> Finished:
        pick = np.argmax if self.higher_is_better else np.argmin
        main = self.components.index(self.main)
        best = np.array([int(pick(c.values[:, main])) for c in comparisons], dtype=np.int64)
        if self.multiref == "best":
            table = np.array([c.values[at] for c, at in zip(comparisons, best, strict=True)])
        else:
            table = np.array([c.values.mean(axis=0) for c in comparisons])
        return Finished({name: table[:, column].copy() for column, name in enumerate(self.components)}, best)


def _flow(
    index: int,
    hypothesis: LabelledCloud,
    reference: LabelledCloud,
    flow: NDArray[np.float64],
    costs: NDArray[np.float64],
) -> Flow:
    return Flow(
        reference_index=index,
        hypothesis_tokens=hypothesis.labels,
        reference_tokens=reference.labels,
        hypothesis_weight=flow.sum(axis=1),
        reference_weight=flow.sum(axis=0),
        flow=flow,
        cost=costs,
    )
