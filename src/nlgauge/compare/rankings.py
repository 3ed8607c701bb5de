"""Rankings of systems by their scores, and how far two rankings are apart.

A matrix of scores is instances x systems, higher is better. `i beats j` on an instance where its score is higher by
more than the tie tolerance, a share of the larger of the two scores: sums of floating-point numbers that are equal on
paper differ in their last bits, and who wins must not hang on those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.compare.settings import TiePolicy
from nlgauge.compare.table import Matrix
from nlgauge.errors import InputError
from nlgauge.stats import kendall

__all__ = [
    "Wins",
    "condorcet_winner",
    "count_wins",
    "different_top3",
    "different_winner",
    "disagreement",
    "levelled",
    "mean_scores",
    "median_scores",
    "opposed_share",
    "outcomes",
    "pair_columns",
    "pair_indices",
    "policy_wins",
    "win_counts",
]

#: Comparisons held at once.
_CELLS = 4_000_000


class Wins(NamedTuple):
    """Who beats whom on how many instances, systems x systems."""

    strict: NDArray[np.int64]
    """Instances on which the row's system beats the column's."""
    ties: NDArray[np.int64]
    """Instances on which neither does; 0 on the diagonal."""


def mean_scores(matrix: Matrix) -> Matrix:
    """Mean of every system over instances."""
    return np.asarray(np.mean(matrix, axis=0), dtype=np.float64)


def median_scores(matrix: Matrix) -> Matrix:
    """Median of every system over instances; of an even number the middle of the two in the middle."""
    return np.asarray(np.median(matrix, axis=0), dtype=np.float64)


def levelled(values: Matrix, *, tolerance: float = 1e-9) -> Matrix:
    """Values that differ in their last bits only made equal, so that no rank hangs on those.

    >>> levelled(np.array([0.1 + 0.2, 0.5, 0.3])).tolist()
    [0.30000000000000004, 0.5, 0.30000000000000004]
    """
    order = np.argsort(-values, kind="stable")
    found = values[order]
    for at in range(1, found.size):
        if found[at - 1] - values[order[at]] <= tolerance * max(abs(found[at - 1]), abs(values[order[at]])):
            found[at] = found[at - 1]
    return found[np.argsort(order)]


def pair_indices(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of the first and the second system of every pair, in the order of `itertools.combinations`."""
    return np.triu_indices(k, 1)


def outcomes(first: Matrix, second: Matrix, *, tolerance: float) -> NDArray[np.int8]:
    """1 where the first score is higher, -1 where the second is, 0 where they tie.

    >>> outcomes(np.array([1.0, 0.5, 0.1 + 0.2]), np.array([0.5, 1.0, 0.3]), tolerance=1e-9).tolist()
    [1, -1, 0]
    """
    difference = first - second
    limit = tolerance * np.maximum(np.abs(first), np.abs(second)) if tolerance else 0.0
    return (difference > limit).view(np.int8) - (difference < -limit).view(np.int8)


def pair_columns(matrix: Matrix, at: NDArray[np.intp]) -> Matrix:
    """Columns of a matrix, one after another in memory: what is done column by column then is faster."""
    return np.ascontiguousarray(matrix.T)[at].T


def count_wins(matrix: Matrix, *, tolerance: float = 1e-9) -> Wins:
    """Wins and ties of all pairs of systems."""
    n, k = matrix.shape
    strict, ties = (np.zeros((k, k), dtype=np.int64) for _ in range(2))
    rows, columns = pair_indices(k)
    step = max(1, _CELLS // n)
    for start in range(0, rows.size, step):
        i, j = rows[start : start + step], columns[start : start + step]
        found = outcomes(pair_columns(matrix, i), pair_columns(matrix, j), tolerance=tolerance)
        strict[i, j] = (found > 0).sum(axis=0)
        strict[j, i] = (found < 0).sum(axis=0)
        ties[i, j] = ties[j, i] = n - strict[i, j] - strict[j, i]
    return Wins(strict, ties)


def policy_wins(wins: Wins, ties: TiePolicy) -> Matrix:
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
    return policy_wins(count_wins(np.asarray(matrix, dtype=np.float64), tolerance=tolerance), ties)


def condorcet_winner(strict: ArrayLike) -> int | None:
    """The system that wins more instances than it loses against each of the others, if there is one.

    >>> condorcet_winner([[0, 3, 2], [1, 0, 4], [1, 0, 0]])
    0
    """
    wins = np.asarray(strict)
    beats = wins > wins.T
    np.fill_diagonal(beats, val=True)
    found = np.flatnonzero(beats.all(axis=1))
    return int(found[0]) if found.size and len(wins) > 1 else None


def disagreement(first: ArrayLike, second: ArrayLike) -> float:
    """(1 - tau_b) / 2, the measure of Peyrard et al. (2021); nan if a ranking is constant.

    Where nothing ties it is the share of the pairs of systems that two rankings order differently; where something
    does it is not (`opposed_share`).

    >>> disagreement([3.0, 2.0, 1.0], [2.0, 3.0, 1.0]) == 1 / 3
    True
    """
    if np.size(first) < 2:
        return float("nan")
    return (1 - kendall(first, second, undefined="nan").value) / 2


def opposed_share(first: ArrayLike, second: ArrayLike) -> float:
    """Share of all pairs of systems that two rankings order in opposite ways; nan if one is constant.

    >>> opposed_share([3.0, 2.0, 2.0], [2.0, 3.0, 1.0]) == 1 / 3
    True
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if one.size < 2 or not (np.ptp(one) and np.ptp(other)):
        return float("nan")
    rows, columns = pair_indices(one.size)
    return float(((one[rows] - one[columns]) * (other[rows] - other[columns]) < 0).mean())


def different_winner(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether two rankings put different systems first; of equal ones the earlier column comes first."""
    return bool(_top(first, 1) != _top(second, 1))


def different_top3(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether the best three of two rankings are different systems, in whatever order."""
    return bool(_top(first, 3) != _top(second, 3))


def _top(values: ArrayLike, count: int) -> set[int]:
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable")
    return set(order[:count].tolist())
