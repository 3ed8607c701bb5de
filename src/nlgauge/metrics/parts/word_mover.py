"""Words of one text moved onto those of another, and whether their order is kept (WMDo; Chow et al. 2019).

    WMDo = WMD - gamma * (1/2 - chunks / matches),  gamma = 0.2

A match is a word of one text with its word in the other; a chunk is a longest run of matches that follow each other
in both texts. One chunk for all words (the same order) takes nearly gamma/2 off the distance, a chunk for each word
(scrambled) adds gamma/2.

Matches come as links (SentSim: METEOR's alignment of words) or from the flow of the distance itself: each row's
largest share of mass. As in SentSim's code, a pair without a match has chunks / matches = 0, so it is rewarded as if
its order were better than perfect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nlgauge.metrics.parts.transport_metric import Problem
from nlgauge.vectors.cloud import Cloud

GAMMA = 0.2


def chunks(links: Iterable[tuple[int, int]]) -> int:
    """Longest runs of links whose words follow each other in both texts.

    >>> chunks([(0, 0), (1, 1), (2, 5), (3, 6), (4, 2)])
    3
    """
    ordered = sorted(links)
    breaks = sum(later != (earlier[0] + 1, earlier[1] + 1) for earlier, later in pairwise(ordered))
    return breaks + 1 if ordered else 0


def flow_links(flow: NDArray[np.float64]) -> tuple[tuple[int, int], ...]:
    """Each row with the column that gets most of its mass (the first of equals); a row without mass has no link."""
    nearest = flow.argmax(axis=1).tolist()
    return tuple((row, column) for row, column in enumerate(nearest) if flow[row, column] > 0)


def equal_word_links(words: Sequence[str], others: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Each word with the first equal one that is still free, from left to right.

    >>> equal_word_links(["a", "cat", "a"], ["a", "dog", "a"])
    ((0, 0), (2, 2))
    """
    free: dict[str, list[int]] = {}
    for place, word in enumerate(others):
        free.setdefault(word, []).append(place)
    return tuple((place, free[word].pop(0)) for place, word in enumerate(words) if free.get(word))


def wmdo(distance: float, links: Sequence[tuple[int, int]]) -> float:
    """The word mover's distance with the term for order, from -gamma/2 to gamma/2; it can fall below 0.

    >>> wmdo(0.0, [(0, 0), (1, 1), (2, 2), (3, 3)])
    -0.05
    """
    fragments = chunks(links) / len(links) if links else 0.0
    return distance + -GAMMA * (0.5 - fragments)


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
        return Cloud(self.vectors, np.ones(len(self.vectors)))

    def move_to(self, other: Words, transport: Transport) -> Moved:
        """Solved once for wmd and wmdo."""
        known = self.moved.setdefault(other, {})
        if transport not in known:
            problem = Problem(self.cloud, other.cloud, partial(Cloud.distances, squared=False), transport.solver)
            links = flow_links(problem.plan.flow) if transport.links else None
            known[transport] = Moved(problem.cost, links, problem.converged)
        return known[transport]
