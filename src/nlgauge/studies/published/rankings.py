"""Recompute published tables on rankings of systems.

Scores come from frames (instances x systems, one metric); no text is scored. A cell is the disagreement between two
ways to rank systems, how often a test finds a difference, or how well a ranking recovers known strengths:

    disagreement    over all rows of every frame                                 Tables 1 and 4
    by-data         per data set and metric, on random parts of the rows         Table 3
    by-metric       per metric, then per task, on random parts                   Figure 4(a, b)
    by-size         per number of random rows                                    Figure 4(c)
    tests           share of pairs significant under one test that are under another    Figure 6
    simulation      Kendall's tau with the strengths that scores were drawn from Figure 3
    pairing         the same scores with other pairings                          Figure 2
    ties            number of ties, and their effect on Table 1                  not published

The key of a row is a pair of mechanisms, a data set and metrics, a metric or a task, a task and a number of rows, a
test, a panel and a level, an order of types, or patterns of data sets and metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.cards import load
from nlgauge.data.judgements import select_known
from nlgauge.studies.compare.system_scores import SystemScores
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
    DRAWS_OF_TABLE_3,
    FIVE_TYPES,
    PAIRS,
    POLICIES,
    TESTS,
    THREE_TYPES,
    by_data,
    by_metric,
    by_size,
    by_task,
    conditional_shares,
    count_ties,
    disagreements,
    draw_pairings,
    find_differences,
    mean_against_bt,
)
from nlgauge.studies.published.made_frames import YEARS, is_wmt, make_frames, read_frames, wanted_metrics
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NOT_COMPUTED, ReproducedRow, Reproduction, Run, agrees, cells_of
from nlgauge.studies.published.tables import PublishedFrames, TableRow

#: Level at which a table of independent draws has any cell that is too far from print.
_LEVEL = 0.05


class RankingRun(Run):
    """Recomputes a table on rankings: values by row and column, and reasons for differences by row."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.options = request.rankings
        self.labels = [column.label for column in self.table.columns]
        selected = select_known(request.data, self.table.data, f"{self.table.id}: data set")
        self.frames = [frames for frames in self.table.frames if not frames.card or frames.card in selected]
        self.values: dict[tuple[str, str], float] = {}
        self.reasons: dict[str, str] = {}
        self.beyond: dict[str, tuple[str, ...]] = {}

    def add(self, row: TableRow, values: Iterable[float], reason: str = "") -> None:
        """Add a row in column order, without undefined values; counts stay integers."""
        for column, value in zip(self.labels, values, strict=True):
            if math.isfinite(value):
                self.values[row.name, column] = value if isinstance(value, int) else float(value)
        self.reasons[row.name] = reason

    def find_frames(self) -> list[FrameSet]:
        """Load the available frames; others are listed as missing, public ones with their source."""
        sets = []
        for frames in self.frames:
            if not frames.card and is_wmt(frames) and self._is_used(frames.label):
                made = self._make_frames(frames)
                sets += [FrameSet(frames.label, frames.task, made)] if made else []
            path = self.locate(frames.card) if frames.card else None
            if path is None:
                continue
            with self.or_missing(f"frames of {frames.label}"):
                by_metric = frames_of(load(frames.card, path))
                if self.options.reverse:
                    by_metric = {name: scores.take(scores.systems[::-1]) for name, scores in by_metric.items()}
                sets.append(FrameSet(frames.label, frames.task, by_metric))
        made_labels = {frames.label for frames in sets}
        if absent := [frames for frames in self.frames if not frames.card and frames.label not in made_labels]:
            setups = sum(frames.metrics for frames in absent)
            self.missing[f"{setups} setups have no scores in the published repository: {_format_labels(absent)}"] = (
                None
            )
        return sets

    def _is_used(self, label: str) -> bool:
        """Whether a selected row uses the frames of a data set; most experiments use all of them."""
        if self.table.experiment != "by-data":
            return True
        return any(row.key and label.partition(" ")[0] == row.key[0] for row in self.table.rows)

    def _make_frames(self, frames: PublishedFrames) -> dict[str, SystemScores]:
        """Frames from saved runs, and those that the options ask for from the outputs."""
        options, made = self.options, dict[str, SystemScores]()
        if options.frames is not None:
            with self.or_missing(f"frames of {frames.label}"):
                made = read_frames(options.frames, frames)
        used = None
        if self.table.experiment == "by-data":
            used = {name for row in self.table.rows for name in row.key[1:]}
        if metrics := wanted_metrics(options.score, used, made):
            path = self.locate(frames.label.partition(" ")[0].lower())
            if path is not None:
                with self.or_missing(f"frames of {frames.label}"):
                    made |= make_frames(
                        path,
                        frames,
                        metrics,
                        run=self.request.run,
                        save=options.frames,
                        vectors=self.request.vectors,
                    )
        if options.reverse:
            made = {name: scores.take(scores.systems[::-1]) for name, scores in made.items()}
        for name, scores in made.items():
            self.notes[f"frames of {name}: ours, {scores.signature}"] = None
        return made

    def ranking_row(self, row: TableRow) -> ReproducedRow:
        """Build a row with our values; other draws or frames are given as a reason."""
        ours = {label: value for (name, label), value in self.values.items() if name == row.name}
        if not row.computed or row.name not in self.reasons:
            return self.row(row, ours, row.note or NOT_COMPUTED)
        agreement = agrees(cells_of(row, self.table.columns, ours).values(), self.table.decimals)
        reason = "; ".join(filter(None, [agreement, self.reasons[row.name], row.note]))
        return self.row(row, ours, reason, beyond=self.beyond.get(row.name, ()))


