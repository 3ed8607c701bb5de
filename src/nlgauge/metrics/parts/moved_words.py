"""Words of one text moved onto those of another, solved once for all parts of SentSim that ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import Cloud
from nlgauge.metrics.parts.transport_metric import Problem
from nlgauge.metrics.parts.wmdo import flow_links

__all__ = ["Moved", "Transport", "Words"]


class Transport(NamedTuple):
    """How words are moved."""

    solver: str
    links: bool
    """Whether the flow says which words match."""


class Moved(NamedTuple):
    """What moving one text's words onto another's came to."""

    cost: float
    links: tuple[tuple[int, int], ...] | None
    """Which words the flow matches, where that was asked for."""
    converged: bool


@dataclass(frozen=True, eq=False)
class Words:
    """Vectors of a text's tokens without special ones, and how they are spelt."""

    vectors: NDArray[np.float64]
    spell: Callable[[], tuple[str, ...]]
    moved: WeakKeyDictionary[Words, dict[Transport, Moved]] = field(default_factory=WeakKeyDictionary)

    @cached_property
    def spelt(self) -> tuple[str, ...]:
        """Asked for only where matches are equal words."""
        return self.spell()

    @cached_property
    def cloud(self) -> Cloud:
        """Tokens weigh the same."""
        return Cloud(self.vectors, np.ones(len(self.vectors)), self.spell)

    def move_to(self, other: Words, transport: Transport) -> Moved:
        """Solved once for wmd and wmdo."""
        known = self.moved.setdefault(other, {})
        if transport not in known:
            problem = Problem(self.cloud, other.cloud, partial(Cloud.distances, squared=False), transport.solver)
            links = flow_links(problem.plan.flow) if transport.links else None
            known[transport] = Moved(problem.cost, links, problem.converged)
        return known[transport]
