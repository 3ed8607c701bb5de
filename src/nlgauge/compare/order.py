"""Does a setting change who wins? Kendall's tau between two rankings of systems, and the pairs that swap places.

A pair flips where the first system is ahead under the base setting and behind under the other. What a reader would
conclude flips only if both orders hold up: each is tested by a paired bootstrap over the segments that both systems
have, and the flip's p is the larger of the two (the intersection-union test). No correction for the number of pairs
is made; the number of flips that are listed says how many were looked at in vain. Segments of one document are not
independent: where documents are named, whole documents are drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats import kendall, paired_order

__all__ = ["Flip", "SegmentScores", "common_segments", "find_flips", "rank_agreement", "system_means"]

#: Scores of systems, higher is better: by system, the score of each of its segments (`ScoreTable.by_system`).
SegmentScores: TypeAlias = Mapping[str, Mapping[str, float]]

#: Fewest common segments (or documents) for a bootstrap to say anything.
_LEAST = 5


def system_means(scores: SegmentScores) -> dict[str, float]:
    """Mean of each system over its own segments."""
    return {system: float(np.mean(list(found.values()))) for system, found in scores.items()}


def common_segments(
    scores: SegmentScores, one: str, other: str
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Segments that two systems both have, and the scores of either on them, in parallel."""
    left, right = scores[one], scores[other]
    both = [name for name in left if name in right]
    return both, np.array([left[name] for name in both]), np.array([right[name] for name in both])


@dataclass(frozen=True)
class Flip:
    """Two systems whose order differs between the base setting and another one."""

    ahead: str
    """Ahead under the base setting, behind under the other."""
    behind: str
    setting: str
    base_difference: float
    """Of the systems' means, ahead minus behind: above 0."""
    difference: float
    """The same under the other setting: below 0."""
    base_p: float | None
    """One-sided p of the order under the base setting; None where the systems share too few segments (documents)."""
    p: float | None
    """The larger p of the two orders: small where both hold up, so that the setting decides who wins."""
    significant: bool


def rank_agreement(base: SegmentScores, other: SegmentScores) -> float | None:
    """Kendall's tau-b between the two rankings; None where it has no value (all means tie, one system)."""
    first, second = system_means(base), system_means(other)
    if len(first) < 2:
        return None
    found = kendall([first[name] for name in first], [second[name] for name in first], undefined="nan")
    return None if np.isnan(found.value) else found.value


def find_flips(
    base: SegmentScores,
    other: SegmentScores,
    *,
    setting: str,
    documents: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    resamples: int = 1000,
    seed: int = 12345,
) -> tuple[Flip, ...]:
    """Pairs of systems whose order differs, those whose flip holds up best first.

    `documents` names the document of each segment; whole documents are drawn then.
    """
    first, second = system_means(base), system_means(other)
    found = []
    for one, two in itertools.combinations(first, 2):
        ahead, behind = (one, two) if first[one] > first[two] else (two, one)
        before, after = first[ahead] - first[behind], second[ahead] - second[behind]
        if not (before > 0 and after < 0):
            continue
        base_p = p = None
        units = {documents[name] if documents else name for name in base[ahead] if name in base[behind]}
        if len(units) >= _LEAST:
            draws = {"resamples": resamples, "seed": seed}
            base_p = _order_p(common_segments(base, ahead, behind), documents, **draws)
            p = max(base_p, _order_p(common_segments(other, behind, ahead), documents, **draws))
        found.append(Flip(ahead, behind, setting, before, after, base_p, p, p is not None and p < alpha))
    return tuple(sorted(found, key=lambda flip: (1.0 if flip.p is None else flip.p, flip.ahead, flip.behind)))


def _order_p(
    common: tuple[list[str], NDArray[np.float64], NDArray[np.float64]],
    documents: Mapping[str, str] | None,
    *,
    resamples: int,
    seed: int,
) -> float:
    names, first, second = common
    clusters = None if documents is None else [documents[name] for name in names]
    return paired_order(first, second, clusters=clusters, resamples=resamples, seed=seed).p
