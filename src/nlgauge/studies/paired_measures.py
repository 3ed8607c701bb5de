"""Four measures of *Better than Average*: disagreement of rankings, re-pairing, ties, and significance.

How far rankings by mean, median and Bradley-Terry disagree on published frames: Tables 1, 3, 4 and Figure 4.

Tables 1 and 4 take all rows of every frame. The others take random parts of the rows:

    Table 3             a fifth, 30 times per frame (the paper does not say so; its values are multiples of 1/30, D7)
    Figure 4, metrics   a fifth, but at least 30 rows, 20 times per frame
    Figure 4, tasks     a fifth of a random data set, 20 times per task

The same scores, paired in another way: Figure 2 and appendix A.1 of *Better than Average*.

Instances are of several types, and a system has a mean score for each. Which of a system's types meets which of the
other's is then permuted: every score stays, so mean and median cannot move, while who wins on most instances does.

How much of "Bradley-Terry differs from the mean" is ties, and how many ties hide in last bits.

Two outputs with equal counts of words have the same ROUGE on paper. In a file the two may differ in the last bit,
because sums were added in another order: such a tie is found only with a tolerance. Which system a tie is given to
then decides about rankings that differ in little else (D1).

Which differences between systems do tests find, and do they find the same ones? Figure 6 of *Better than Average*.

Pairs of systems of all frames (or of random parts of their rows) are pooled. The table says of each test which share
of the pairs it finds different at .05, and of two tests how often the second agrees where the first finds one.
The sign test counts the wins of the system that Bradley-Terry prefers, with ties in n, as the released code does
(D4); the standard one, which drops them, stands beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.paired_tests import mood, paired_t, sign_test, wilcoxon
from nlgauge.studies.compare.rankings import count_wins, policy_wins
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
    """Measures of a pair of mechanisms, each with its error over the draws."""

    values: Matrix
    """Share of pairs, other winner, other top 3."""
    errors: Matrix
    """Standard errors; 0 where all rows were taken."""


def disagreements(
    sets: Iterable[FrameSet], mechanisms: Sequence[str], options: RankingOptions
) -> dict[tuple[str, str], Matrix]:
    """The measures of each pair of mechanisms, averaged over all frames; all rows of each are taken."""
    measured = [
        measure_pairs(rank_frame(frame.oriented, mechanisms, options))
        for one in sets
        for frame in one.frames.values()
    ]
    pairs = itertools.combinations(mechanisms, 2)
    return {pair: average([found[pair] for found in measured]) for pair in pairs} if measured else {}


def by_data(one: FrameSet, metrics: Sequence[str], options: RankingOptions) -> dict[tuple[str, str], Part]:
    """Table 3: a data set under a family of metrics (ROUGE is the mean of three)."""
    frames = [one.frames[name] for name in metrics if name in one.frames]
    draws = _draws(frames, options, repeats=DRAWS_OF_TABLE_3, least=1)
    return _parts(frames, draws, options)


def by_metric(sets: Iterable[FrameSet], metric: str, options: RankingOptions) -> dict[tuple[str, str], Matrix]:
    """Figure 4(a): a metric over all data sets that have it."""
    found = []
    for one in sets:
        if metric in one.frames:
            frames = [one.frames[metric]]
            draws = _draws(frames, options, repeats=_DRAWS_OF_FIGURE_4, least=_LEAST_OF_FIGURE_4)
            found.append(_parts(frames, draws, options))
    return _mean_of_parts(found)


def by_task(sets: Sequence[FrameSet], options: RankingOptions) -> dict[tuple[str, str], Matrix]:
    """Figure 4(b): a task over its metrics, a random data set in each draw; with all rows every data set once."""
    if options.full:
        return _mean_of_parts([by_data(one, list(one.frames), options) for one in sets])
    rng = np.random.default_rng(options.seed)
    drawn: dict[int, list[NDArray[np.intp]]] = {}
    for _ in range(options.draws or _DRAWS_OF_FIGURE_4):
        at = int(rng.integers(len(sets)))
        n = next(iter(sets[at].frames.values())).n
        drawn.setdefault(at, []).append(draw_rows(rng, n, repeats=1, least=1)[0])
    # Draws of one data set are ranked together, for the sake of the batched iteration.
    lines = [_per_draw(list(sets[at].frames.values()), np.stack(draws), options) for at, draws in drawn.items()]
    return {pair: average([one[pair] for one in lines]) for pair in PAIRS}


def draw_rows(rng: np.random.Generator, n: int, *, repeats: int, least: int) -> NDArray[np.intp]:
    """Random fifths of n rows, without replacement: repeats x rows."""
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
        pair: np.stack([average(list(lines)) for lines in zip(*(one[pair] for one in measured), strict=True)])
        for pair in PAIRS
    }


def _parts(
    frames: Sequence[SystemScores], draws: NDArray[np.intp], options: RankingOptions
) -> dict[tuple[str, str], Part]:
    """Mean and error over draws. Metrics share the draws, so that they are averaged before the error is taken."""
    found = {}
    for pair, lines in _per_draw(frames, draws, options).items():
        middle = average([lines])
        there = (~np.isnan(lines)).sum(axis=0)
        spread = np.nansum((lines - middle) ** 2, axis=0) / np.maximum(there - 1, 1)
        found[pair] = Part(middle, np.sqrt(spread / np.maximum(there, 1)))
    return found


def _mean_of_parts(parts: Sequence[Mapping[tuple[str, str], Part]]) -> dict[tuple[str, str], Matrix]:
    return {pair: average([one[pair].values for one in parts]) for pair in PAIRS} if parts else {}


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
    pairings = []
    for order in itertools.permutations(range(len(systems.first))):
        scores = np.column_stack([first[:, order].ravel(order="F"), second])
        share = float((scores[:, 0] > scores[:, 1]).mean())
        strengths = rank_frame(scores, ["BT"], options)["BT"]
        pairings.append(Pairing(tuple(place + 1 for place in order), scores, share, strengths))
    return pairings


#: Ties within this, relative to the larger score, hide in last bits.
HIDDEN = 1e-9

#: Ways to treat ties; each is run on all rows.
POLICIES: Mapping[str, RankingOptions] = {
    "second": RankingOptions(),
    "reversed": RankingOptions(reverse=True),
    "second 1e-9": RankingOptions(tie_tolerance=HIDDEN),
    "drop": RankingOptions(ties="drop"),
    "half": RankingOptions(ties="half"),
    "half 1e-9": RankingOptions(ties="half", tie_tolerance=HIDDEN),
}


class TieCounts(NamedTuple):
    """Comparisons of two systems on an instance."""

    comparisons: int
    exact: int
    hidden: int
    """Ties within `HIDDEN` that are not exact."""


def count_ties(frames: Sequence[SystemScores]) -> TieCounts:
    """Ties of all pairs of systems in some frames."""
    comparisons = sum(one.n * one.k * (one.k - 1) // 2 for one in frames)
    exact, wide = (
        sum(int(count_wins(one.oriented, tolerance=tolerance).ties.sum()) // 2 for one in frames)
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


#: In the order of the figure, and the sign test that drops ties.
TESTS = ("t", "Mood", "sign", "Wilcoxon", "sign, ties out")
DRAWS_OF_FIGURE_6 = 1000

_ALPHA = 0.05


def find_differences(sets: Sequence[FrameSet], options: RankingOptions) -> NDArray[np.bool_]:
    """Whether each test (columns, as in `TESTS`) finds a difference, for all pairs of systems (rows), pooled."""
    found = [_significant(part, options) for part in _significance_parts(sets, options)]
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


def _significance_parts(sets: Sequence[FrameSet], options: RankingOptions) -> Iterator[Matrix]:
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
    i, j = np.triu_indices(k, 1)
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
        mood(first, second)[0],
        sign_test(better, worse, n - wins - losses),
        wilcoxon(differences)[0],
        sign_test(wins, losses),
    )
    return np.stack([p < _ALPHA for p in p_values], axis=1)
