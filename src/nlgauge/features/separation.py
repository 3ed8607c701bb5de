"""How well a feature tells hypotheses from references: its discriminativeness.

    D = |{(hyp, ref): R(ref) < R(hyp)}| / N        Eq. 4 of the DiscoScore paper

The paper's Table 11 turns it round: its "D > 0" is the share of pairs with R(ref) > R(hyp) (D6.10). Both shares stand
here, by what they count. As in that table, pairs of equal texts are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Separation", "separate"]


class Separation(NamedTuple):
    """Shares of pairs of a hypothesis and a reference, by which of the two has more of a feature."""

    hypothesis_higher: float
    """D of Eq. 4; "D < 0" of Table 11."""
    equal: float
    reference_higher: float
    """"D > 0" of Table 11."""
    pairs: int
    identical: int = 0
    """Pairs of equal texts, which are left out."""


def separate(pairs: Iterable[tuple[float, float]], *, identical: int = 0) -> Separation | None:
    """The shares over pairs of a feature's values, the hypothesis first; None where there is no pair.

    >>> separate([(2, 1), (3, 1), (0, 1), (1, 1)])
    Separation(hypothesis_higher=0.5, equal=0.25, reference_higher=0.25, pairs=4, identical=0)
    """
    values = list(pairs)
    if not values:
        return None
    count = len(values)
    higher = sum(ours > theirs for ours, theirs in values)
    lower = sum(ours < theirs for ours, theirs in values)
    return Separation(higher / count, (count - higher - lower) / count, lower / count, count, identical)
