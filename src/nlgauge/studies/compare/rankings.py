"""Rankings of systems by their scores, how far two rankings differ, and the pairs of systems that swap places.

A matrix of scores is instances x systems, higher is better. `i beats j` on an instance where its score is higher by
more than the tie tolerance, a share of the larger of the two scores: sums of floating-point numbers that are equal on
paper differ in their last bits, and the winner must not depend on those.

A pair flips where the first system is ahead under the base setting and behind under the other. The flip is
significant only if both orders are: each is tested by a paired bootstrap over the segments that both systems have,
and the flip's p is the larger of the two (the intersection-union test). No correction for the number of pairs is
made; the number of listed flips says how many were tested. Segments of one document are not independent: where
documents are named, whole documents are drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.numeric import blocks
from nlgauge.stats.paired_tests import paired_order
from nlgauge.studies.compare.comparison import TiePolicy
from nlgauge.studies.compare.system_scores import Matrix

#: Scores of systems, higher is better: by system, the score of each of its segments (`ScoreTable.by_system`).
SegmentScores: TypeAlias = Mapping[str, Mapping[str, float]]

#: Fewest common segments (or documents) for a bootstrap.
_LEAST = 5


def system_means(scores: SegmentScores) -> dict[str, float]:
    """Mean of each system over its own segments."""
    return {system: float(np.mean(list(segments.values()))) for system, segments in scores.items()}


@dataclass(frozen=True)
class Flip:
    """Two systems whose order differs between the base setting and another one."""

    ahead: str
    """Ahead under the base setting, behind under the other."""
    behind: str
    setting: str
    base_difference: float
    """Difference of the means under the base setting, ahead minus behind: above 0."""
    difference: float
    """Difference of the means under the other setting: below 0."""
    base_p: float | None
    """One-sided p of the order under the base setting; None where the systems share too few segments (documents)."""
    p: float | None
    """The larger p of the two orders: small where both are significant, so the setting decides the winner."""
    significant: bool


def rank_agreement(base: SegmentScores, other: SegmentScores) -> float | None:
    """Kendall's tau-b between the two rankings; None where it has no value (all means tie, one system)."""
    first, second = system_means(base), system_means(other)
    if len(first) < 2:
        return None
    tau = correlate(
        [first[name] for name in first], [second[name] for name in first], kind="kendall", undefined="nan"
    )
    return None if np.isnan(tau.value) else tau.value


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
    """Pairs of systems whose order differs, the most significant flips first.

    `documents` names the document of each segment; whole documents are drawn then.
    """
    first, second = system_means(base), system_means(other)

    def order_p(scores: SegmentScores, ahead: str, behind: str) -> float:
        """p of the order of two systems, over the segments that both have."""
        names = [name for name in scores[ahead] if name in scores[behind]]
        values = (np.array([scores[system][name] for name in names]) for system in (ahead, behind))
        clusters = None if documents is None else [documents[name] for name in names]
        return paired_order(*values, clusters=clusters, resamples=resamples, seed=seed)

    flips = []
    for a, b in itertools.combinations(first, 2):
        ahead, behind = (a, b) if first[a] > first[b] else (b, a)
        before, after = first[ahead] - first[behind], second[ahead] - second[behind]
        if not (before > 0 and after < 0):
            continue
        base_p = p = None
        units = {documents[name] if documents else name for name in base[ahead] if name in base[behind]}
        if len(units) >= _LEAST:
            base_p = order_p(base, ahead, behind)
            p = max(base_p, order_p(other, behind, ahead))
        flips.append(Flip(ahead, behind, setting, before, after, base_p, p, p is not None and p < alpha))
    return tuple(sorted(flips, key=lambda flip: (1.0 if flip.p is None else flip.p, flip.ahead, flip.behind)))


class Wins(NamedTuple):
    """Numbers of wins and ties of all pairs of systems (systems x systems)."""

    strict: NDArray[np.int64]
    """Instances on which the row's system beats the column's."""
    ties: NDArray[np.int64]
    """Instances on which the two tie; 0 on the diagonal."""


def mean_scores(matrix: Matrix) -> Matrix:
    """Mean of every system over instances."""
    return np.asarray(np.mean(matrix, axis=0), dtype=np.float64)


def median_scores(matrix: Matrix) -> Matrix:
    """Median of every system over instances; of an even number the middle of the two in the middle."""
    return np.asarray(np.median(matrix, axis=0), dtype=np.float64)


def round_ties(values: Matrix, *, tolerance: float = 1e-9) -> Matrix:
    """Make values equal that differ only in their last bits, so that no rank depends on these.

    >>> round_ties(np.array([0.1 + 0.2, 0.5, 0.3])).tolist()
    [0.30000000000000004, 0.5, 0.30000000000000004]
    """
    order = np.argsort(-values, kind="stable")
    level = values[order]
    for i in range(1, level.size):
        if level[i - 1] - values[order[i]] <= tolerance * max(abs(level[i - 1]), abs(values[order[i]])):
            level[i] = level[i - 1]
    return level[np.argsort(order)]


