"""Five ways to rank systems by the same scores, how far two of them disagree, and which find known strengths.

Of a frame (instances x systems) each mechanism makes a number per system. Three measures compare two of them: the
share of pairs of systems that they order differently, whether they have another winner, and whether they have other
three at the top. Measures of several frames are averaged without weights.

Do mean, median and Bradley-Terry find strengths that are known? Figure 3 of *Better than Average*. A setup has a
number of systems k, of instances M, of types of instances T, and a share f of outliers. Two designs:

    coded     the released code, and section 4: strengths 10 s / sum(s), s uniform. A type adds one offset, up to
              100, to all systems; scores have a deviation of 1. Outliers are further rows, uniform up to 100, whose
              order opposes the strengths.
    appendix  appendix A.2: each system has a strength of its own for each type, uniform up to 1. Outliers are rows
              whose scores are permuted. Which strength a ranking should find is not said; here the mean over types.

All 288 combinations are drawn ten times. A ranking is scored by Kendall's tau with the strengths (D3).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Flag, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.score_table import ScoreTable
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.compare.rankings import different_top3, different_winner, mean_scores, median_scores, win_counts
from nlgauge.studies.compare.strengths import bradley_terry, elo, trueskill
from nlgauge.studies.compare.system_scores import SystemScores

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


#: Options that an experiment has a use of.
_TIED = ("ties", "tie_tolerance", "reverse")
_DRAWN = (*_TIED, "full", "draws", "seed")
_USED: dict[str, tuple[str, ...]] = {
    "disagreement": (*_TIED, "full"),  # all rows are what it takes
    "by-data": _DRAWN,
    "by-metric": _DRAWN,
    "tests": _DRAWN,
    "simulation": ("seed", "design"),
    "pairing": ("seed",),
    "ties": (),
}


@dataclass(frozen=True, kw_only=True)
class RankingOptions(OptionSet):
    """How an experiment on rankings is run; the defaults are those of *Better than Average*."""

    called: ClassVar[str] = "options of experiments on rankings"

    ties: Literal["second", "drop", "half"] = option(
        "second",
        Choice("second", "drop", "half"),
        help="winner of a tie in Bradley-Terry and Elo: the later system, none, or half of each",
    )
    tie_tolerance: float = option(
        0.0, Float(0, 1), help="scores tie if they differ by at most this share of the larger one"
    )
    reverse: bool = option(False, Flag(), help="systems in reverse order, to see what depends on it")
    full: bool = option(False, Flag(), help="all rows of a frame where the paper draws some of them")
    draws: int | None = option(None, Int(1), help="parts of the rows to draw", unset="as in the paper")
    seed: int = seed_option()
    design: Literal["coded", "appendix"] = option(
        "coded",
        Choice("coded", "appendix"),
        help="the simulation as the released code has it, or as the paper's appendix A.2 says",
    )

    def check_used(self, experiment: str, *, what: str) -> None:
        """Refuse an option that would change nothing of an experiment; `what` names it in the message."""
        used = _USED[experiment]
        for name, entry in self.options().items():
            if getattr(self, name) != entry.default and name not in used:
                takes = f"it takes {', '.join(used)}" if used else "it takes none"
                msg = f"{what} has no use of {name}={getattr(self, name)}; {takes}"
                raise RecipeError(msg)

    def check(self) -> None:
        """All rows are taken once, so there is nothing to draw."""
        if self.full and self.draws is not None:
            msg = f"all rows are taken once; leave out full or draws, got draws={self.draws!r}"
            raise RecipeError(msg)


Drawn = tuple[Matrix, Matrix]
"""Strengths, and scores (instances x systems)."""

_OFFSET = 100.0


@dataclass(frozen=True)
class Grid:
    """Setups to draw."""

    types: tuple[int, ...] = (1, 3, 5, 10)
    outliers: tuple[float, ...] = (0.0, 0.01, 0.025)
    systems: tuple[int, ...] = (2, 3, 5, 10, 25, 50)
    instances: tuple[int, ...] = (10, 30, 100, 200)
    repeats: int = 10

    def __len__(self) -> int:
        sizes = map(len, (self.types, self.outliers, self.systems, self.instances))
        return int(np.prod(list(sizes))) * self.repeats


#: That of the paper: 2,880 setups.
GRID = Grid()


class Panel(NamedTuple):
    """A panel of Figure 3: what stands on its axis, and which setups it looks at."""

    axis: str
    one_type: bool = False
    no_outliers: bool = False


PANELS = {
    "a": Panel("systems", one_type=True, no_outliers=True),
    "b": Panel("instances", one_type=True, no_outliers=True),
    "c": Panel("outliers", one_type=True),
    "d": Panel("types", no_outliers=True),
    "e": Panel("types"),
    "f": Panel("outliers"),
    "g": Panel("instances"),
    "h": Panel("systems"),
}


class Simulated(NamedTuple):
    """A line per setup."""

    setups: dict[str, Matrix]
    """Types, outliers, systems, instances."""
    tau: dict[str, Matrix]
    """By mechanism: mean, median, BT; nan where a ranking ties all systems."""

    def mean_tau(self, chosen: NDArray[np.bool_]) -> dict[str, tuple[float, float]]:
        """Of some setups, by mechanism: mean and standard error, without the undefined, as in the released code."""
        found = {}
        for name, values in self.tau.items():
            there = values[chosen & ~np.isnan(values)]
            found[name] = (float(there.mean()), float(there.std(ddof=1) / np.sqrt(there.size)))
        return found

    def chosen(self, panel: Panel) -> NDArray[np.bool_]:
        """The setups of a panel."""
        kept = np.ones(len(self.setups["types"]), dtype=bool)
        if panel.one_type:
            kept &= self.setups["types"] == 1
        if panel.no_outliers:
            kept &= self.setups["outliers"] == 0
        return kept


def simulate(options: RankingOptions, *, grid: Grid = GRID) -> Simulated:
    """Draw all setups of a grid, rank, and score; a setup's numbers do not depend on what else is in the grid."""
    draw: Callable[..., Drawn] = draw_coded if options.design == "coded" else draw_appendix
    setups: list[tuple[float, ...]] = []
    found: list[Matrix] = []
    # Strengths and scores of one number of systems are ranked together, for the sake of the batched iteration.
    for k in grid.systems:
        drawn: list[Drawn] = []
        for types, outliers, instances, repeat in itertools.product(
            grid.types, grid.outliers, grid.instances, range(grid.repeats)
        ):
            seed = [options.seed, types, round(1000 * outliers), k, instances, repeat]
            drawn.append(draw(np.random.default_rng(seed), types, outliers, k, instances))
            setups.append((types, outliers, k, instances))
        found.append(_scored(drawn, options))
    names = ("types", "outliers", "systems", "instances")
    columns = dict(zip(names, np.array(setups, dtype=np.float64).T, strict=True))
    return Simulated(columns, dict(zip(("mean", "median", "BT"), np.concatenate(found).T, strict=True)))


