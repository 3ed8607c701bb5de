"""What a published table on rankings is, and how it can be run.

Scores come from frames (instances x systems, one metric), and no text is scored. A cell says how far two ways to rank
systems disagree, how often a test finds a difference, or how well a ranking finds strengths that are known:

    disagreement    over all rows of every frame                                 Tables 1 and 4
    by-data         per data set and metric, on random parts of the rows         Table 3
    by-metric       per metric, then per task, on random parts                   Figure 4
    tests           what a test finds among the pairs where another does         Figure 6
    simulation      Kendall's tau with strengths that scores were drawn from     Figure 3
    pairing         the same scores, paired in another way                       Figure 2
    ties            how many ties there are, and what becomes of Table 1         not in print

The frames of a published comparison that are here: scores of systems by data set and metric.

Five ways to rank systems by the same scores, and how far two of them disagree.

Of a frame (instances x systems) each mechanism makes a number per system. Three measures compare two of them: the
share of pairs of systems that they order differently, whether they have another winner, and whether they have other
three at the top. Measures of several frames are averaged without weights.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.cards import find_data_card, load, locate
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.compare.rankings import different_top3, different_winner, mean_scores, median_scores, win_counts
from nlgauge.studies.compare.strengths import bradley_terry, elo, trueskill
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.published.runs import or_missing
from nlgauge.studies.published.tables import PaperTable, TableRow

Experiment = Literal["disagreement", "by-data", "by-metric", "tests", "simulation", "pairing", "ties"]


#: Options that an experiment has a use of.
_TIED = ("ties", "tie_tolerance", "reverse")
_DRAWN = (*_TIED, "full", "draws", "seed")
_USED: dict[Experiment, tuple[str, ...]] = {
    "disagreement": (*_TIED, "full"),  # all rows are what it takes
    "by-data": _DRAWN,
    "by-metric": _DRAWN,
    "tests": _DRAWN,
    "simulation": ("seed", "design"),
    "pairing": ("seed",),
    "ties": (),
}


@dataclass(frozen=True)
class PublishedFrames:
    """The frames of a data set: one per metric."""

    label: str
    """As the paper has it."""
    task: str
    instances: int
    systems: int
    metrics: int
    card: str = ""
    """Name of the data set here; empty where its frames are not public."""

    @property
    def pairs(self) -> int:
        """Pairs of systems over all metrics."""
        return self.metrics * self.systems * (self.systems - 1) // 2


@dataclass(frozen=True)
class RankingRow(TableRow):
    """A row of a table on rankings."""

    key: tuple[str, ...] = ()
    """What the experiment knows it by; empty for a row that is only shown."""
    exchanged: bool = False
    """Whether print has its values under Mean/BT and Med/BT exchanged (D7)."""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.key)


@dataclass(frozen=True)
class RankingTable(PaperTable):
    """A published table or figure on rankings of systems."""

    rows: tuple[RankingRow, ...]
    experiment: Experiment = "disagreement"
    frames: tuple[PublishedFrames, ...] = ()
    """All that the paper used; an experiment on drawn scores has none."""

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs and that are public, by name."""
        return tuple(one.card for one in self.frames if one.card)


#: Squared changes at which the Bradley-Terry iteration of the released code stops.
BT_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """How a table on rankings is run; the defaults are the paper's."""

    ties: Literal["second", "drop", "half"] = "second"
    """Whose win a tie is in Bradley-Terry: the later column's, nobody's, half of each (D1)."""
    tie_tolerance: float = 0.0
    """Scores are tied where they differ by at most this, relative to the larger; 0 takes each bit as it stands."""
    reverse: bool = False
    """Systems in reverse order: what depends on the order of columns shows."""
    full: bool = False
    """All rows of a frame where the paper draws a part of them."""
    draws: int | None = None
    """Random parts of the rows; None for the paper's number of them."""
    seed: int = 12345
    design: Literal["coded", "appendix"] = "coded"
    """The simulation as the released code has it, or as appendix A.2 says (D3)."""

    def check_used(self, table: RankingTable) -> None:
        """Refuse an option that would change nothing of a table."""
        used = _USED[table.experiment]
        for name, value in asdict(self).items():
            if value != getattr(type(self), name) and name not in used:
                takes = f"it takes {', '.join(used)}" if used else "it takes none"
                msg = f"{table.id} has no use of {name}={value}; {takes}"
                raise RecipeError(msg)

    def __post_init__(self) -> None:
        for name, allowed in (("ties", ("second", "drop", "half")), ("design", ("coded", "appendix"))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        if not 0 <= self.tie_tolerance < 1:
            msg = f"tie_tolerance is relative to the scores, at least 0 and below 1, got {self.tie_tolerance!r}"
            raise RecipeError(msg)
        if self.draws is not None and (self.draws < 1 or self.full):
            what = "all rows are taken once; leave out full or draws" if self.full else "draws must be at least 1"
            msg = f"{what}, got draws={self.draws!r}"
            raise RecipeError(msg)
        if self.seed < 0:
            msg = f"seed must be 0 or more, got {self.seed!r}"
            raise RecipeError(msg)


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
        better = name not in table.distances
        made[name] = SystemScores(name, systems, grid, better, f"released: {table.name}", segments)
    return made


def find_frames(
    asked: Sequence[PublishedFrames],
    at: str | os.PathLike[str] | None,
    missing: dict[str, None],
    *,
    reverse: bool = False,
) -> list[FrameSet]:
    """The frames that are here; what is not is noted in `missing`, public sets with where they are published."""
    found = []
    for one in asked:
        if not one.card:
            continue
        card = find_data_card(one.card)
        place = None if at is None else locate(card, at)
        if place is None:
            where = "no folder of data was given (--at PATH)" if at is None else f"not under {os.fspath(at)!r}"
            missing[f"data set {card.name}: {where}; published at {card.published}"] = None
            continue
        with or_missing(f"frames of {one.label}", missing):
            frames = frames_of(load(one.card, place))
            if reverse:
                frames = {name: scores.take(scores.systems[::-1]) for name, scores in frames.items()}
            found.append(FrameSet(one.label, one.task, frames))
    if absent := [one for one in asked if not one.card]:
        setups = sum(one.metrics for one in absent)
        missing[f"{setups} setups whose frames the published repository lacks: {_listed(absent)}"] = None
    return found


def _listed(frames: Sequence[PublishedFrames]) -> str:
    """Labels, those of one year of WMT together."""
    groups: dict[str, list[str]] = {}
    for one in frames:
        name, _, pair = one.label.partition(" ")
        groups.setdefault(name, []).extend([pair] if pair else [])
    return ", ".join(f"{name} ({', '.join(pairs)})" if pairs else name for name, pairs in groups.items())


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


def rank_draws(frame: Matrix, draws: NDArray[np.intp], options: RankingOptions) -> dict[str, Matrix]:
    """Mean, median and BT on parts of the rows: draws x rows in, draws x systems out."""
    parts = frame[draws]
    wins = np.stack([_wins(part, options) for part in parts])
    return {
        "mean": parts.mean(axis=1),
        "median": np.median(parts, axis=1),
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
