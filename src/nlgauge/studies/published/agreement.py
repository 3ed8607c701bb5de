"""Published tables of agreement: scores of metrics under one model, held against judgements of a data set.

What is missing, how a row is computed under the model at hand, and why ours differs from print.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import DataWarning, FileFormatError, MissingExtraError, ModelError, NlgaugeError
from nlgauge.studies.meta.metric_values import MetricValues
from nlgauge.studies.meta.questions import answer
from nlgauge.studies.meta.score_table import released_rows, score_table
from nlgauge.studies.published.options import Request
from nlgauge.studies.published.runs import (
    NEEDS_VECTORS,
    NO_MODEL,
    NOT_COMPUTED,
    DataSlice,
    JudgedRows,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    agrees,
    compared_cell,
    find_judged,
    kept_columns,
    or_missing,
    slice_of,
)
from nlgauge.studies.published.tables import Column, Mean, PaperTable, TableRow, with_options


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

#: What a cell says of scores beside judgements: the number, and why there is none where it is nan.
Measure = Callable[[PaperTable, JudgedRows, MetricValues, Column], tuple[float, str]]


def compute_agreement(request: Request) -> Reproduction:
    """The table with our agreement on the data sets that are here."""
    return compute_table(request, _agreement)


def compute_table(request: Request, measure: Measure) -> Reproduction:
    """The table with what is measured of each row's scores."""
    run = PublishedRun(request)
    kept = kept_columns(run.table, langpairs=request.langpairs, data=request.data, levels=request.levels)
    values = _table_values(run, kept, measure)
    if run.table.unavailable:
        run.missing[run.table.unavailable] = None
    return run.reproduction(kept, values)


def _agreement(_table: PaperTable, judged: JudgedRows, scores: MetricValues, column: Column) -> tuple[float, str]:
    assert column.question is not None
    with warnings.catch_warnings():
        # The published table is about that very column, and says so.
        if column.question.criterion in judged.table.caveats:
            warnings.simplefilter("ignore", DataWarning)
        found = answer(column.question, judged.table, scores, pairs=judged.pairs)[column.langpair]
    return found.value, found.note


def _table_values(run: PublishedRun, kept: Sequence[Column | Mean], measure: Measure) -> dict[tuple[str, str], Value]:
    """Our values of a table; each slice of a data set is read and encoded once."""
    asked: dict[DataSlice, list[tuple[TableRow, Column]]] = {}
    for column in kept:
        if isinstance(column, Mean) or column.question is None:
            continue
        for row in run.table.rows:
            if run.computes(row):
                part = slice_of(column.question, column.langpair, data=row.data)
                asked.setdefault(part, []).append((row, column))
    values: dict[tuple[str, str], Value] = {}
    for part, wanted in asked.items():
        values |= _slice_values(run, part, wanted, measure)
    return values


def _slice_values(
    run: PublishedRun, part: DataSlice, asked: Sequence[tuple[TableRow, Column]], measure: Measure
) -> dict[tuple[str, str], Value]:
    """Our values of these rows and columns; those that cannot be had are left out."""
    judged = find_judged(part, run.request.at, run.missing)
    if judged is None:
        return {}
    rows = {row.name: row for row, _ in asked}
    scores = _scores(run, judged.table, part.langpair, list(rows.values()))
    values = {}
    for row, column in asked:
        if row.name not in scores:
            continue
        own = scores[row.name]
        number, why = float("nan"), ""
        with or_missing(f"value of {row.name}, {column.label}", run.missing):
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


def _scores(
    run: PublishedRun, table: JudgementTable, langpair: str, rows: Sequence[TableRow]
) -> dict[str, MetricValues]:
    """By row; rows with one recipe share its scores."""
    recipes: dict[bool, dict[str, list[TableRow]]] = {False: {}, True: {}}
    scores = {}
    for row in rows:
        if row.released:
            released = row.released_in.get(table.name, row.released)
            if released in table.released:
                scores[row.name] = released_rows(table, released)
            else:
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
) -> Iterator[tuple[str, MetricValues | NlgaugeError]]:
    """Scores of recipes, or why there are none: one that cannot be computed leaves the others."""
    if not recipes:
        return
    try:
        scored = score_table(table, recipes, run=run.request.run, **options).metrics
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


def find_model(table: PaperTable, model: str, options: RunOptions, missing: dict[str, None]) -> Encoder | None:
    """The model; None where it is not here, with entries of what is missing and of the published ones."""
    try:
        return load_encoder(model, **options.loading)
    except (ModelError, MissingExtraError) as error:
        missing[f"model {model!r}: {error}"] = None
        for published in table.models:
            missing[f"published model {published.name}: {published.published}"] = None
        return None


class PublishedRun:
    """A table under one model; gathers what is missing."""

    def __init__(self, request: Request) -> None:
        self.request, self.table, self.model = request, request.table, request.model_name
        self.missing: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self._depth: int | None = None
        self._no_model = self.model == NO_MODEL

    def model_is_here(self) -> bool:
        """Whether the model can be loaded; looked up once, and listed as missing where it cannot."""
        if self._depth is None and not self._no_model:
            encoder = find_model(self.table, self.model, self.request.run, self.missing)
            self._no_model = encoder is None
            self._depth = None if encoder is None else encoder.layers
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

    def reproduction(
        self, kept: Sequence[Column | Mean], values: Values, *, empty_columns: bool = True
    ) -> Reproduction:
        """The table with these values; columns without any are left out unless they are wanted."""
        rows = [self.row(row, kept, values) for row in self.table.rows]
        shown = tuple(column for column in kept if empty_columns or any(row.has(column.label) for row in rows))
        cut = tuple(replace(row, cells={one.label: row.cells[one.label] for one in shown}) for row in rows)
        return Reproduction.of(self.table, self.model, shown, cut, missing=self.missing, notes=self.notes)

    def row(self, row: TableRow, kept: Sequence[Column | Mean], values: Values) -> ReproducedRow:
        """A row with its averages and the reason why it differs."""
        ours = {column.label: values[row.name, column.label] for column in kept if (row.name, column.label) in values}
        shown: dict[str, float | str] = {label: value.value for label, value in ours.items()}
        for column in kept:
            if isinstance(column, Mean):
                numbers = [value for label in column.over if isinstance(value := shown.get(label), float | int)]
                if len(numbers) == len(column.over):
                    shown[column.label] = float(np.mean(numbers))
        absolute = self.table.absolute or row.absolute
        cells = {
            label: compared_cell(row.published.get(label), shown.get(label), absolute=absolute)
            for label in (column.label for column in kept)
        }
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
        reasons = [same] if same else []
        if row.model is not None and not self._own_model(row):
            # What another model made is not the published score, even where the decimals agree.
            reasons = [same.replace("as published", "same decimals as in print")] if same else []
        if identical:
            reasons.append(f"value for value the scores of {row.identical_released_column}")
        if row.model is not None and not self._own_model(row):
            reasons.append(f"another model: {self.model} (published: {row.model.name})")
        if settings:
            reasons.append(settings)
        if row.word_vectors:
            given = self.request.vectors is not None
            reasons.append("entities by other word vectors" if given else "entities by layer 0 of the encoder")
        if row.note and (identical or settings or not same):
            reasons.append(row.note)
        return "; ".join(reasons)