def compute_rankings(request: Request, *, grid: Grid = GRID) -> Reproduction:
    """Recompute a table on the available frames; `grid` has the setups of the simulation of Figure 3."""
    run = RankingRun(request)
    run.options.check_used(run.table.experiment, what=run.table.id)
    if not run.table.frames:
        _pairings(run) if run.table.experiment == "pairing" else _simulation(run, grid)
    elif sets := run.find_frames():
        _ON_FRAMES[run.table.experiment](run, sets)
    usual, options = RankingOptions().to_dict(), run.options.to_dict()
    if changed := [f"{name}={value}" for name, value in options.items() if value != usual[name]]:
        run.notes[f"non-default options: {', '.join(changed)}"] = None
    run.table = replace(run.table, frames=tuple(run.frames))
    return run.result([run.ranking_row(row) for row in run.table.rows], options=options)


def _format_labels(frames: Sequence[PublishedFrames]) -> str:
    """Format labels of frames; those of the same year of WMT are grouped."""
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
    distances: dict[str, dict[str, float]] = {}
    for row in run.table.rows:
        # The language pairs of a year of WMT are averaged.
        used = [
            frames
            for frames in sets
            if row.computed and frames.label.partition(" ")[0] == row.key[0] and set(row.key[1:]) & set(frames.frames)
        ]
        if not used:
            continue
        with run.or_missing(f"values of {row.name}"):
            parts = [by_data(frames, row.key[1:], run.options) for frames in used]
            cells = [(pair, i) for i in range(len(MEASURES)) for pair in PAIRS]
            values = [float(np.mean([part[pair].values[i] for part in parts])) for pair, i in cells]
            errors = [
                math.sqrt(sum(float(part[pair].errors[i]) ** 2 for part in parts)) / len(parts) for pair, i in cells
            ]
            if run.options.full or not any(errors):
                run.add(row, values, "all rows" if run.options.full else "other draws")
                continue
            if row.key[0] in YEARS:  # standard errors are of draws, and these frames differ from the paper's
                run.add(row, values, "other frames and other draws")
                continue
            distances[row.name] = _distances(row, run.labels, values, errors)
            near = sum(distance <= 2 for distance in distances[row.name].values())
            run.add(row, values, f"other draws, {near} of {len(distances[row.name])} within two standard errors")
    if every := [distance for of_row in distances.values() for distance in of_row.values()]:
        # Of many cells some are far from print by chance, so the level is that of all of them.
        most = NormalDist().inv_cdf(1 - _LEVEL / 2 / len(every))
        run.beyond |= {
            name: tuple(label for label, distance in of_row.items() if distance > most)
            for name, of_row in distances.items()
        }
        near, far = (sum(distance <= limit for distance in every) for limit in (2, most))
        run.notes[
            f"{near} of {len(every)} cells are within two standard errors of print (95 % are expected of other "
            f"draws), and {far} within {most:.1f} (all, in 95 % of such tables)"
        ] = None


def _distances(
    row: TableRow, labels: Sequence[str], values: Sequence[float], errors: Sequence[float]
) -> dict[str, float]:
    """Distances from print in standard errors of the difference, by column."""
    printed = [float(row.published[label]) for label in labels]
    if row.exchanged:
        printed = [printed[i + (1, -1, 0)[i % 3]] for i in range(len(printed))]
    distances = {}
    for i, (label, ours, theirs, error) in enumerate(zip(labels, values, printed, errors, strict=True)):
        # Print has no errors: ours stand in, but a share of nearly none or all of our draws has too small an error.
        is_share = i >= len(PAIRS) and len(row.key) == 2
        of_print = max(error, math.sqrt(theirs * (1 - theirs) / DRAWS_OF_TABLE_3)) if is_share else error
        off = max(0.0, abs(ours - theirs) - 0.005)  # published values are rounded to hundredths
        if math.isfinite(ours):
            distances[label] = off / math.hypot(error, of_print) if off else 0.0
    return distances


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


def _by_size(run: RankingRun, sets: Sequence[FrameSet]) -> None:
    for row in run.table.rows:
        task, size = row.key[0], int(row.key[1])
        used = [frames for frames in sets if task in ("all", frames.task) and _rows_of(frames) >= size]
        if not used:
            run.reasons[row.name] = f"no frame with {size:,} rows"
            continue
        with run.or_missing(f"values of {row.name}"):
            measured = by_size(used, size, run.options)
            labels = ", ".join(frames.label for frames in used)
            run.add(row, [measured[pair][0] for pair in PAIRS], f"on {labels}")


def _rows_of(frames: FrameSet) -> int:
    return next(iter(frames.frames.values())).n


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
    reversed_pairings = sum(pairing.strengths[1] > pairing.strengths[0] for pairing in five)
    run.notes[
        f"five types: Bradley-Terry prefers B in {reversed_pairings} of {len(five)} pairings, mean and median in none"
    ] = None
    for row in run.table.rows:
        name, *order = row.key
        by_order = {tuple(map(str, pairing.order)): pairing for pairing in drawn[name]}
        pairing = ends[order[0]] if name == FIVE_TYPES.name else by_order[tuple(order)]
        means, medians = pairing.scores.mean(axis=0), np.median(pairing.scores, axis=0)
        run.add(row, [*means.tolist(), *medians.tolist(), pairing.wins, *pairing.strengths.tolist()])


_ON_FRAMES: Mapping[str, Callable[[RankingRun, Sequence[FrameSet]], None]] = {
    "disagreement": _disagreement,
    "by-data": _by_data,
    "by-metric": _by_metric,
    "by-size": _by_size,
    "tests": _tests,
    "ties": _ties,
}
