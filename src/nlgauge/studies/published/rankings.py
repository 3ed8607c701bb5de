"""Published tables on rankings of systems, recomputed.

Scores come from frames (instances x systems, one metric), and no text is scored. A cell says how far two ways to rank
systems disagree, how often a test finds a difference, or how well a ranking finds strengths that are known:

    disagreement    over all rows of every frame                                 Tables 1 and 4
    by-data         per data set and metric, on random parts of the rows         Table 3
    by-metric       per metric, then per task, on random parts                   Figure 4
    tests           what a test finds among the pairs where another does         Figure 6
    simulation      Kendall's tau with strengths that scores were drawn from     Figure 3
    pairing         the same scores, paired in another way                       Figure 2
    ties            how many ties there are, and what becomes of Table 1         not in print

The key of a row is a pair of mechanisms, a data set and metrics, a metric or a task, a test, a panel and a level of
it, an order of types, or patterns of data sets and metrics.

A table of kind `density` is the simulation of chapter 10 of W. Zhao's dissertation: words of two languages in a
plane, of which one is moved, and methods that find how; the key of a row is such a method.

    words        20, means uniform in [-5, 5]^2; k occurrences each, drawn around the mean with a deviation of 1
    test         as many again, around means moved by eps: another domain
    as written   the other language is the first, rotated and moved t times in turn. That is one rigid motion for any
                 t, which the centred rotation finds exactly (D10.9)
    bent         ours: besides, each step bends the plane, y <- y + sin(x) and x <- x + sin(y), so that more steps are
                 really less alike, and no rotation is right

An occurrence of the test is found if the nearest among all occurrences of the other language is of its word (P@1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.cards import load
from nlgauge.data.judgements import select_known
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.io.packages import require
from nlgauge.studies.alignment.flow_fit import fit_flow
from nlgauge.studies.alignment.training_loop import FlowOptions
from nlgauge.studies.paired_evaluation import (
    GRID,
    MEASURES,
    PANELS,
    FrameSet,
    Grid,
    RankingOptions,
    Simulated,
    frames_of,
    simulate,
)
from nlgauge.studies.paired_measures import (
    FIVE_TYPES,
    PAIRS,
    POLICIES,
    TESTS,
    THREE_TYPES,
    by_data,
    by_metric,
    by_task,
    conditional_shares,
    count_ties,
    disagreements,
    draw_pairings,
    find_differences,
    mean_against_bt,
)
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NOT_COMPUTED, ReproducedRow, Reproduction, Run, agrees, cells_of
from nlgauge.studies.published.tables import PublishedFrames, TableRow
from nlgauge.vectors.remap import fit_remapping

#: Runs of a simulation of languages, as in the paper.
_RUNS = 10


class RankingRun(Run):
    """A table on rankings: values by row and column, and why rows differ from print."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.options = request.rankings
        self.labels = [column.label for column in self.table.columns]
        wanted = select_known(request.data, self.table.data, f"{self.table.id}: data set")
        self.frames = [frames for frames in self.table.frames if not frames.card or frames.card in wanted]
        self.values: dict[tuple[str, str], float] = {}
        self.reasons: dict[str, str] = {}

    def add(self, row: TableRow, values: Iterable[float], reason: str = "") -> None:
        """A row, in the order of the columns; what is not defined is left out, and counts stay whole numbers."""
        for column, value in zip(self.labels, values, strict=True):
            if math.isfinite(value):
                self.values[row.name, column] = value if isinstance(value, int) else float(value)
        self.reasons[row.name] = reason

    def find_frames(self) -> list[FrameSet]:
        """The frames that are here; what is not is noted as missing, public sets with where they are published."""
        sets = []
        for frames in self.frames:
            place = self.locate(frames.card) if frames.card else None
            if place is None:
                continue
            with self.or_missing(f"frames of {frames.label}"):
                by_metric = frames_of(load(frames.card, place))
                if self.options.reverse:
                    by_metric = {name: scores.take(scores.systems[::-1]) for name, scores in by_metric.items()}
                sets.append(FrameSet(frames.label, frames.task, by_metric))
        if absent := [frames for frames in self.frames if not frames.card]:
            setups = sum(frames.metrics for frames in absent)
            self.missing[f"{setups} setups whose frames the published repository lacks: {_listed(absent)}"] = None
        return sets

    def ranking_row(self, row: TableRow) -> ReproducedRow:
        """A row with our values; those of other draws or frames have a reason."""
        ours = {label: value for (name, label), value in self.values.items() if name == row.name}
        if not row.computed or row.name not in self.reasons:
            return self.row(row, ours, row.note or NOT_COMPUTED)
        same = agrees(cells_of(row, self.table.columns, ours).values(), self.table.decimals)
        return self.row(row, ours, "; ".join(filter(None, [same, self.reasons[row.name], row.note])))


