"""Five mechanisms that rank systems by the same scores, their disagreement, and a simulation with known strengths.

Each mechanism turns a frame (instances x systems) into a number per system. Three measures compare two mechanisms:
the share of pairs of systems that they order differently, whether the winner differs, and whether the top three
differ. Measures are averaged over frames without weights.

The simulation (Figure 3 of *Better than Average*) checks whether mean, median and Bradley-Terry recover known
strengths. A setup has k systems, M instances, T types of instances and a share f of outliers. Two designs:

    coded     the released code, and section 4: strengths 10 s / sum(s), s uniform. A type adds one offset, up to
              100, to all systems; scores have a deviation of 1. Outliers are additional rows, uniform up to 100,
              whose order opposes the strengths.
    appendix  appendix A.2: each system has a different strength for each type, uniform up to 1. Outliers are rows
              whose scores are permuted. The paper does not define the true strength; here it is the mean over types.

All 288 combinations are drawn ten times. A ranking is scored by Kendall's tau with the strengths (D3).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Flag, Float, Folder, Int, Many
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
    """Turn the released scores of a data set into frames, in which every system has every segment."""
    systems, segments = table.systems, tuple(dict.fromkeys(table.segment))
    columns = {name: i for i, name in enumerate(systems)}
    lines = {name: i for i, name in enumerate(segments)}
    cells = [lines[name] for name in table.segment], [columns[name] for name in table.system]
    if len(table) != len(systems) * len(segments):
        msg = (
            f"{table.name}: expected one row for each of {len(segments)} segments x {len(systems)} systems, got "
            f"{len(table)} rows"
        )
        raise InputError(msg)
    frames = {}
    for name, values in table.released.items():
        grid = np.empty((len(segments), len(systems)))
        grid[cells] = values
        columns = dict(zip(systems, grid.T, strict=True))
        scores = ScoreTable.from_numbers(name, columns, higher_is_better=name not in table.distances)
        frames[name] = SystemScores(scores, instances=segments)
    return frames


#: Mean, median, Bradley-Terry and its two variants (paper, sections 2.2 and G).
MECHANISMS = ("mean", "median", "BT", "Elo", "TrueSkill")
MEASURES = ("disagree", "SotA", "Top-3")

Matrix: TypeAlias = NDArray[np.float64]

#: By mechanism: a number per system, higher for better; one line per draw.
Scores: TypeAlias = Mapping[str, Matrix]


def rank_frame(frame: Matrix, mechanisms: Iterable[str], options: RankingOptions) -> dict[str, Matrix]:
    """Rank the systems of a frame by each mechanism, on all rows."""
    makers: dict[str, Callable[[], Matrix]] = {
        "mean": lambda: mean_scores(frame),
        "median": lambda: median_scores(frame),
        "BT": lambda: bradley_terry(_wins(frame, options), tolerance=BT_TOLERANCE).strengths,
        "Elo": lambda: elo(frame, ties=options.ties, tolerance=options.tie_tolerance),
        "TrueSkill": lambda: trueskill(frame, tolerance=options.tie_tolerance),
    }
    return {name: makers[name]() for name in mechanisms}


def rank_frames(frames: Sequence[Matrix], options: RankingOptions) -> dict[str, Matrix]:
    """Mean, median and BT on several frames, or draws of rows, of the same systems: a line per frame."""
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
    measures = {}
    for pair in pairs:
        first, second = (np.atleast_2d(scores[name]) for name in pair)
        tops = [
            (float(different_winner(*line)), float(different_top3(*line))) for line in zip(first, second, strict=True)
        ]
        measures[pair] = np.column_stack([(1 - tau(first, second)) / 2, tops])
    return measures


def tau(left: Matrix, right: Matrix) -> Matrix:
    """Kendall's tau-b along the last axis, for many vectors at once; nan where a vector is constant.

    >>> tau(np.array([[1.0, 2, 3], [1, 2, 3]]), np.array([[3.0, 4, 5], [5, 4, 3]])).tolist()
    [1.0, -1.0]
    """
    first, second = np.triu_indices(left.shape[-1], 1)
    signs, others = (np.sign(values[..., first] - values[..., second]) for values in (left, right))
    untied = np.sqrt(np.abs(signs).sum(axis=-1) * np.abs(others).sum(axis=-1))
    together = (signs * others).sum(axis=-1)
    return np.asarray(np.divide(together, untied, out=np.full(untied.shape, np.nan), where=untied > 0))


def average(values: Sequence[Matrix]) -> Matrix:
    """Average each measure over frames or draws (lines), ignoring undefined values; nan if all are undefined."""
    lines = np.concatenate([np.atleast_2d(part) for part in values])
    defined = ~np.isnan(lines)
    count = defined.sum(axis=0)
    total = np.where(defined, lines, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(lines.shape[1], np.nan), where=count > 0))


def _wins(frame: Matrix, options: RankingOptions) -> Matrix:
    return win_counts(frame, ties=options.ties, tolerance=options.tie_tolerance)


#: Metrics of the paper with recipes for frames of outputs whose published scores are not public.
FRAME_METRICS: Mapping[str, str] = {
    "BLEU": "bleu",
    "ROUGE_1": "rouge1",
    "ROUGE_2": "rouge2",
    "ROUGE_L": "rougel",
    "Chrfpp": "chrf:words=2",
    "ROUGE_WE_1": "rouge-we:order=1",
    "ROUGE_WE_2": "rouge-we:order=2",
    "JS_1": "js:order=1",
    "JS_2": "js:order=2",
    "MoverScore": "moverscore",
    "BERTScore": "bertscore",
}

#: Options that each experiment uses.
_TIED = ("ties", "tie_tolerance", "reverse", "frames", "score")
_DRAWN = (*_TIED, "full", "draws", "seed")
_USED: dict[str, tuple[str, ...]] = {
    "disagreement": (*_TIED, "full"),  # always uses all rows
    "by-data": _DRAWN,
    "by-metric": _DRAWN,
    "by-size": (*_TIED, "draws", "seed"),
    "tests": _DRAWN,
    "simulation": ("seed", "design"),
    "pairing": ("seed",),
    "ties": ("frames", "score"),
}


@dataclass(frozen=True, kw_only=True)
class RankingOptions(OptionSet):
    """Options of an experiment on rankings; the defaults are those of *Better than Average*."""

    called: ClassVar[str] = "options of experiments on rankings"

    ties: Literal["second", "drop", "half"] = option(
        "second",
        Choice("second", "drop", "half"),
        help="treatment of ties; second: a win of the second system, drop: left out, half: half a win each",
    )
    tie_tolerance: float = option(
        0.0, Float(0, 1), help="scores tie if they differ by at most this share of the larger one"
    )
    reverse: bool = option(False, Flag(), help="reverse the order of systems")
    full: bool = option(False, Flag(), help="use all instances, not a sample of the size in the paper")
    draws: int | None = option(None, Int(1), help="number of random samples of rows", unset="as in the paper")
    seed: int = seed_option()
    design: Literal["coded", "appendix"] = option(
        "coded",
        Choice("coded", "appendix"),
        help="simulation of systems; coded: as in the code of Peyrard et al. 2021, appendix: as in appendix A.2",
    )

    frames: str | None = option(
        None,
        Folder(),
        help="folder of score files such as wmt17.de-en.json: existing ones are read, others computed and saved",
        signed=False,
    )
    score: tuple[str, ...] = option(
        (), Many(Choice(*FRAME_METRICS)), help="metrics to score the WMT17 and WMT18 outputs with"
    )

    def check_used(self, experiment: str, *, what: str) -> None:
        """Raise an error if an option has no effect on an experiment; `what` is its name in the message."""
        used = _USED[experiment]
        for name, entry in self.options().items():
            if getattr(self, name) != entry.default and name not in used:
                takes = f"its options are {', '.join(used)}" if used else "it has no options"
                msg = f"{name}={getattr(self, name)} has no effect on {what}; {takes}"
                raise RecipeError(msg)

    def check(self) -> None:
        """Check that `full` and `draws` are not both given: with all rows nothing is drawn."""
        if self.full and self.draws is not None:
            msg = f"full and draws={self.draws!r} exclude each other; give one of them"
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
    """A panel of Figure 3: its axis and its selection of setups."""

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
        """Mean and standard error of tau over some setups, by mechanism; undefined values are ignored."""
        means = {}
        for name, values in self.tau.items():
            defined = values[chosen & ~np.isnan(values)]
            means[name] = (float(defined.mean()), float(defined.std(ddof=1) / np.sqrt(defined.size)))
        return means

    def chosen(self, panel: Panel) -> NDArray[np.bool_]:
        """Mask of the setups of a panel."""
        mask = np.ones(len(self.setups["types"]), dtype=bool)
        if panel.one_type:
            mask &= self.setups["types"] == 1
        if panel.no_outliers:
            mask &= self.setups["outliers"] == 0
        return mask


def simulate(options: RankingOptions, *, grid: Grid = GRID) -> Simulated:
    """Draw, rank and score all setups of a grid; the numbers of a setup do not depend on the rest of the grid."""
    draw: Callable[..., Drawn] = draw_coded if options.design == "coded" else draw_appendix
    setups: list[tuple[float, ...]] = []
    taus: list[Matrix] = []
    # Setups with the same number of systems are ranked in one batch, which is faster.
    for k in grid.systems:
        drawn: list[Drawn] = []
        for types, outliers, instances, repeat in itertools.product(
            grid.types, grid.outliers, grid.instances, range(grid.repeats)
        ):
            seed = [options.seed, types, round(1000 * outliers), k, instances, repeat]
            drawn.append(draw(np.random.default_rng(seed), types, outliers, k, instances))
            setups.append((types, outliers, k, instances))
        taus.append(_score_rankings(drawn, options))
    names = ("types", "outliers", "systems", "instances")
    columns = dict(zip(names, np.array(setups, dtype=np.float64).T, strict=True))
    return Simulated(columns, dict(zip(("mean", "median", "BT"), np.concatenate(taus).T, strict=True)))


def _score_rankings(drawn: list[Drawn], options: RankingOptions) -> Matrix:
    """Kendall's tau of mean, median and BT with the strengths: a line per setup."""
    strengths = np.stack([strength for strength, _ in drawn])
    rankings = rank_frames([scores for _, scores in drawn], options)
    return np.stack([tau(strengths, ranking) for ranking in rankings.values()], axis=1)


