"""Validation criteria and tasks over the epochs of a fit: Figure 4 and Table 1 of the dissertation's chapter 10.

    criteria     semantic and structural, on the rows that the fit watches
    tasks        of each epoch's map on held-out texts (`evaluation.py`): induction of linked words by CSLS, retrieval
                 of texts, F1 of word alignment with gold links, and correlation of XMoverScore with human scores
    correlation  Pearson's r over epochs, of two tasks (Table 1) and of a criterion and a task (Figure 4), without
                 epoch 0, which is the start. NaN where a series is constant

A fit writes the map of each epoch to a folder (`EpochFolder`). They are evaluated together: texts are encoded once.
"""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nlgauge.core.result import Result
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.canvas import WIDEST, finish_figure, legend_entries, new_panels, series_styles
from nlgauge.io.storage import write_atomic
from nlgauge.io.table import Cell, Table
from nlgauge.stats.correlation import correlate
from nlgauge.studies.alignment.evaluation import Compared, EvaluatedMap, Rated, evaluate_alignment
from nlgauge.studies.alignment.training_loop import Observation
from nlgauge.studies.alignment.word_spaces import AlignmentInputs
from nlgauge.vectors.transforms import load_map

#: Measures of an evaluation by task. F1 needs gold links, and the last one human scores.
_TASKS = {
    "induction": "induction CSLS",
    "retrieval": "retrieval",
    "alignment": "alignment F1",
    "XMoverScore r": "XMoverScore r",
}

#: Table 1: its intervals of Pearson's r.
INTERVALS = ("[-1, 0]", "(0, 0.4]", "(0.4, 1]")

#: Fewest epochs for a correlation.
_FEWEST = 3

_CRITERIA_FILE = "criteria.json"