def compute_rankings(request: Request, *, grid: Grid = GRID) -> Reproduction:
    """The table with our values on the frames that are here; `grid` is what Figure 3 is simulated on."""
    run = RankingRun(request)
    run.options.check_used(run.table.experiment, what=run.table.id)
    if not run.table.frames:
        _pairings(run) if run.table.experiment == "pairing" else _simulation(run, grid)
    elif sets := run.find_frames():
        _ON_FRAMES[run.table.experiment](run, sets)
    usual, options = RankingOptions().to_dict(), run.options.to_dict()
    if changed := [f"{name}={value}" for name, value in options.items() if value != usual[name]]:
        run.notes[f"other than the defaults: {', '.join(changed)}"] = None
    run.table = replace(run.table, frames=tuple(run.frames))
    return run.result([run.ranking_row(row) for row in run.table.rows], options=options)


def _listed(frames: Sequence[PublishedFrames]) -> str:
    """Labels, those of one year of WMT together."""
    groups: dict[str, list[str]] = {}
    for entry in frames:
        name, _, pair = entry.label.partition(" ")
        groups.setdefault(name, []).extend([pair] if pair else [])
    return ", ".join(f"{name} ({', '.join(pairs)})" if pairs else name for name, pairs in groups.items())


def _disagreement(run: RankingRun, sets: Sequence[FrameSet]) -> None:
    mechanisms = list(dict.fromkeys(name for row in run.table.rows for name in row.key))
    measured = disagreements(sets, mechanisms, run.options)
    share = (
        f"{sum(len(frames.frames) for frames in sets)} of {sum(frames.metrics for frames in run.table.frames)} setups"
    )
    run.notes[f"ours: {share} ({', '.join(frames.label for frames in sets)})"] = None
    for row in run.table.rows:
        first, second = row.key
        values = measured.get((first, second), measured.get((second, first)))
        if values is not None:
            run.add(row, values * run.table.scale, share)


def _by_data(run: RankingRun, sets: Sequence[FrameSet]) -> None:
    by_label = {frames.label: frames for frames in sets}
    for row in run.table.rows:
        if not row.computed or row.key[0] not in by_label:
            continue
        with run.or_missing(f"values of {row.name}"):
            parts = by_data(by_label[row.key[0]], row.key[1:], run.options)
            values, errors = (
                [float(getattr(parts[pair], kind)[i]) for i in range(len(MEASURES)) for pair in PAIRS]
                for kind in ("values", "errors")
            )
            run.add(row, values, "all rows" if run.options.full else _distance(row, run.labels, values, errors))


def _distance(row: TableRow, labels: Sequence[str], values: Sequence[float], errors: Sequence[float]) -> str:
    """How many cells are as near to print as two series of draws are to each other: within two standard errors."""
    if not any(errors):
        return "other draws"
    printed = [float(row.published[label]) for label in labels]
    if row.exchanged:
        printed = [printed[i + (1, -1, 0)[i % 3]] for i in range(len(printed))]
    near = [
        # Print is rounded to hundredths.
        abs(ours - theirs) <= 2 * math.sqrt(2) * error + 0.005
        for ours, theirs, error in zip(values, printed, errors, strict=True)
        if math.isfinite(ours)
    ]
    return f"other draws, {sum(near)} of {len(near)} within two standard errors"


def _by_metric(run: RankingRun, sets: Sequence[FrameSet]) -> None:
    for row in run.table.rows:
        if not row.computed:
            continue
        kind, name = row.key
        used = sets if kind == "metric" else [frames for frames in sets if frames.task == name]
        measured = {}
        with run.or_missing(f"values of {row.name}"):
            if used:
                measured = by_metric(used, name, run.options) if kind == "metric" else by_task(used, run.options)
        if measured:
            labels = ", ".join(frames.label for frames in used)
            run.add(row, [measured[pair][0] for pair in PAIRS], f"on {labels} only")


def _tests(run: RankingRun, sets: Sequence[FrameSet]) -> None:
    differences = find_differences(sets, run.options)
    shares = conditional_shares(differences)
    labels = ", ".join(frames.label for frames in sets)
    run.notes[f"ours: {len(differences):,} pairs of systems, on {labels}"] = None
    for row in run.table.rows:
        run.add(row, shares[TESTS.index(row.key[0])].tolist(), "other frames")


