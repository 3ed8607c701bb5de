"""Published tables of agreement: scores of metrics under one model, held against judgements of a data set.

Tables on hybrid systems (real systems mixed at random, `nlgauge.studies.meta.levels`) have other numbers of the same
scores:

    pearson     correlation of a metric with human scores over hybrids
    hits_at_1   how often a metric's best of some hybrids is the best by human scores
    mrr         mean of 1 / human rank of the metric's best
    diff        how much worse its human score is than that of the best, x 100

The package of WMT18 has no scores of single outputs, so each output has the official score of its system, and the
human score of a hybrid is the mean of these; a hybrid mixes two systems (D24).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import DataWarning, FileFormatError, MissingExtraError, ModelError, NlgaugeError
from nlgauge.studies.meta.levels import hybrid_results
from nlgauge.studies.meta.questions import answer
from nlgauge.studies.meta.row_scores import RowScores, released_rows
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import (
    NEEDS_VECTORS,
    NO_MODEL,
    NOT_COMPUTED,
    DataSlice,
    JudgedRows,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    Run,
    agrees,
    cells_of,
    slice_of,
)
from nlgauge.studies.published.tables import Column, PaperTable, TableRow, with_options

#: As in the paper: hybrids of a language pair, and how often the best of how many is chosen.
HYBRIDS = 10_000
CHOSEN_FROM = 100
REPEATS = 100_000


class Value(NamedTuple):
    """One value of ours; a name where a table prints names (the best setting of a language pair)."""

    value: float | str
    signature: str
    identical: bool = False
    """The released scores are those of the column that the row names as possibly identical."""
    settings: str = ""
    """How many settings of a study were run, where print has another number of them."""


#: By name of the row and label of the column.
Values = Mapping[tuple[str, str], Value]


def compute_agreement(request: Request) -> Reproduction:
    """The table with our values on the data sets that are here; each slice of one is read and encoded once."""
    run = PublishedRun(request)
    columns = run.columns()
    slices: dict[DataSlice, list[tuple[TableRow, Column]]] = {}
    for column in columns:
        if column.question is None:
            continue
        for row in run.table.rows:
            if run.computes(row):
                part = slice_of(column.question, column.langpair, data=row.data)
                slices.setdefault(part, []).append((row, column))
    values: dict[tuple[str, str], Value] = {}
    for part, asked in slices.items():
        values |= _slice_values(run, part, asked)
    if run.table.unavailable:
        run.missing[run.table.unavailable] = None
    return run.reproduction(columns, values)


def _slice_values(
    run: PublishedRun, part: DataSlice, asked: Sequence[tuple[TableRow, Column]]
) -> dict[tuple[str, str], Value]:
    """Our values of these rows and columns; those that cannot be computed are left out."""
    judged = run.judged(part)
    if judged is None:
        return {}
    measure = _hybrid_value if run.table.kind == "hybrids" else _agreement
    scores = _scores(run, judged.table, part.langpair, list({row.name: row for row, _ in asked}.values()))
    values = {}
    for row, column in asked:
        if row.name not in scores:
            continue
        own = scores[row.name]
        number, why = float("nan"), ""
        with run.or_missing(f"value of {row.name}, {column.label}"):
            number, why = measure(run.table, judged, own, column)
        if not np.isfinite(number):
            if why:
                run.missing[f"value of {row.name}, {column.label}: {why}"] = None
            continue
        other = row.identical_released_column
        identical = bool(other) and np.array_equal(own.values, judged.table.released.get(other, ()))
        signature = own.signatures.get(part.langpair, "")
        values[row.name, column.label] = Value(number * run.table.scale, signature, identical)
    return values


def _agreement(_table: PaperTable, judged: JudgedRows, scores: RowScores, column: Column) -> tuple[float, str]:
    """The number of a cell, and why there is none where it is nan."""
    assert column.question is not None
    with warnings.catch_warnings():
        # The published table is about that very column, and says so.
        if column.question.criterion in judged.table.caveats:
            warnings.simplefilter("ignore", DataWarning)
        agreement = answer(column.question, judged.table, scores, pairs=judged.pairs)[column.langpair]
    return agreement.value, agreement.note


def _hybrid_value(table: PaperTable, rows: JudgedRows, scores: RowScores, column: Column) -> tuple[float, str]:
    judged, langpair = rows.table, column.langpair
    official = judged.system_scores.get(langpair, {})
    chosen = [row for row, pair in enumerate(judged.langpair) if pair == langpair and judged.system[row] in official]
    systems = {name: line for line, name in enumerate(dict.fromkeys(judged.system[row] for row in chosen))}
    segments = {name: number for number, name in enumerate(dict.fromkeys(judged.segment[row] for row in chosen))}
    if len(systems) < 2 or len(chosen) != len(systems) * len(segments):
        return float("nan"), "hybrids need two systems with human scores, and each system's output for each segment"
    values, human = np.empty((2, len(systems), len(segments)))
    for row in chosen:
        system = judged.system[row]
        place = systems[system], segments[judged.segment[row]]
        values[place], human[place] = scores.oriented[row], official[system]
    (result,) = hybrid_results(
        {scores.name: values},
        human,
        mixed="two",
        hybrids=HYBRIDS,
        chosen_from=CHOSEN_FROM,
        repeats=1 if table.experiment == "pearson" else REPEATS,  # a correlation needs no choices
        undefined="nan",
    )
    return float(getattr(result, table.experiment)), result.reason or ""


def _scores(
    run: PublishedRun, table: JudgementTable, langpair: str, rows: Sequence[TableRow]
) -> dict[str, RowScores]:
    """By row; rows with one recipe share its scores."""
    recipes: dict[bool, dict[str, list[TableRow]]] = {False: {}, True: {}}
    scores = {}
    for row in rows:
        released = row.released_in.get(table.name, row.released)
        if released in table.released:
            scores[row.name] = released_rows(table, released)
        elif released:
            run.missing[f"{table.name} {langpair}: released scores {released!r}"] = None
        elif row.model is None or run.model_is_here():
            recipes[row.model is not None].setdefault(run.recipe(row, langpair), []).append(row)
    layer = run.request.layer
    with_model: dict[str, Any] = {"model": run.model} | ({} if layer is None else {"layer": layer})
    failed: dict[str, list[str]] = {}
    for needs_model, wanted in recipes.items():
        for recipe, result in _scored(run, table, list(wanted), with_model if needs_model else {}):
            for row in wanted[recipe]:
                if isinstance(result, NlgaugeError):
                    failed.setdefault(str(result), []).append(row.name)
                else:
                    scores[row.name] = result.component(row.component) if row.component else result
    for why, names in failed.items():
        run.missing[f"value of {', '.join(names)}, {langpair or table.name}: {why}"] = None
    return scores


def _scored(
    run: PublishedRun, table: JudgementTable, recipes: Sequence[str], options: Mapping[str, Any]
) -> Iterator[tuple[str, RowScores | NlgaugeError]]:
    """Scores of recipes, or why there are none: one that cannot be computed leaves the others."""
    if not recipes:
        return
    try:
        scored = score_judgements(table, recipes, run=run.request.run, **options).metrics
    except FileFormatError:
        raise
    except NlgaugeError as error:
        if len(recipes) == 1:
            yield recipes[0], error
            return
        for recipe in recipes:
            yield from _scored(run, table, [recipe], options)
    else:
        yield from ((scores.name, scores) for scores in scored)


class PublishedRun(Run):
    """A table under one model."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.model = request.model_name
        self._depth: int | None = None
        self._no_model = self.model == NO_MODEL

    def model_is_here(self) -> bool:
        """Whether the model can be loaded; looked up once, and listed as missing with the published ones."""
        if self._depth is None and not self._no_model:
            try:
                self._depth = load_encoder(self.model, **self.request.run.loading).layers
            except (ModelError, MissingExtraError) as error:
                self._no_model = True
                self.missing[f"model {self.model!r}: {error}"] = None
                for published in self.table.models:
                    self.missing[f"published model {published.name}: {published.published}"] = None
        return not self._no_model

    def computes(self, row: TableRow) -> bool:
        """Whether there is a way to compute a row under the model and with the word vectors at hand."""
        return row.computed and not self._lacks_vectors(row) and (self._own_model(row) or not row.own_model_only)

    def recipe(self, row: TableRow, langpair: str = "") -> str:
        """What a row is computed with under the model at hand, without the model itself."""
        text = row.recipe if self._own_model(row) else row.recipe_for_other_models or row.recipe
        depth = self._depth
        if depth is not None:
            text = re.sub(r"top-(\d+)", lambda match: str(max(0, depth - int(match[1]))), text)
        file = self.request.vectors
        vectors = f"vectors={file}" if row.word_vectors and file is not None else ""
        return with_options(text, ",".join(filter(None, (row.exceptions.get(langpair, ""), vectors))))

    def reproduction(self, columns: Sequence[Column], values: Values, *, empty_columns: bool = True) -> Reproduction:
        """The table with these values; columns without any are left out unless they are wanted."""
        rows = [self.model_row(row, columns, values) for row in self.table.rows]
        shown = tuple(column for column in columns if empty_columns or any(row.has(column.label) for row in rows))
        cut = [replace(row, cells={column.label: row.cells[column.label] for column in shown}) for row in rows]
        return self.result(cut, shown, model=self.model)

    def model_row(self, row: TableRow, columns: Sequence[Column], values: Values) -> ReproducedRow:
        """A row with its averages and the reason why it differs."""
        labels = [column.label for column in columns]
        ours = {label: values[row.name, label] for label in labels if (row.name, label) in values}
        shown: dict[str, float | str] = {label: value.value for label, value in ours.items()}
        for column in columns:
            if column.over:
                numbers = [value for label in column.over if isinstance(value := shown.get(label), float | int)]
                if len(numbers) == len(column.over):
                    shown[column.label] = float(np.mean(numbers))
        cells = cells_of(row, columns, shown, absolute=self.table.absolute or row.absolute)
        recipe = f"released: {row.released}" if row.released else ""
        if row.recipe and self.computes(row):
            recipe = self.recipe(row)
        signatures = {label: value.signature for label, value in ours.items()}
        return ReproducedRow(row.name, cells, recipe, self._reason(row, cells, list(ours.values())), signatures)

    def _own_model(self, row: TableRow) -> bool:
        return row.model is None or row.model.matches(self.model)

    def _lacks_vectors(self, row: TableRow) -> bool:
        return row.word_vectors == "needed" and self.request.vectors is None

    def _reason(self, row: TableRow, cells: Mapping[str, ReproducedCell], ours: Sequence[Value]) -> str:
        if not row.computed and row.note:
            return row.note
        if not self.computes(row) and self._lacks_vectors(row):
            return f"only shown: {NEEDS_VECTORS}"
        if not self.computes(row) and row.model is not None:
            return f"only shown: with --model {row.model.name} it would be computed"
        if not row.computed or not ours:
            return "not computed: --model none" if row.model is not None and self.model == NO_MODEL else NOT_COMPUTED
        same = agrees(cells.values(), self.table.decimals)
        identical = all(value.identical for value in ours)
        settings = " or ".join(dict.fromkeys(value.settings for value in ours if value.settings))
        other_model = row.model is not None and not self._own_model(row)
        # What another model made is not the published score, even where the decimals agree.
        reasons = [same.replace("as published", "same decimals as in print") if other_model else same] if same else []
        if identical:
            reasons.append(f"value for value the scores of {row.identical_released_column}")
        if row.model is not None and other_model:
            reasons.append(f"another model: {self.model} (published: {row.model.name})")
        if settings:
            reasons.append(settings)
        if row.word_vectors:
            given = self.request.vectors is not None
            reasons.append("entities by other word vectors" if given else "entities by layer 0 of the encoder")
        if row.note and (identical or settings or not same):
            reasons.append(row.note)
        return "; ".join(reasons)