def _scored(drawn: list[Drawn], options: RankingOptions) -> Matrix:
    """Kendall's tau of mean, median and BT with the strengths: a line per setup."""
    strengths = np.stack([strength for strength, _ in drawn])
    rankings = rank_frames([scores for _, scores in drawn], options)
    return np.stack([tau(strengths, ranking) for ranking in rankings.values()], axis=1)


def draw_coded(rng: np.random.Generator, types: int, outliers: float, k: int, instances: int) -> Drawn:
    """A setup of the released code: one offset per type, further rows as outliers."""
    strengths = rng.random(k)
    strengths *= 10 / strengths.sum()
    rows = instances // types
    offsets = np.repeat(_OFFSET * rng.random(types), rows)
    scores = rng.normal(strengths + offsets[:, None], 1.0)
    extra = max(int(outliers * len(scores)), 1) if outliers else 0
    opposed = list(itertools.islice(_opposed(rng, strengths), extra))
    return strengths, np.vstack([scores, *opposed])


def _opposed(rng: np.random.Generator, strengths: Matrix) -> Iterator[Matrix]:
    """Random rows whose order opposes the strengths."""
    while True:
        rows = _OFFSET * rng.random((16, len(strengths)))
        yield from rows[tau(np.broadcast_to(strengths, rows.shape), rows) < 0]


def draw_appendix(rng: np.random.Generator, types: int, outliers: float, k: int, instances: int) -> Drawn:
    """A setup of appendix A.2: strengths for each type, permuted rows as outliers."""
    strengths = rng.random((types, k))
    scores = rng.normal(np.repeat(strengths, instances // types, axis=0), 1.0)
    changed = max(int(outliers * len(scores)), 1) if outliers else 0
    at = rng.choice(len(scores), changed, replace=False)
    scores[at] = rng.permuted(scores[at], axis=1)
    return strengths.mean(axis=0), scores
