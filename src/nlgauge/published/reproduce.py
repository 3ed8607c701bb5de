"""Recompute a published table from what is here: data under a folder, and one model.

Every cell says what is published and what we get; a row says why the two differ. What cannot be computed (a data
set that is not here, a model, a metric) is listed with where it is published, and the printed values stay.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nlgauge.data import JudgementTable
from nlgauge.data.table import chosen
from nlgauge.errors import DataWarning, MissingExtraError, RecipeError
from nlgauge.meta import MetricScores, answer, released_rows, score_table
from nlgauge.meta.question import Question
from nlgauge.published.data import NO_MODEL, Judged, Part, find_judged, find_model, kept_columns, part_of
from nlgauge.published.reproduce_study import StudyInputs, reproduce_study
from nlgauge.published.results import ReproducedCell, ReproducedRow, Reproduction, agrees
from nlgauge.published.study import PaperStudy
from nlgauge.published.table import Column, Mean, PaperTable, TableRow
from nlgauge.recipes.run_options import RunOptions

__all__ = ["reproduce"]


class _Value(NamedTuple):
    """One number of ours."""

    number: float
    signature: str
    twin: bool = False
    """The released scores are those of the column that the row names as their twin."""


def reproduce(
    table: PaperTable,
    *,
    at: str | os.PathLike[str] | None = None,
    model: str | None = None,
    layer: int | None = None,
    langpairs: str | Iterable[str] | None = None,
    rows: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    levels: str | Iterable[str] | None = None,
    study: StudyInputs | None = None,
    **options: Any,
) -> Reproduction:
    """The table with our values beside the published ones.

    `at` is the folder under which the data sets lie; `langpairs`, `data` and `levels` limit the columns, `rows` the
    metrics. `layer` is BERTScore's in another model than the published one (default: the model's tuned one). `study`
    is what a sensitivity study can be given (`PaperStudy` only). Options are those of a run (`RunOptions`: engine,
    threads, ...). Without a model the table's own stand-in is taken: `minilm`, or `muse` across languages. With
    `model="none"` only lexical metrics and released scores are computed.
    """
    model = model or table.default_model
    if isinstance(table, PaperStudy):
        return reproduce_study(
            table,
            at=at,
            model=model,
            layer=layer,
            langpairs=langpairs,
            rows=rows,
            data=data,
            levels=levels,
            inputs=study,
            **options,
        )
    if study is not None and study != StudyInputs():
        msg = f"{table.id} is no sensitivity study; leave out the state, idf corpora, stop words and ddof"
        raise RecipeError(msg)
    names = chosen(rows, [row.name for row in table.rows], f"{table.id}: row")
    table = replace(table, rows=tuple(row for row in table.rows if row.name in names))
    shared = {"model": model} | ({} if layer is None else {"layer": layer})
    run = _Run(table, at, shared, RunOptions.of(options))
    kept = kept_columns(table, langpairs=langpairs, data=data, levels=levels)
    values: dict[tuple[str, str], _Value] = {}
    for part, columns in _parts(table, kept):
        values |= run.answers(part, columns)
    if table.unavailable:
        run.missing[table.unavailable] = None
    reproduced = tuple(run.row(row, kept, values) for row in table.rows)
    return Reproduction(table, model, kept, reproduced, tuple(run.missing))


def _parts(table: PaperTable, kept: Sequence[Column | Mean]) -> Iterator[tuple[Part, list[tuple[TableRow, Column]]]]:
    """What is asked, grouped so that each part of a data set is read and encoded once."""
    found: dict[Part, list[tuple[TableRow, Column]]] = {}
    for column in kept:
        if isinstance(column, Mean) or column.question is None:
            continue
        for row in table.rows:
            if row.computed:
                part = part_of(column.question, column.langpair, data=row.data)
                found.setdefault(part, []).append((row, column))
    yield from found.items()


class _Run:
    """One table under one model; gathers what is missing."""

    def __init__(
        self, table: PaperTable, at: str | os.PathLike[str] | None, shared: Mapping[str, Any], options: RunOptions
    ) -> None:
        self.table, self.at, self.shared, self.options = table, at, shared, options
        self.model: str = shared["model"]
        self.missing: dict[str, None] = {}
        self.depth: int | None = None
        self.no_model = self.model == NO_MODEL

    def answers(self, part: Part, asked: Sequence[tuple[TableRow, Column]]) -> dict[tuple[str, str], _Value]:
        """Our values of these rows and columns; those that cannot be had are left out."""
        judged = find_judged(part, self.at, self.missing)
        if judged is None:
            return {}
        rows = {row.name: row for row, _ in asked}
        scores = self._scores(judged.table, part.langpair, list(rows.values()))
        found = {}
        for row, column in asked:
            if row.name in scores and column.question is not None:
                one = scores[row.name]
                number, why = _agreement(judged, one, column.question, part.langpair)
                if not np.isfinite(number):
                    self.missing[f"value of {row.name}, {column.label}: {why}"] = None
                    continue
                twin = bool(row.twin) and np.array_equal(one.values, judged.table.released.get(row.twin, ()))
                signature = one.signatures.get(part.langpair, "")
                found[row.name, column.label] = _Value(number * self.table.scale, signature, twin)
        return found

    def _scores(self, table: JudgementTable, langpair: str, rows: Sequence[TableRow]) -> dict[str, MetricScores]:
        """By row; rows with one recipe share its scores."""
        recipes: dict[bool, dict[str, list[TableRow]]] = {False: {}, True: {}}
        found = {}
        for row in rows:
            if row.released:
                if row.released in table.released:
                    found[row.name] = released_rows(table, row.released)
                else:
                    self.missing[f"{table.name} {langpair}: released scores {row.released!r}"] = None
            elif row.model is None or self._model_is_here():
                recipes[row.model is not None].setdefault(self.recipe(row, langpair), []).append(row)
        for needs_model, wanted in recipes.items():
            if not wanted:
                continue
            shared = self.shared if needs_model else {}
            try:
                scored = score_table(table, list(wanted), run=self.options, **shared)
            except MissingExtraError as error:
                self.missing[str(error)] = None
                continue
            for one in scored.metrics:
                for row in wanted[one.name]:
                    found[row.name] = one.component(row.component) if row.component else one
        return found

    def _model_is_here(self) -> bool:
        if self.depth is None and not self.no_model:
            encoder = find_model(self.table, self.model, self.options, self.missing)
            self.no_model = encoder is None
            self.depth = None if encoder is None else encoder.layers
        return not self.no_model

    def recipe(self, row: TableRow, langpair: str = "") -> str:
        """What a row is computed with under the model at hand."""
        text = row.recipe
        if row.model is not None and not row.model.is_called(self.model):
            text = row.elsewhere or row.recipe
        depth = self.depth
        if depth is not None:
            text = re.sub(r"top-(\d+)", lambda match: str(max(0, depth - int(match[1]))), text)
        extra = row.exceptions.get(langpair)
        return f"{text}{',' if ':' in text else ':'}{extra}" if extra else text

    def row(
        self, row: TableRow, kept: Sequence[Column | Mean], values: Mapping[tuple[str, str], _Value]
    ) -> ReproducedRow:
        """A row with its averages and the reason why it differs."""
        ours = {column.label: values[row.name, column.label] for column in kept if (row.name, column.label) in values}
        numbers = {label: value.number for label, value in ours.items()}
        for column in kept:
            if isinstance(column, Mean) and all(label in numbers for label in column.over):
                numbers[column.label] = float(np.mean([numbers[label] for label in column.over]))
        cells = {
            column.label: ReproducedCell(row.published.get(column.label), numbers.get(column.label))
            for column in kept
        }
        recipe = self.recipe(row) if row.recipe else f"released: {row.released}" if row.released else ""
        twin = bool(ours) and all(value.twin for value in ours.values())
        reason = self._reason(row, cells, twin)
        return ReproducedRow(
            row.name, cells, recipe, reason, {label: value.signature for label, value in ours.items()}
        )

    def _reason(self, row: TableRow, cells: Mapping[str, ReproducedCell], twin: bool) -> str:
        if not row.computed or all(cell.ours is None for cell in cells.values()):
            if not row.computed and row.note:
                return row.note
            unwanted = row.model is not None and self.model == NO_MODEL
            return "not computed: --model none" if unwanted else "not computed: see what is missing"
        reasons = []
        same = agrees(cells.values(), self.table.decimals)
        if same:
            reasons.append(same)
        if twin:
            reasons.append(f"value for value the scores of {row.twin}")
        if row.model is not None and not row.model.is_called(self.model):
            reasons.append(f"another model: {self.model} (published: {row.model.name})")
        if row.note and (twin or not same):
            reasons.append(row.note)
        return "; ".join(reasons)


def _agreement(judged: Judged, scores: MetricScores, question: Question, langpair: str) -> tuple[float, str]:
    """The number, and why there is none where it is nan."""
    with warnings.catch_warnings():
        if question.criterion in judged.table.caveats:  # the published table is about that very column, and says so
            warnings.simplefilter("ignore", DataWarning)
        found = answer(question, judged.table, scores, pairs=judged.pairs)[langpair]
    return found.value, found.note
