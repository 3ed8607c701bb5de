"""The same scores, paired in another way: Figure 2 and appendix A.1 of *Better than Average*.

Instances are of several types, and a system has a mean score for each. Which of a system's types meets which of the
other's is then permuted: every score stays, so mean and median cannot move, while who wins on most instances does.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.compare.bradley_terry import bradley_terry
from nlgauge.compare.rankings import win_counts
from nlgauge.published.rankings.table import BT_TOLERANCE, RankingOptions

__all__ = ["FIVE_TYPES", "THREE_TYPES", "Pairing", "TypedSystems", "draw_pairings"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class TypedSystems:
    """Mean scores of two systems by type of instance, and how they are drawn."""

    name: str
    first: tuple[float, ...]
    second: tuple[float, ...]
    deviation: float
    per_type: int = 50


#: Table 2 of the paper, and what the released notebook draws Figure 2 from.
FIVE_TYPES = TypedSystems("five types", (23, 50, 40, 70, 60), (28, 45, 30, 65, 50), 1.0)
THREE_TYPES = TypedSystems("three types", (23, 50, 40), (28, 45, 30), 3.0)


class Pairing(NamedTuple):
    """One way to pair the scores of S and B."""

    order: tuple[int, ...]
    """Which type of S meets the first, second, ... type of B, from 1."""
    scores: Matrix
    """Instances x 2: S, B."""
    wins: float
    """Share of instances on which S is better."""
    strengths: Matrix
    """Bradley-Terry, S and B."""


def draw_pairings(systems: TypedSystems, options: RankingOptions) -> list[Pairing]:
    """All pairings of the same drawn scores, in lexical order; the first is the one that is given."""
    rng = np.random.default_rng(options.seed)
    size = (systems.per_type, len(systems.first))
    first = rng.normal(systems.first, systems.deviation, size)
    second = rng.normal(systems.second, systems.deviation, size).ravel(order="F")
    made = []
    for order in itertools.permutations(range(len(systems.first))):
        scores = np.column_stack([first[:, order].ravel(order="F"), second])
        wins = win_counts(scores, ties=options.ties, tolerance=options.tie_tolerance)
        share = float((scores[:, 0] > scores[:, 1]).mean())
        made.append(
            Pairing(
                tuple(at + 1 for at in order), scores, share, bradley_terry(wins, tolerance=BT_TOLERANCE).strengths
            )
        )
    return made
