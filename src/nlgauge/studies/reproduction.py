"""Recompute a published table from what is here: data under a folder, and one model.

Every cell says what is published and what we get; a row says why the two differ. What cannot be computed (a data
set that is not here, a model, a metric) is listed with where it is published, and the printed values stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from nlgauge.data import JudgementTable, RankedPairs, find_data_card, load, load_wmt_rankings, locate
from nlgauge.data.table import chosen
from nlgauge.encoders import load_encoder
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, ModelError, RecipeError
from nlgauge.meta import RowScores, ScoredTable, Significance, evaluate, released_rows, score_table
from nlgauge.metrics import RunOptions
from nlgauge.stats import relative_ranking, roc_auc
from nlgauge.studies.paper_tables import Column, Mean, PaperTable, Question, TableRow

__all__ = ["ReproducedCell", "ReproducedRow", "Reproduction", "data_at", "reproduce"]

#: The name of a model that computes only what needs none: lexical metrics and released scores.
NO_MODEL = "none"


@dataclass(frozen=True)
class ReproducedCell:
    """A value in print beside ours, both on the scale of the print; None where there is none."""

    published: float | None
    ours: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus the published value."""
        return None if self.published is None or self.ours is None else self.ours - self.published


@dataclass(frozen=True)
class ReproducedRow:
    """A metric of the table."""

    name: str
    cells: Mapping[str, ReproducedCell]
    """By column."""
    recipe: str
    """With the model at hand; empty for a row that is only shown."""
    reason: str
    """Why ours differs, or is missing."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """By column."""


@dataclass(frozen=True)
class Reproduction:
    """A table, recomputed."""

    table: PaperTable
    model: str
    columns: tuple[Column | Mean, ...]
    rows: tuple[ReproducedRow, ...]
    missing: tuple[str, ...] = ()
    """What is not here, and where it is published."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "id": self.table.id,
            "title": self.table.title,
            "source": self.table.source,
            "data": list(self.table.data),
            "published_models": [{"name": model.name, "published": model.published} for model in self.table.models],
            "model": self.model,
            "columns": [column.label for column in self.columns],
            "rows": [
                {
                    "metric": row.name,
                    "recipe": row.recipe,
                    "reason": row.reason,
                    "cells": {
                        label: {"published": cell.published, "ours": cell.ours, "difference": cell.difference}
                        for label, cell in row.cells.items()
                    },
                    "signatures": dict(row.signatures),
                }
                for row in self.rows
            ],
            "notes": list(self.table.notes),
            "missing": list(self.missing),
        }


class _Value(NamedTuple):
    """One number of ours."""

    number: float
    signature: str
    twin: bool = False
    """The released scores are those of the column that the row names as their twin."""


class _Part(NamedTuple):
    """Columns that are answered by the same rows of a data set."""

    data: str
    options: tuple[tuple[str, Any], ...]
    langpair: str
    ranked: bool


def data_at(table: PaperTable, at: str | os.PathLike[str] | None) -> dict[str, bool]:
    """Whether each data set of a published table lies under a folder, with the rankings where it needs those."""
    ranked = {part.data for part, _ in _parts(table, _columns(table, None)) if part.ranked}
    found = {}
    for name in table.data:
        place = None if at is None else locate(find_data_card(name), at)
        found[name] = place is not None and (name not in ranked or (place / "RR-seglevel.csv").is_file())
    return found


def reproduce(
    table: PaperTable,
    *,
    at: str | os.PathLike[str] | None = None,
    model: str = "minilm",
    layer: int | None = None,
    langpairs: str | Iterable[str] | None = None,
    rows: str | Iterable[str] | None = None,
    **options: Any,
) -> Reproduction:
    """The table with our values beside the published ones.

    `at` is the folder under which the data sets lie; `langpairs` limits the columns, `rows` the metrics. `layer` is
    BERTScore's in another model than the published one (default: the model's tuned one). Options are those of a run
    (`RunOptions`: engine, threads, ...). With `model="none"` only lexical metrics and released scores are computed.
    """
    names = chosen(rows, [row.name for row in table.rows], f"{table.id}: row")
    table = replace(table, rows=tuple(row for row in table.rows if row.name in names))
    shared = {"model": model} | ({} if layer is None else {"layer": layer})
    run = _Run(table, at, shared, RunOptions.of(options))
    kept = _columns(table, langpairs)
    values: dict[tuple[str, str], _Value] = {}
    for part, columns in _parts(table, kept):
        values |= run.answers(part, columns)
    if table.unavailable:
        run.missing[table.unavailable] = None
    reproduced = tuple(run.row(row, kept, values) for row in table.rows)
    return Reproduction(table, model, kept, reproduced, tuple(run.missing))


def _columns(table: PaperTable, langpairs: str | Iterable[str] | None) -> tuple[Column | Mean, ...]:
    wanted = chosen(langpairs, table.langpairs, f"{table.id}: language pair")
    kept = {column.label for column in table.questions if column.langpair in wanted}
    # An average of fewer columns than in print would be another number under the same name.
    return tuple(
        column
        for column in table.columns
        if (set(column.over) <= kept if isinstance(column, Mean) else column.label in kept)
    )