def _ties(run: RankingRun, sets: Sequence[FrameSet]) -> None:
    measured = [mean_against_bt(sets, policy) for policy in POLICIES]
    by_label = {frames.label: frames.frames for frames in sets}
    for row in run.table.rows:
        chosen = [
            (label, metric)
            for label, frames in by_label.items()
            for metric in frames
            if all(map(fnmatchcase, (label, metric), row.key))
        ]
        if not chosen:
            continue
        with run.or_missing(f"values of {row.name}"):
            counts = count_ties([by_label[label][metric] for label, metric in chosen])
            hidden = 100 * counts.hidden / max(1, counts.exact + counts.hidden)
            shares = [run.table.scale * float(np.mean([by_frame[key] for key in chosen])) for by_frame in measured]
            run.add(row, [*counts, hidden, *shares], f"{len(chosen)} frames")


def _simulation(run: RankingRun, grid: Grid) -> None:
    simulated = simulate(run.options, grid=grid)
    run.notes[f"ours: {len(grid):,} setups, design {run.options.design}, seed {run.options.seed}"] = None
    for row in run.table.rows:
        setups = _setups(simulated, row.key)
        if setups.any():
            means, errors = zip(*simulated.mean_tau(setups).values(), strict=True)
            run.add(row, [*means, *(1.96 * error for error in errors)])


def _setups(simulated: Simulated, key: tuple[str, ...]) -> NDArray[np.bool_]:
    if key == ("all",):
        return np.ones(len(simulated.setups["types"]), dtype=bool)
    panel = PANELS[key[0]]
    at_level: NDArray[np.bool_] = simulated.setups[panel.axis] == float(key[1])
    return simulated.chosen(panel) & at_level


def _pairings(run: RankingRun) -> None:
    drawn = {types.name: draw_pairings(types, run.options) for types in (THREE_TYPES, FIVE_TYPES)}
    five = drawn[FIVE_TYPES.name]
    ends = {
        "as in Table 2": five[0],
        "most wins of S": max(five, key=lambda pairing: pairing.wins),
        "fewest wins of S": min(five, key=lambda pairing: pairing.wins),
    }
    other = sum(pairing.strengths[1] > pairing.strengths[0] for pairing in five)
    run.notes[
        f"five types: Bradley-Terry prefers B in {other} of the {len(five)} pairings, mean and median in none"
    ] = None
    for row in run.table.rows:
        name, *which = row.key
        by_order = {tuple(map(str, pairing.order)): pairing for pairing in drawn[name]}
        pairing = ends[which[0]] if name == FIVE_TYPES.name else by_order[tuple(which)]
        means, medians = pairing.scores.mean(axis=0), np.median(pairing.scores, axis=0)
        run.add(row, [*means.tolist(), *medians.tolist(), pairing.wins, *pairing.strengths.tolist()])


_ON_FRAMES: Mapping[str, Callable[[RankingRun, Sequence[FrameSet]], None]] = {
    "disagreement": _disagreement,
    "by-data": _by_data,
    "by-metric": _by_metric,
    "tests": _tests,
    "ties": _ties,
}


def compute_density(request: Request) -> Reproduction:
    """The table; of the options of rankings, the seed and the number of draws (runs) are meant."""
    run, options = Run(request), request.rankings
    if replace(options, draws=None, seed=RankingOptions.seed) != RankingOptions():
        msg = f"{run.table.id} draws its words: it takes draws and seed, and no other option of rankings"
        raise RecipeError(msg)
    count = options.draws or _RUNS
    run.notes[f"ours: {count} run{'s' * (count != 1)} from seed {options.seed}"] = None
    return run.result([_density_row(run, row, count) for row in run.table.rows])


def _density_row(run: Run, row: TableRow, count: int) -> ReproducedRow:
    fit = _fitter(run, row)
    if fit is None:
        return run.row(row, {}, NOT_COMPUTED if row.computed else row.note)
    ours: dict[str, float] = {}
    spread = []
    for column in run.table.questions:
        with run.or_missing(f"value of {row.name}, {column.label}"):
            setup, seed = Setup(**column.setup), run.request.rankings.seed
            shares = run.table.scale * simulate_density(setup, fit, runs=count, seed=seed)
            ours[column.label] = float(shares.mean())
            spread.append(float(shares.std(ddof=1)) if len(shares) > 1 else 0.0)
    deviation = f"deviation over runs up to {np.max(spread):.1f}" if spread else NOT_COMPUTED
    return run.row(row, ours, "; ".join(filter(None, [deviation, row.note])))