class EpochFolder:
    """Folder with the map of each epoch and a file with their criteria, as the observer of a `FitRun`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, observation: Observation) -> None:
        """Write a map and its criteria; epoch 0 starts the folder again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / _CRITERIA_FILE
        criteria = self.criteria() if observation.epoch and path.exists() else {}
        if not observation.epoch:
            for old in self.folder.glob("epoch-*.npz"):
                old.unlink()
        observation.map.save(self.path_of(observation.epoch))
        criteria[observation.epoch] = dict(observation.criteria)
        write_atomic(path, json.dumps(criteria, indent=1).encode())

    def path_of(self, epoch: int) -> Path:
        """File of an epoch's map."""
        return self.folder / f"epoch-{epoch:03d}.npz"

    def criteria(self) -> dict[int, dict[str, float]]:
        """Read the criteria of each epoch."""
        path = self.folder / _CRITERIA_FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return {int(epoch): dict(values) for epoch, values in content.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            msg = f"{str(path)!r} has no criteria of a fit ({error}); write it with 'align fit --epoch-maps'"
            raise FileFormatError(msg) from error


class EpochRow(NamedTuple):
    """Criteria and tasks of one epoch."""

    epoch: int
    criteria: Mapping[str, float]
    tasks: Mapping[str, float]


class Association(NamedTuple):
    """Correlation over epochs."""

    left: str
    right: str
    pearson: float


@dataclass(frozen=True)
class EpochTasks(Result):
    """Criteria and tasks over epochs, and their correlations."""

    format = "nlgauge-epoch-tasks-1"

    method: str
    epochs: tuple[EpochRow, ...]

    @classmethod
    def of(cls, method: str, criteria: Mapping[int, Mapping[str, float]], maps: Sequence[EvaluatedMap]) -> EpochTasks:
        """Combine the criteria of each epoch with the evaluation of its map, in order of epochs."""
        first = maps[0].values()
        tasks = {task: measure for task, measure in _TASKS.items() if math.isfinite(first[measure])}
        rows = [
            EpochRow(epoch, criteria[epoch], {task: row.values()[measure] for task, measure in tasks.items()})
            for epoch, row in zip(sorted(criteria), maps, strict=True)
        ]
        return cls(method, tuple(rows))

    @property
    def task_pairs(self) -> tuple[Association, ...]:
        """Correlations between tasks (Table 1)."""
        return tuple(self._association(*pair) for pair in itertools.combinations(self.epochs[0].tasks, 2))

    @property
    def criteria_with_tasks(self) -> tuple[Association, ...]:
        """Correlations of criteria with tasks (Figure 4)."""
        first = self.epochs[0]
        return tuple(self._association(*pair) for pair in itertools.product(first.criteria, first.tasks))

    @property
    def interval_shares(self) -> tuple[float, ...]:
        """Share of task pairs in each of `INTERVALS`; NaN without a pair."""
        return interval_shares([pair.pearson for pair in self.task_pairs])

    def _association(self, left: str, right: str) -> Association:
        learned = [row for row in self.epochs if row.epoch > 0]
        series = [[(row.criteria | row.tasks)[name] for row in learned] for name in (left, right)]  # type: ignore[operator]
        if len(learned) < _FEWEST:
            return Association(left, right, math.nan)
        return Association(left, right, correlate(*series, undefined="nan").value)

    def tables(self, form: str = "text") -> list[Table]:
        """Build tables of epochs, of correlations, and of shares of task pairs."""
        first = self.epochs[0]
        rows: list[list[Cell]] = [
            [row.epoch, *map(_defined, (*row.criteria.values(), *row.tasks.values()))] for row in self.epochs
        ]
        pairs = (*self.task_pairs, *self.criteria_with_tasks)
        correlations: list[list[Cell]] = [[pair.left, pair.right, _defined(pair.pearson)] for pair in pairs]
        return [
            Table(["epoch", *first.criteria, *first.tasks], rows, f"{self.method}: criteria and tasks over epochs"),
            Table(["over epochs", "with", "Pearson"], correlations),
            Table(["pairs of tasks", *INTERVALS], [["share", *map(_defined, self.interval_shares)]]),
        ]

    def figure(self) -> Any:
        """Draw each series, and the correlations as bars."""
        first = self.epochs[0]
        names = (*first.criteria, *first.tasks)
        styles = series_styles(names)
        figure, (curves, bars) = new_panels(1, 2, width=WIDEST, height=3.4)
        epochs = [row.epoch for row in self.epochs]
        for name, style in styles.items():
            values = [(row.criteria | row.tasks)[name] for row in self.epochs]  # type: ignore[operator]
            low, high = min(values), max(values)
            scaled = [(value - low) / (high - low) if high > low else 0.5 for value in values]
            dashes = "--" if name in first.criteria else "-"
            curves.plot(epochs, scaled, dashes, marker=style.mark, markersize=3, linewidth=1, color=style.colour)
        curves.xaxis.get_major_locator().set_params(integer=True)
        pairs = (*self.task_pairs, *self.criteria_with_tasks)
        places = range(len(pairs))
        colours = [styles[pair.left].colour for pair in pairs]
        bars.barh(places, [0.0 if math.isnan(pair.pearson) else pair.pearson for pair in pairs], color=colours)
        bars.set_yticks(places, [f"{pair.left} with {pair.right}" for pair in pairs])
        bars.invert_yaxis()
        bars.set_xlim(-1, 1)
        bars.axvline(0, color="#333333", linewidth=0.8)
        bars.grid(visible=False, axis="y")
        for ax, title, label in (
            (curves, "criteria (dashed) and tasks", "epoch"),
            (bars, "correlation over epochs", "Pearson's r"),
        ):
            ax.set_title(title, loc="left", fontsize=9)
            ax.set_xlabel(label, fontsize=8)
            ax.tick_params(labelsize=8)
        finish_figure(
            figure,
            title=f"{self.method}: criteria and tasks over {epochs[-1]} epochs",
            caption="Each line is scaled to its own range. Correlations leave out epoch 0, the start.",
            legend=(legend_entries(styles, kind="mark"), list(styles)),
        )
        return figure


def _defined(value: float) -> Cell:
    return value if math.isfinite(value) else None


def interval_shares(values: Sequence[float]) -> tuple[float, ...]:
    """Share of correlations in each of `INTERVALS`; undefined ones do not count.

    >>> interval_shares([-0.2, 0.0, 0.4, 0.41])
    (0.5, 0.25, 0.25)
    """
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return (math.nan,) * len(INTERVALS)
    counts = (
        sum(value <= 0 for value in defined),
        sum(0 < value <= 0.4 for value in defined),
        sum(value > 0.4 for value in defined),
    )
    return tuple(count / len(defined) for count in counts)


def evaluate_epochs(
    folder: Path, inputs: AlignmentInputs, *, rated: Rated | None = None, run: dict[str, Any] | None = None
) -> EpochTasks:
    """Evaluate the maps that a fit wrote to a folder (`EpochFolder`) on held-out texts.

    `run`: options of `nlgauge.score` for the correlation with human scores.
    """
    saved = EpochFolder(folder)
    criteria = saved.criteria()
    maps = [(str(epoch), saved.path_of(epoch)) for epoch in sorted(criteria)]
    if not maps:
        msg = f"{str(folder)!r} contains no epoch; write it with 'align fit --epoch-maps'"
        raise InputError(msg)
    with tempfile.TemporaryDirectory() as fitted:
        rows, _ = evaluate_alignment(inputs, Compared(maps=maps), folder=Path(fitted), rated=rated, run=run)
    return EpochTasks.of(load_map(maps[0][1]).origin.method, criteria, rows[1:])  # the first is without a map
