"""Five ways to rank systems by the same scores (a frame: instances x systems), and how far two of them disagree.

Of a frame (instances x systems) each mechanism makes a number per system. Three measures compare two of them: the
share of pairs of systems that they order differently, whether they have another winner, and whether they have other
three at the top. Measures of several frames are averaged without weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.score_table import ScoreTable
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError
from nlgauge.studies.compare.rankings import different_top3, different_winner, mean_scores, median_scores, win_counts
from nlgauge.studies.compare.strengths import bradley_terry, elo, trueskill
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.paired_evaluation.options import RankingOptions

#: Squared changes at which the Bradley-Terry iteration of the released code stops.
BT_TOLERANCE = 1e-9


class FrameSet(NamedTuple):
    """The frames of a data set."""

    label: str
    task: str
    frames: dict[str, SystemScores]
    """By metric."""


def frames_of(table: JudgementTable) -> dict[str, SystemScores]:
    """The released scores of a data set as frames, in which every system has every segment."""
    systems, segments = table.systems, tuple(dict.fromkeys(table.segment))
    columns = {name: at for at, name in enumerate(systems)}
    lines = {name: at for at, name in enumerate(segments)}
    at = [lines[name] for name in table.segment], [columns[name] for name in table.system]
    if len(table) != len(systems) * len(segments):
        msg = f"{table.name}: {len(table)} rows are no grid of {len(segments)} segments x {len(systems)} systems"
        raise InputError(msg)
    made = {}
    for name, values in table.released.items():
        grid = np.empty((len(segments), len(systems)))
        grid[at] = values
        columns = dict(zip(systems, grid.T, strict=True))
        scores = ScoreTable.from_numbers(name, columns, higher_is_better=name not in table.distances)
        made[name] = SystemScores(scores, instances=segments)
    return made


#: Mean, median, Bradley-Terry and its two variants (paper, sections 2.2 and G).
MECHANISMS = ("mean", "median", "BT", "Elo", "TrueSkill")
MEASURES = ("disagree", "SotA", "Top-3")

Matrix: TypeAlias = NDArray[np.float64]

#: By mechanism: a number per system, higher for better; a line for each draw where there are several.
Scores: TypeAlias = Mapping[str, Matrix]


def rank_frame(frame: Matrix, mechanisms: Iterable[str], options: RankingOptions) -> dict[str, Matrix]:
    """The numbers of each mechanism on all rows of a frame."""
    makers: dict[str, Callable[[], Matrix]] = {
        "mean": lambda: mean_scores(frame),
        "median": lambda: median_scores(frame),
        "BT": lambda: bradley_terry(_wins(frame, options), tolerance=BT_TOLERANCE).strengths,
        "Elo": lambda: elo(frame, ties=options.ties, tolerance=options.tie_tolerance),
        "TrueSkill": lambda: trueskill(frame, tolerance=options.tie_tolerance),
    }
    return {name: makers[name]() for name in mechanisms}


def rank_frames(frames: Sequence[Matrix], options: RankingOptions) -> dict[str, Matrix]:
    """Mean, median and BT on each of several frames, or draws of rows, of the same systems: a line per frame."""
    wins = np.stack([_wins(frame, options) for frame in frames])
    return {
        "mean": np.stack([frame.mean(axis=0) for frame in frames]),
        "median": np.stack([np.median(frame, axis=0) for frame in frames]),
        "BT": bradley_terry(wins, tolerance=BT_TOLERANCE).strengths,
    }


def measure_pairs(scores: Scores, pairs: Iterable[tuple[str, str]] | None = None) -> dict[tuple[str, str], Matrix]:
    """The three measures for pairs of mechanisms, all of them by default: a line per draw.

    The share of pairs, (1 - tau_b) / 2, is nan where a ranking ties all systems.
    """
    pairs = itertools.combinations(scores, 2) if pairs is None else pairs
    found = {}
    for pair in pairs:
        one, other = (np.atleast_2d(scores[name]) for name in pair)
        tops = [
            (float(different_winner(*line)), float(different_top3(*line))) for line in zip(one, other, strict=True)
        ]
        found[pair] = np.column_stack([(1 - tau(one, other)) / 2, tops])
    return found


def tau(one: Matrix, other: Matrix) -> Matrix:
    """Kendall's tau-b along the last axis, for many vectors at once; nan where a vector is constant.

    >>> tau(np.array([[1.0, 2, 3], [1, 2, 3]]), np.array([[3.0, 4, 5], [5, 4, 3]])).tolist()
    [1.0, -1.0]
    """
    first, second = np.triu_indices(one.shape[-1], 1)
    signs, others = (np.sign(values[..., first] - values[..., second]) for values in (one, other))
    untied = np.sqrt(np.abs(signs).sum(axis=-1) * np.abs(others).sum(axis=-1))
    together = (signs * others).sum(axis=-1)
    return np.asarray(np.divide(together, untied, out=np.full(untied.shape, np.nan), where=untied > 0))


def average(values: Sequence[Matrix]) -> Matrix:
    """The mean over frames or draws (lines) of each measure, without those that a ranking of ties leaves undefined.

    nan where all are undefined.
    """
    lines = np.concatenate([np.atleast_2d(one) for one in values])
    there = ~np.isnan(lines)
    count = there.sum(axis=0)
    total = np.where(there, lines, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(lines.shape[1], np.nan), where=count > 0))


def _wins(frame: Matrix, options: RankingOptions) -> Matrix:
    return win_counts(frame, ties=options.ties, tolerance=options.tie_tolerance)