def outcomes(first: Matrix, second: Matrix, *, tolerance: float) -> NDArray[np.int8]:
    """1 where the first score is higher, -1 where the second is, 0 where they tie.

    >>> outcomes(np.array([1.0, 0.5, 0.1 + 0.2]), np.array([0.5, 1.0, 0.3]), tolerance=1e-9).tolist()
    [1, -1, 0]
    """
    difference = first - second
    limit = tolerance * np.maximum(np.abs(first), np.abs(second)) if tolerance else 0.0
    return (difference > limit).view(np.int8) - (difference < -limit).view(np.int8)


def pair_columns(matrix: Matrix, systems: NDArray[np.intp]) -> Matrix:
    """Columns of a matrix, contiguous in memory, which makes work column by column faster."""
    return np.ascontiguousarray(matrix.T)[systems].T


def count_wins(matrix: Matrix, *, tolerance: float = 1e-9) -> Wins:
    """Wins and ties of all pairs of systems."""
    n, k = matrix.shape
    strict, ties = (np.zeros((k, k), dtype=np.int64) for _ in range(2))
    rows, columns = np.triu_indices(k, 1)
    for part in blocks(rows.size, n):
        i, j = rows[part], columns[part]
        results = outcomes(pair_columns(matrix, i), pair_columns(matrix, j), tolerance=tolerance)
        strict[i, j] = (results > 0).sum(axis=0)
        strict[j, i] = (results < 0).sum(axis=0)
        ties[i, j] = ties[j, i] = n - strict[i, j] - strict[j, i]
    return Wins(strict, ties)


def wins_with_ties(wins: Wins, ties: TiePolicy) -> Matrix:
    """Wins with ties counted by a policy: half a win for both, a win for the later column, or nothing (D1)."""
    strict, tied = wins.strict.astype(np.float64), wins.ties.astype(np.float64)
    if ties == "half":
        return strict + tied / 2
    if ties == "second":
        return strict + np.tril(tied)
    if ties == "drop":
        return strict
    msg = f"ties must be half, second or drop, got {ties!r}"
    raise InputError(msg)


def win_counts(matrix: ArrayLike, *, ties: TiePolicy = "half", tolerance: float = 1e-9) -> Matrix:
    """Wins of the row's system over the column's, for Bradley-Terry.

    `half` is the default because no other policy that uses ties is blind to the order of the columns: `second`, that
    of the released code of Peyrard et al. (2021), gives a tie to the later column. `drop` is blind too, but a system
    that ties everywhere then has no strength at all.

    >>> win_counts([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0]]).tolist()
    [[0.0, 2.5], [1.5, 0.0]]
    """
    return wins_with_ties(count_wins(np.asarray(matrix, dtype=np.float64), tolerance=tolerance), ties)


def condorcet_winner(strict: ArrayLike) -> int | None:
    """The system that wins more instances than it loses against each of the others, if there is one.

    >>> condorcet_winner([[0, 3, 2], [1, 0, 4], [1, 0, 0]])
    0
    """
    wins = np.asarray(strict)
    beats = wins > wins.T
    np.fill_diagonal(beats, val=True)
    winners = np.flatnonzero(beats.all(axis=1))
    return int(winners[0]) if winners.size and len(wins) > 1 else None


def disagreement(first: ArrayLike, second: ArrayLike) -> float:
    """(1 - tau_b) / 2, the measure of Peyrard et al. (2021); nan if a ranking is constant.

    Where nothing ties it is the share of the pairs of systems that two rankings order differently; where something
    does it is not (`disagreement_rate`).

    >>> disagreement([3.0, 2.0, 1.0], [2.0, 3.0, 1.0]) == 1 / 3
    True
    """
    if np.size(first) < 2:
        return float("nan")
    return (1 - correlate(first, second, kind="kendall", undefined="nan").value) / 2


def disagreement_rate(first: ArrayLike, second: ArrayLike) -> float:
    """Share of all pairs of systems that two rankings order in opposite ways; nan if one is constant.

    >>> disagreement_rate([3.0, 2.0, 2.0], [2.0, 3.0, 1.0]) == 1 / 3
    True
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if a.size < 2 or not (np.ptp(a) and np.ptp(b)):
        return float("nan")
    rows, columns = np.triu_indices(a.size, 1)
    return float(((a[rows] - a[columns]) * (b[rows] - b[columns]) < 0).mean())


def different_winner(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether two rankings have different winners; of equal systems the earlier column is first."""
    return bool(_top(first, 1) != _top(second, 1))


def different_top3(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether the best three of two rankings are different systems, in whatever order."""
    return bool(_top(first, 3) != _top(second, 3))


def _top(values: ArrayLike, count: int) -> set[int]:
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable")
    return set(order[:count].tolist())
