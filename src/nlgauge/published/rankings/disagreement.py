"""How far rankings by mean, median and Bradley-Terry disagree on published frames: Tables 1, 3, 4 and Figure 4.

Tables 1 and 4 take all rows of every frame. The others take random parts of the rows:

    Table 3             a fifth, 30 times per frame (the paper does not say so; its values are multiples of 1/30, D7)
    Figure 4, metrics   a fifth, but at least 30 rows, 20 times per frame
    Figure 4, tasks     a fifth of a random data set, 20 times per task
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.compare.table import SystemScores
from nlgauge.published.rankings.frames import FrameSet
from nlgauge.published.rankings.mechanisms import (
    Matrix,
    average,
    measure_pairs,
    rank_draws,
    rank_frame,
)
from nlgauge.published.rankings.table import RankingOptions

__all__ = [
    "DRAWS_OF_TABLE_3",
    "PAIRS",
    "Part",
    "by_data",
    "by_metric",
    "by_task",
    "disagreements",
    "draw_rows",
]

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
    measured = [measure_pairs(rank_draws(frame.oriented, draws, options), PAIRS) for frame in frames]
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