def _parts(table: PaperTable, kept: Sequence[Column | Mean]) -> Iterator[tuple[_Part, list[tuple[TableRow, Column]]]]:
    """What is asked, grouped so that each part of a data set is read and encoded once."""
    found: dict[_Part, list[tuple[TableRow, Column]]] = {}
    for column in kept:
        if isinstance(column, Mean) or column.question is None:
            continue
        for row in table.rows:
            if row.computed:
                question = column.question
                options = () if row.data else question.options
                part = _Part(row.data or question.data, options, column.langpair, question.agreement == "darr")
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

    def answers(self, part: _Part, asked: Sequence[tuple[TableRow, Column]]) -> dict[tuple[str, str], _Value]:
        """Our values of these rows and columns; those that cannot be had are left out."""
        judged = self._judged(part)
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

    def _judged(self, part: _Part) -> _Judged | None:
        card = find_data_card(part.data)
        place = None if self.at is None else locate(card, self.at)
        if place is None:
            where = (
                "no folder of data was given (--at PATH)" if self.at is None else f"not under {os.fspath(self.at)!r}"
            )
            self.missing[f"data set {card.name}: {where}; published at {card.published}"] = None
            return None
        try:
            table = load(part.data, place, langpairs=part.langpair, **dict(part.options))
            pairs = load_wmt_rankings(place, year=_year(part.data), langpairs=part.langpair) if part.ranked else None
        except FileFormatError:
            raise
        except (InputError, RecipeError, MissingExtraError) as error:
            self.missing[f"{part.data}: {error}; published at {card.published}"] = None
            return None
        return _Judged(table, None) if pairs is None else _ranked(table, pairs)

    def _scores(self, table: JudgementTable, langpair: str, rows: Sequence[TableRow]) -> dict[str, RowScores]:
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
                scored = score_table(table, list(wanted), **shared, **vars(self.options))
            except MissingExtraError as error:
                self.missing[str(error)] = None
                continue
            for one in scored.metrics:
                for row in wanted[one.name]:
                    found[row.name] = one.component(row.component) if row.component else one
        return found

    def _model_is_here(self) -> bool:
        if self.depth is None and not self.no_model:
            try:
                encoder = load_encoder(self.model, engine=self.options.engine, progress=self.options.progress)
                self.depth = encoder.layers
            except (ModelError, MissingExtraError) as error:
                self.no_model = True
                self.missing[f"model {self.model!r}: {error}"] = None
                for one in self.table.models:
                    self.missing[f"published model {one.name}: {one.published}"] = None
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


def agrees(cells: Iterable[ReproducedCell], decimals: int) -> str:
    """How our values become the printed ones, if they all do; empty where one differs or none is in print.

    >>> agrees([ReproducedCell(0.743, 0.7436)], 3)
    'as published, truncated'
    """
    step = 10.0**-decimals
    # Ours minus print: at most half a step when print is rounded, up to a step of the same sign when it is cut.
    off = [
        (cell.ours - cell.published) / step for cell in cells if cell.ours is not None and cell.published is not None
    ]
    slack = 1e-6
    if not off:
        return ""
    if all(abs(one) <= 0.5 + slack for one in off):
        return "as published"
    return "as published, truncated" if all(-0.5 - slack <= one < 1 for one in off) else ""


class _Judged(NamedTuple):
    """Rows to score, with the ranked pairs where people's side is these."""

    table: JudgementTable
    pairs: RankedPairs | None


def _ranked(table: JudgementTable, pairs: RankedPairs) -> _Judged:
    """Only the outputs that stand in a pair; idf is counted on these."""
    named = {*zip(pairs.better, pairs.segment, strict=True), *zip(pairs.worse, pairs.segment, strict=True)}
    rows = [at for at, key in enumerate(zip(table.system, table.segment, strict=True)) if key in named]
    return _Judged(table.take(rows), pairs)


def _agreement(judged: _Judged, scores: RowScores, question: Question, langpair: str) -> tuple[float, str]:
    """The number, and why there is none where it is nan."""
    table = judged.table
    oriented = scores.values if scores.higher_is_better else -scores.values
    if judged.pairs is not None:
        by_output = dict(zip(zip(table.system, table.segment, strict=True), oriented, strict=True))
        pairs = judged.pairs
        sides = [
            [by_output.get((system, segment), np.nan) for system, segment in zip(systems, pairs.segment, strict=True)]
            for systems in (pairs.better, pairs.worse)
        ]
        found = relative_ranking(*sides, undefined="nan")
        return found.value, found.reason or ""
    if question.agreement == "auc":
        return roc_auc(oriented, table.gold(question.criterion)), ""
    agreement = evaluate(
        ScoredTable(table, (scores,)),
        level=question.level,  # type: ignore[arg-type]  # evaluate refuses others
        agreement=question.agreement,
        criterion=question.criterion,
        significance=Significance(test="none", resamples=1),
    )
    cell = agreement.cells[scores.name][langpair]
    return cell.value, cell.note


def _year(data: str) -> int:
    return 2000 + int(data.removeprefix("wmt"))