def _fitter(run: Run, row: TableRow) -> Fitter | None:
    """How the row's method is fitted; None, and why, where it is not."""
    if not row.computed:
        return None
    if row.key[0] in LINEAR:
        return LINEAR[row.key[0]]
    try:
        return flow_fitter()
    except MissingExtraError as error:
        run.missing[f"{row.name}: {error}"] = None
        return None


Matrix = NDArray[np.float64]
Fitter = Callable[[Matrix, Matrix], Callable[[Matrix], NDArray[np.float32]]]

WORDS = 20
_REACH = 5.0


class Setup(NamedTuple):
    """What is varied."""

    steps: int = 5
    """t: how often the other language is moved."""
    occurrences: int = 100
    """k, of each word."""
    shift: float = 0.0
    """eps: how far the words of the test lie from where they were learned."""
    kind: Literal["as written", "bent"] = "as written"


class Drawn(NamedTuple):
    """Occurrences of both languages, row by row; the first two for fitting."""

    source: Matrix
    target: Matrix
    test_source: Matrix
    test_target: Matrix


def draw(setup: Setup, *, seed: int) -> Drawn:
    """One run."""
    chance = np.random.default_rng(seed)
    means = chance.uniform(-_REACH, _REACH, (WORDS, 2))
    moves = [(chance.uniform(0, 2 * np.pi), chance.uniform(-_REACH, _REACH, 2)) for _ in range(setup.steps)]
    around = np.repeat(means, setup.occurrences, axis=0)
    source = around + chance.normal(size=around.shape)
    test = around + setup.shift + chance.normal(size=around.shape)
    return Drawn(source, _moved(source, moves, setup), test, _moved(test, moves, setup))


def _moved(rows: Matrix, moves: list[tuple[float, Matrix]], setup: Setup) -> Matrix:
    """t moves: a rotation, then a translation, in turn; a bent step has both and a wave on each axis."""
    for number, (angle, shift) in enumerate(moves):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        if setup.kind == "bent":
            rows = rows @ turn
            rows = rows + np.stack([np.zeros(len(rows)), np.sin(rows[:, 0])], axis=1)
            rows = rows + np.stack([np.sin(rows[:, 1]), np.zeros(len(rows))], axis=1) + shift
        else:
            rows = rows @ turn if number % 2 == 0 else rows + shift
    return rows


def precision_of(moved: NDArray[np.float32], target: Matrix, occurrences: int = 1) -> float:
    """P@1 of words by Euclidean distance: in a plane, directions alone do not tell words apart."""
    x, y = moved.astype(np.float64), target.astype(np.float64)
    words = np.arange(len(y)) // occurrences
    right = 0
    for start in range(0, len(x), 500):
        part = x[start : start + 500]
        distance = np.square(part[:, 0, None] - y[None, :, 0]) + np.square(part[:, 1, None] - y[None, :, 1])
        right += int((words[distance.argmin(axis=1)] == words[start : start + len(part)]).sum())
    return right / len(x)


#: Methods that need no torch, by the name in the table.
LINEAR: Mapping[str, Fitter] = {
    "Rotation": lambda source, target: fit_remapping(source, target, method="clp").apply,
    "centred rotation": lambda source, target: fit_remapping(source, target, method="centred").apply,
    "least squares": lambda source, target: fit_remapping(source, target, method="lsq").apply,
}


def flow_fitter(*, seed: int = 0) -> Fitter:
    """Real-NVP as fitted by nlgauge; needs torch."""
    require("torch", "torch")

    def fit(source: Matrix, target: Matrix) -> Callable[[Matrix], NDArray[np.float32]]:
        # In a plane a half is one number: many narrow layers, and no likelihood (words are clusters, not a bell).
        options = FlowOptions(
            couplings=4,
            hidden=64,
            epochs=60,
            batch=min(64, max(16, len(source) // 8)),
            learning_rate=1e-2,
            likelihood=0.0,
            validation="error",  # in a plane, cosines say little
            patience=20,
            seed=seed,
        )
        return fit_flow(source, target, options=options).map.apply

    return fit


def simulate_density(setup: Setup, fit: Fitter, *, runs: int = 10, seed: int = 0) -> NDArray[np.float64]:
    """P@1 of a method in each of the runs."""
    found = []
    for number in range(runs):
        drawn = draw(setup, seed=seed + number)
        apply = fit(drawn.source, drawn.target)
        found.append(precision_of(apply(drawn.test_source), drawn.test_target, setup.occurrences))
    return np.array(found)
