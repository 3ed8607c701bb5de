"""Which differences between systems do tests find, and do they find the same ones? Figure 6 of *Better than Average*.

Pairs of systems of all frames (or of random parts of their rows) are pooled. The table says of each test which share
of the pairs it finds different at .05, and of two tests how often the second agrees where the first finds one.
The sign test counts the wins of the system that Bradley-Terry prefers, with ties in n, as the released code does
(D4); the standard one, which drops them, stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nlgauge.compare.rankings import count_wins, pair_indices, policy_wins
from nlgauge.published.rankings.disagreement import draw_rows
from nlgauge.published.rankings.frames import FrameSet
from nlgauge.published.rankings.table import RankingOptions
from nlgauge.stats.paired_tests import mood, paired_t, sign_test, wilcoxon

__all__ = ["DRAWS_OF_FIGURE_6", "TESTS", "conditional_shares", "find_differences"]

#: In the order of the figure, and the sign test that drops ties.
TESTS = ("t", "Mood", "sign", "Wilcoxon", "sign, ties out")
DRAWS_OF_FIGURE_6 = 1000

_ALPHA = 0.05

Matrix = NDArray[np.float64]


def find_differences(sets: Sequence[FrameSet], options: RankingOptions) -> NDArray[np.bool_]:
    """Whether each test (columns, as in `TESTS`) finds a difference, for all pairs of systems (rows), pooled."""
    found = [_significant(part, options) for part in _parts(sets, options)]
    return np.concatenate(found) if found else np.zeros((0, len(TESTS)), dtype=bool)


def conditional_shares(found: NDArray[np.bool_]) -> Matrix:
    """Row i, column j: how often test j finds what test i finds; on the diagonal the share of all pairs.

    nan where test i finds nothing.

    >>> conditional_shares(np.array([[True, False], [True, True], [False, False], [True, False]])).round(2).tolist()
    [[0.75, 0.33], [1.0, 0.25]]
    """
    counts = found.astype(np.float64)
    own = counts.sum(axis=0)
    both = counts.T @ counts
    shares = np.divide(both, own[:, None], out=np.full_like(both, np.nan), where=own[:, None] > 0)
    np.fill_diagonal(shares, own / max(len(found), 1))
    return np.asarray(shares)


def _parts(sets: Sequence[FrameSet], options: RankingOptions) -> Iterator[Matrix]:
    """All frames; or a random fifth of the rows of a random frame, many times."""
    if options.full:
        yield from (frame.oriented for one in sets for frame in one.frames.values())
        return
    rng = np.random.default_rng(options.seed)
    for _ in range(options.draws or DRAWS_OF_FIGURE_6):
        one = sets[int(rng.integers(len(sets)))]
        frame = list(one.frames.values())[int(rng.integers(len(one.frames)))]
        (rows,) = draw_rows(rng, frame.n, repeats=1, least=1)
        yield frame.oriented[rows]


def _significant(scores: Matrix, options: RankingOptions) -> NDArray[np.bool_]:
    n, k = scores.shape
    i, j = pair_indices(k)
    first, second = scores[:, i], scores[:, j]
    counted = count_wins(scores, tolerance=options.tie_tolerance)
    wins, losses = counted.strict[i, j], counted.strict[j, i]
    credited = policy_wins(counted, options.ties)
    # Two systems: Bradley-Terry prefers the one with more wins, a tie being whose the policy says.
    preferred = credited[i, j] >= credited[j, i]
    better, worse = np.where(preferred, wins, losses), np.where(preferred, losses, wins)
    differences = np.where(np.isclose(first, second, rtol=options.tie_tolerance, atol=0), 0.0, first - second)
    p_values: Iterable[Matrix] = (
        paired_t(differences, np.ones(n)),
        mood(first, second),
        sign_test(better, worse, n - wins - losses),
        wilcoxon(differences),
        sign_test(wins, losses),
    )
    return np.stack([p < _ALPHA for p in p_values], axis=1)
