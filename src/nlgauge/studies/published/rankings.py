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
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.cards import find_data_card, load, locate
from nlgauge.data.judgements import select_known
from nlgauge.studies.paired_evaluation.measures import (
    FIVE_TYPES,
    PAIRS,
    POLICIES,
    TESTS,
    THREE_TYPES,
    Pairing,
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
from nlgauge.studies.paired_evaluation.mechanisms import MEASURES, FrameSet, frames_of
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.paired_evaluation.simulation import GRID, PANELS, Grid, Simulated, simulate
from nlgauge.studies.published.options import Request
from nlgauge.studies.published.runs import (
    NOT_COMPUTED,
    ReproducedRow,
    Reproduction,
    agrees,
    cells_of,
    or_missing,
)
from nlgauge.studies.published.tables import PaperTable, PublishedFrames, TableRow


@dataclass
class _Found:
    """What an experiment gives: values by row and column, and why rows differ from print."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    """Rows that could not be computed, and why."""

    def add(self, row: TableRow, columns: Iterable[str], values: Iterable[float], reason: str = "") -> None:
        """A row, in the order of the columns; what is not defined is left out, and counts stay whole numbers."""
        for column, value in zip(columns, values, strict=True):
            if math.isfinite(value):
                self.values[row.name, column] = value if isinstance(value, int) else float(value)
        self.reasons[row.name] = reason


def compute_rankings(request: Request, *, grid: Grid = GRID) -> Reproduction:
    """The table with our values on the frames that are here; `grid` is what Figure 3 is simulated on."""
    table, options = request.table, request.rankings
    options.check_used(table.experiment, what=table.id)
    wanted = select_known(request.data, table.data, f"{table.id}: data set")
    missing: dict[str, None] = {}
    asked = [frames for frames in table.frames if not frames.card or frames.card in wanted]
    sets = find_frames(asked, request.at, missing, reverse=options.reverse)
    if not table.frames:
        found = _pairings(table, options) if table.experiment == "pairing" else _simulation(table, options, grid)
    else:
        found = _ON_FRAMES[table.experiment](table, sets, options) if sets else _Found()
    table = replace(table, frames=tuple(asked))
    rows = tuple(_row(table, row, found) for row in table.rows)
    return Reproduction.of(
        table,
        "",
        table.columns,
        rows,
        missing=(*missing, *found.missing),
        notes=(*found.notes, *_changed(options)),
        options=options.to_dict(),
    )


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


def _row(table: PaperTable, row: TableRow, found: _Found) -> ReproducedRow:
    ours = {label: value for (name, label), value in found.values.items() if name == row.name}
    cells = cells_of(row, table.columns, ours)
    if not row.computed or row.name not in found.reasons:
        return ReproducedRow(row.name, cells, "", row.note or NOT_COMPUTED)
    reasons = [agrees(cells.values(), table.decimals), found.reasons[row.name], row.note]
    return ReproducedRow(row.name, cells, "", "; ".join(filter(None, reasons)))


def _changed(options: RankingOptions) -> list[str]:
    """What is not as the paper has it."""
    usual = RankingOptions().to_dict()
    given = [f"{name}={value}" for name, value in options.to_dict().items() if value != usual[name]]
    return [f"other than the defaults: {', '.join(given)}"] if given else []


def _disagreement(table: PaperTable, sets: Sequence[FrameSet], options: RankingOptions) -> _Found:
    mechanisms = list(dict.fromkeys(name for row in table.rows for name in row.key))
    measured = disagreements(sets, mechanisms, options)
    setups, printed = sum(len(one.frames) for one in sets), sum(one.metrics for one in table.frames)
    found = _Found(notes=[f"ours: {setups} of {printed} setups ({', '.join(one.label for one in sets)})"])
    for row in table.rows:
        one, other = row.key
        values = measured.get((one, other), measured.get((other, one)))
        if values is not None:
            labels = [column.label for column in table.columns]
            found.add(row, labels, values * table.scale, f"{setups} of {printed} setups")
    return found


def _by_data(table: PaperTable, sets: Sequence[FrameSet], options: RankingOptions) -> _Found:
    found = _Found()
    by_label = {one.label: one for one in sets}
    labels = [column.label for column in table.columns]
    for row in table.rows:
        if not row.computed or row.key[0] not in by_label:
            continue
        with or_missing(f"values of {row.name}", found.missing):
            parts = by_data(by_label[row.key[0]], row.key[1:], options)
            values, errors = (
                [float(getattr(parts[pair], kind)[at]) for at in range(len(MEASURES)) for pair in PAIRS]
                for kind in ("values", "errors")
            )
            found.add(row, labels, values, _distance(row, labels, values, errors) if not options.full else "all rows")
    return found


def _distance(row: TableRow, labels: Sequence[str], values: Sequence[float], errors: Sequence[float]) -> str:
    """How many cells are as near to print as two series of draws are to each other: within two standard errors."""
    if not any(errors):
        return "other draws"
    printed = [float(row.published[label]) for label in labels]
    if row.exchanged:
        printed = [printed[at + (1, -1, 0)[at % 3]] for at in range(len(printed))]
    both = [
        # Print is rounded to hundredths.
        abs(ours - theirs) <= 2 * math.sqrt(2) * error + 0.005
        for ours, theirs, error in zip(values, printed, errors, strict=True)
        if math.isfinite(ours)
    ]
    return f"other draws, {sum(both)} of {len(both)} within two standard errors"


def _by_metric(table: PaperTable, sets: Sequence[FrameSet], options: RankingOptions) -> _Found:
    found = _Found()
    labels = [column.label for column in table.columns]
    for row in table.rows:
        if not row.computed:
            continue
        kind, name = row.key
        of_task = [one for one in sets if one.task == name]
        measured = {}
        with or_missing(f"values of {row.name}", found.missing):
            measured = (
                by_metric(sets, name, options) if kind == "metric" else by_task(of_task, options) if of_task else {}
            )
        if measured:
            used = [one.label for one in (sets if kind == "metric" else of_task)]
            found.add(row, labels, [measured[pair][0] for pair in PAIRS], f"on {', '.join(used)} only")
    return found


def _tests(table: PaperTable, sets: Sequence[FrameSet], options: RankingOptions) -> _Found:
    differences = find_differences(sets, options)
    shares = conditional_shares(differences)
    found = _Found(notes=[f"ours: {len(differences):,} pairs of systems, on {', '.join(one.label for one in sets)}"])
    for row in table.rows:
        found.add(row, TESTS, shares[TESTS.index(row.key[0])].tolist(), "other frames")
    return found


def _ties(table: PaperTable, sets: Sequence[FrameSet], options: RankingOptions) -> _Found:
    del options  # its columns are the choices
    found = _Found()
    measured = [mean_against_bt(sets, policy) for policy in POLICIES]
    labels = [column.label for column in table.columns]
    for row in table.rows:
        chosen = [
            (one.label, metric)
            for one in sets
            for metric in one.frames
            if all(map(fnmatchcase, (one.label, metric), row.key))
        ]
        if not chosen:
            continue
        by_label = {one.label: one.frames for one in sets}
        with or_missing(f"values of {row.name}", found.missing):
            counts = count_ties([by_label[label][metric] for label, metric in chosen])
            hidden = 100 * counts.hidden / max(1, counts.exact + counts.hidden)
            shares = [table.scale * float(np.mean([by_frame[key] for key in chosen])) for by_frame in measured]
            found.add(row, labels, [*counts, hidden, *shares], f"{len(chosen)} frames")
    return found


def _simulation(table: PaperTable, options: RankingOptions, grid: Grid) -> _Found:
    simulated = simulate(options, grid=grid)
    found = _Found(notes=[f"ours: {len(grid):,} setups, design {options.design}, seed {options.seed}"])
    labels = [column.label for column in table.columns]
    for row in table.rows:
        kept = _setups(simulated, row.key)
        if kept.any():
            means, errors = zip(*simulated.mean_tau(kept).values(), strict=True)
            found.add(row, labels, [*means, *(1.96 * error for error in errors)])
    return found


def _setups(simulated: Simulated, key: tuple[str, ...]) -> NDArray[np.bool_]:
    if key == ("all",):
        return np.ones(len(simulated.setups["types"]), dtype=bool)
    panel = PANELS[key[0]]
    at_level: NDArray[np.bool_] = simulated.setups[panel.axis] == float(key[1])
    return simulated.chosen(panel) & at_level


def _pairings(table: PaperTable, options: RankingOptions) -> _Found:
    drawn = {one.name: draw_pairings(one, options) for one in (THREE_TYPES, FIVE_TYPES)}
    five = drawn[FIVE_TYPES.name]
    ends = {
        "as in Table 2": five[0],
        "most wins of S": max(five, key=lambda one: one.wins),
        "fewest wins of S": min(five, key=lambda one: one.wins),
    }
    other = sum(one.strengths[1] > one.strengths[0] for one in five)
    found = _Found(
        notes=[f"five types: Bradley-Terry prefers B in {other} of the {len(five)} pairings, mean and median in none"]
    )
    labels = [column.label for column in table.columns]
    for row in table.rows:
        name, *which = row.key
        by_order = {tuple(map(str, one.order)): one for one in drawn[name]}
        one = ends[which[0]] if name == FIVE_TYPES.name else by_order[tuple(which)]
        found.add(row, labels, _pairing_values(one))
    return found


def _pairing_values(one: Pairing) -> list[float]:
    means, medians = one.scores.mean(axis=0), np.median(one.scores, axis=0)
    return [*means.tolist(), *medians.tolist(), one.wins, *one.strengths.tolist()]


_ON_FRAMES: Mapping[str, Callable[[PaperTable, Sequence[FrameSet], RankingOptions], _Found]] = {
    "disagreement": _disagreement,
    "by-data": _by_data,
    "by-metric": _by_metric,
    "tests": _tests,
    "ties": _ties,
}
