"""Four experiments of *Better than Average*: disagreement of rankings, re-pairing, ties, and significance.

**Disagreement** of rankings by mean, median and Bradley-Terry on published frames: Tables 1, 3, 4 and Figure 4.
Tables 1 and 4 use all rows of every frame. The others use random samples of rows:

    Table 3             a fifth, 30 times per frame (inferred: the values in the paper are multiples of 1/30, D7)
    Figure 4, metrics   a fifth, but at least 30 rows, 20 times per frame
    Figure 4, tasks     a fifth of a random data set, 20 times per task
    Figure 4, sizes     10 to 5,000 rows, 20 times per frame (the number of times is ours)

**Re-pairing** the same scores: Figure 2 and appendix A.1. Instances are of several types, and a system has a mean
score for each. The types of one system are permuted against those of the other. All scores stay the same, so mean
and median cannot change, but the winner on most instances does.

**Ties**: how much of the difference between Bradley-Terry and the mean is due to ties. Two outputs with equal word
counts have the same ROUGE in theory. In a file they may differ in the last bit, because sums were added in another
order: such a tie is found only with a tolerance. The policy for ties then decides the order of systems (D1).

**Significance** tests and their agreement: Figure 6. Pairs of systems of all frames (or of random samples of rows)
are pooled. The table has the share of pairs with a significant difference (p < .05) for each test, and for two tests
the share of differences found by the first that the second finds too. The sign test counts the wins of the system
that Bradley-Terry prefers, with ties in n, as in the released code (D4); the standard sign test drops ties.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.paired_tests import mood, paired_t, sign_test, wilcoxon
from nlgauge.studies.compare.rankings import count_wins, wins_with_ties
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.paired_evaluation import (
    FrameSet,
    Matrix,
    RankingOptions,
    average,
    measure_pairs,
    rank_frame,
    rank_frames,
)

#: The columns of Table 3, in its order.
PAIRS = (("mean", "BT"), ("median", "BT"), ("mean", "median"))

DRAWS_OF_TABLE_3 = 30
_DRAWS_OF_FIGURE_4 = 20
_FIFTH = 0.2
_LEAST_OF_FIGURE_4 = 30


class Part(NamedTuple):
    """Measures of a pair of mechanisms, with standard errors over draws."""

    values: Matrix
    """Share of pairs, different winner, different top 3."""
    errors: Matrix
    """Standard errors; 0 if all rows are used."""


def disagreements(
    sets: Iterable[FrameSet], mechanisms: Sequence[str], options: RankingOptions
) -> dict[tuple[str, str], Matrix]:
    """Average the measures of each pair of mechanisms over all frames, on all rows."""
    measured = [
        measure_pairs(rank_frame(frame.oriented, mechanisms, options))
        for frame_set in sets
        for frame in frame_set.frames.values()
    ]
    pairs = itertools.combinations(mechanisms, 2)
    return {pair: average([measures[pair] for measures in measured]) for pair in pairs} if measured else {}


def by_data(frame_set: FrameSet, metrics: Sequence[str], options: RankingOptions) -> dict[tuple[str, str], Part]:
    """Table 3: a data set under a family of metrics (ROUGE is the mean of three)."""
    frames = [frame_set.frames[name] for name in metrics if name in frame_set.frames]
    draws = _draws(frames, options, repeats=DRAWS_OF_TABLE_3, least=1)
    return _measure_draws(frames, draws, options)


def by_metric(sets: Iterable[FrameSet], metric: str, options: RankingOptions) -> dict[tuple[str, str], Matrix]:
    """Figure 4(a): a metric over all data sets that have it."""
    parts = []
    for frame_set in sets:
        if metric in frame_set.frames:
            frames = [frame_set.frames[metric]]
            draws = _draws(frames, options, repeats=_DRAWS_OF_FIGURE_4, least=_LEAST_OF_FIGURE_4)
            parts.append(_measure_draws(frames, draws, options))
    return _mean_of_parts(parts)


def by_task(sets: Sequence[FrameSet], options: RankingOptions) -> dict[tuple[str, str], Matrix]:
    """Figure 4(b): a task over its metrics, with a random data set in each draw, or all rows of every data set."""
    if options.full:
        return _mean_of_parts([by_data(frame_set, list(frame_set.frames), options) for frame_set in sets])
    rng = np.random.default_rng(options.seed)
    drawn: dict[int, list[NDArray[np.intp]]] = {}
    for _ in range(options.draws or _DRAWS_OF_FIGURE_4):
        index = int(rng.integers(len(sets)))
        n = next(iter(sets[index].frames.values())).n
        drawn.setdefault(index, []).append(draw_rows(rng, n, repeats=1, least=1)[0])
    # Draws of one data set are ranked in one batch, which is faster.
    measured = [
        _per_draw(list(sets[index].frames.values()), np.stack(draws), options) for index, draws in drawn.items()
    ]
    return {pair: average([measures[pair] for measures in measured]) for pair in PAIRS}


def by_size(sets: Iterable[FrameSet], size: int, options: RankingOptions) -> dict[tuple[str, str], Matrix]:
    """Figure 4(c): samples of this number of rows, over all metrics of all data sets with at least as many rows."""
    parts = []
    for frame_set in sets:
        frames = list(frame_set.frames.values())
        n = frames[0].n
        if n >= size:
            rng = np.random.default_rng(options.seed)
            repeats = options.draws or _DRAWS_OF_FIGURE_4
            draws = np.stack([rng.choice(n, size, replace=False) for _ in range(repeats)])
            parts.append(_measure_draws(frames, draws, options))
    return _mean_of_parts(parts)


def draw_rows(rng: np.random.Generator, n: int, *, repeats: int, least: int) -> NDArray[np.intp]:
    """Draw random fifths of n rows, without replacement: repeats x rows."""
    size = min(n, max(least, round(_FIFTH * n)))
    return np.stack([rng.choice(n, size, replace=False) for _ in range(repeats)])


def _draws(frames: Sequence[SystemScores], options: RankingOptions, *, repeats: int, least: int) -> NDArray[np.intp]:
    n = frames[0].n
    if options.full:
        return np.arange(n)[None]
    return draw_rows(np.random.default_rng(options.seed), n, repeats=options.draws or repeats, least=least)


def _per_draw(
    frames: Sequence[SystemScores], draws: NDArray[np.intp], options: RankingOptions
) -> dict[tuple[str, str], Matrix]:
    """Measures on draws of the rows of a data set (draws x measures), averaged over its metrics."""
    measured = [measure_pairs(rank_frames(list(frame.oriented[draws]), options), PAIRS) for frame in frames]
    return {
        pair: np.stack(
            [average(list(lines)) for lines in zip(*(measures[pair] for measures in measured), strict=True)]
        )
        for pair in PAIRS
    }


def _measure_draws(
    frames: Sequence[SystemScores], draws: NDArray[np.intp], options: RankingOptions
) -> dict[tuple[str, str], Part]:
    """Mean and standard error over draws; metrics share the draws, so they are averaged first."""
    parts = {}
    for pair, lines in _per_draw(frames, draws, options).items():
        middle = average([lines])
        count = (~np.isnan(lines)).sum(axis=0)
        spread = np.nansum((lines - middle) ** 2, axis=0) / np.maximum(count - 1, 1)
        parts[pair] = Part(middle, np.sqrt(spread / np.maximum(count, 1)))
    return parts


def _mean_of_parts(parts: Sequence[Mapping[tuple[str, str], Part]]) -> dict[tuple[str, str], Matrix]:
    return {pair: average([part[pair].values for part in parts]) for pair in PAIRS} if parts else {}


@dataclass(frozen=True)
class TypedSystems:
    """Mean scores of two systems by type of instance, and the spread and number of draws."""

    name: str
    first: tuple[float, ...]
    second: tuple[float, ...]
    deviation: float
    per_type: int = 50


#: Table 2 of the paper, and the systems of Figure 2 in the released notebook.
FIVE_TYPES = TypedSystems("five types", (23, 50, 40, 70, 60), (28, 45, 30, 65, 50), 1.0)
THREE_TYPES = TypedSystems("three types", (23, 50, 40), (28, 45, 30), 3.0)


class Pairing(NamedTuple):
    """One way to pair the scores of S and B."""

    order: tuple[int, ...]
    """Type of S that is paired with the first, second, ... type of B, from 1."""
    scores: Matrix
    """Instances x 2: S, B."""
    wins: float
    """Share of instances on which S is better."""
    strengths: Matrix
    """Bradley-Terry, S and B."""


def draw_pairings(systems: TypedSystems, options: RankingOptions) -> list[Pairing]:
    """Draw scores once and pair them in all orders of types; the first pairing is the original one."""
    rng = np.random.default_rng(options.seed)
    size = (systems.per_type, len(systems.first))
    first = rng.normal(systems.first, systems.deviation, size)
    second = rng.normal(systems.second, systems.deviation, size).ravel(order="F")
    pairings = []
    for order in itertools.permutations(range(len(systems.first))):
        scores = np.column_stack([first[:, order].ravel(order="F"), second])
        share = float((scores[:, 0] > scores[:, 1]).mean())
        strengths = rank_frame(scores, ["BT"], options)["BT"]
        pairings.append(Pairing(tuple(index + 1 for index in order), scores, share, strengths))
    return pairings


#: Scores that differ by less, relative to the larger one, are ties that rounding hides.
HIDDEN = 1e-9

#: Policies for ties; each is run on all rows.
POLICIES: Mapping[str, RankingOptions] = {
    "second": RankingOptions(),
    "reversed": RankingOptions(reverse=True),
    "second 1e-9": RankingOptions(tie_tolerance=HIDDEN),
    "drop": RankingOptions(ties="drop"),
    "half": RankingOptions(ties="half"),
    "half 1e-9": RankingOptions(ties="half", tie_tolerance=HIDDEN),
}


class TieCounts(NamedTuple):
    """Number of comparisons of two systems on an instance, and of ties among them."""

    comparisons: int
    exact: int
    hidden: int
    """Ties within `HIDDEN` that are not exact."""


def count_ties(frames: Sequence[SystemScores]) -> TieCounts:
    """Count the ties of all pairs of systems in some frames."""
    comparisons = sum(frame.n * frame.k * (frame.k - 1) // 2 for frame in frames)
    exact, wide = (
        sum(int(count_wins(frame.oriented, tolerance=tolerance).ties.sum()) // 2 for frame in frames)
        for tolerance in (0.0, HIDDEN)
    )
    return TieCounts(comparisons, exact, wide - exact)


def mean_against_bt(sets: Sequence[FrameSet], policy: str) -> dict[tuple[str, str], float]:
    """Share of the pairs of systems that mean and BT order differently, by data set and metric."""
    options, shares = POLICIES[policy], {}
    for frames in sets:
        for metric, frame in frames.frames.items():
            scores = frame.oriented[:, ::-1] if options.reverse else frame.oriented
            measures = measure_pairs(rank_frame(scores, ("mean", "BT"), options))
            shares[frames.label, metric] = float(average([measures["mean", "BT"]])[0])
    return shares


#: Tests in the order of the figure, then the sign test that drops ties.
TESTS = ("t", "Mood", "sign", "Wilcoxon", "sign, ties out")
DRAWS_OF_FIGURE_6 = 1000

_ALPHA = 0.05


def find_differences(sets: Sequence[FrameSet], options: RankingOptions) -> NDArray[np.bool_]:
    """Whether each test (columns, as in `TESTS`) is significant, for all pairs of systems (rows), pooled."""
    significant = [_significant(part, options) for part in _significance_parts(sets, options)]
    return np.concatenate(significant) if significant else np.zeros((0, len(TESTS)), dtype=bool)


def conditional_shares(significant: NDArray[np.bool_]) -> Matrix:
    """Row i, column j: share of the differences found by test i that test j finds; diagonal: share of all pairs.

    nan if test i finds no difference.

    >>> conditional_shares(np.array([[True, False], [True, True], [False, False], [True, False]])).round(2).tolist()
    [[0.75, 0.33], [1.0, 0.25]]
    """
    counts = significant.astype(np.float64)
    own = counts.sum(axis=0)
    both = counts.T @ counts
    shares = np.divide(both, own[:, None], out=np.full_like(both, np.nan), where=own[:, None] > 0)
    np.fill_diagonal(shares, own / max(len(significant), 1))
    return np.asarray(shares)


def _significance_parts(sets: Sequence[FrameSet], options: RankingOptions) -> Iterator[Matrix]:
    """All frames, or many random fifths of the rows of a random frame."""
    if options.full:
        yield from (frame.oriented for frame_set in sets for frame in frame_set.frames.values())
        return
    rng = np.random.default_rng(options.seed)
    for _ in range(options.draws or DRAWS_OF_FIGURE_6):
        frame_set = sets[int(rng.integers(len(sets)))]
        frame = list(frame_set.frames.values())[int(rng.integers(len(frame_set.frames)))]
        (rows,) = draw_rows(rng, frame.n, repeats=1, least=1)
        yield frame.oriented[rows]


def _significant(scores: Matrix, options: RankingOptions) -> NDArray[np.bool_]:
    n, k = scores.shape
    i, j = np.triu_indices(k, 1)
    first, second = scores[:, i], scores[:, j]
    counts = count_wins(scores, tolerance=options.tie_tolerance)
    wins, losses = counts.strict[i, j], counts.strict[j, i]
    credited = wins_with_ties(counts, options.ties)
    # Of two systems Bradley-Terry prefers the one with more wins, with ties credited by the policy.
    preferred = credited[i, j] >= credited[j, i]
    better, worse = np.where(preferred, wins, losses), np.where(preferred, losses, wins)
    differences = np.where(np.isclose(first, second, rtol=options.tie_tolerance, atol=0), 0.0, first - second)
    p_values: Iterable[Matrix] = (
        paired_t(differences, np.ones(n)),
        mood(first, second)[0],
        sign_test(better, worse, n - wins - losses),
        wilcoxon(differences)[0],
        sign_test(wins, losses),
    )
    return np.stack([p < _ALPHA for p in p_values], axis=1)