def draw_coded(rng: np.random.Generator, types: int, outliers: float, k: int, instances: int) -> Drawn:
    """Draw a setup of the released code: one offset per type, additional rows as outliers."""
    strengths = rng.random(k)
    strengths *= 10 / strengths.sum()
    rows = instances // types
    offsets = np.repeat(_OFFSET * rng.random(types), rows)
    scores = rng.normal(strengths + offsets[:, None], 1.0)
    extra = max(int(outliers * len(scores)), 1) if outliers else 0
    opposed = list(itertools.islice(_draw_opposed_rows(rng, strengths), extra))
    return strengths, np.vstack([scores, *opposed])


def _draw_opposed_rows(rng: np.random.Generator, strengths: Matrix) -> Iterator[Matrix]:
    """Random rows whose order opposes the strengths."""
    while True:
        rows = _OFFSET * rng.random((16, len(strengths)))
        yield from rows[tau(np.broadcast_to(strengths, rows.shape), rows) < 0]


def draw_appendix(rng: np.random.Generator, types: int, outliers: float, k: int, instances: int) -> Drawn:
    """Draw a setup of appendix A.2: strengths for each type, permuted rows as outliers."""
    strengths = rng.random((types, k))
    scores = rng.normal(np.repeat(strengths, instances // types, axis=0), 1.0)
    changed = max(int(outliers * len(scores)), 1) if outliers else 0
    rows = rng.choice(len(scores), changed, replace=False)
    scores[rows] = rng.permuted(scores[rows], axis=1)
    return strengths.mean(axis=0), scores
