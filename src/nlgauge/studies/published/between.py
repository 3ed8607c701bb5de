"""Recompute figures that put metrics next to each other: matrices, score distributions, scatter plots, ranks.

The label of a column is a language pair (or another name of its part of the data), a blank, and what is shown:

    matrix        `de-en CHRF++`: correlation of the row's metric with this row's; `de-en human`: with human scores
    distribution  `de-en bad`, `good`, `effect`, `auc`: fields of `Separation`
    scatter       `lv-en human`: correlation with human scores; the figure has the points
    ranks         `de-en human`, `de-en F`, ...: rank of one output, which the row's key identifies by the start of
                  its text, by human scores, by the row's recipe, or by the recipe in the column's setup

The correlation is the agreement of the columns. The figure is that of `nlgauge study meta --between`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nlgauge.errors import InputError
from nlgauge.studies.meta.between import HUMAN, MetricRelations, RelatedScores, ranks_of, relate_metrics
from nlgauge.studies.meta.row_scores import ScoredJudgements
from nlgauge.studies.published.agreement import PublishedRun, Value, score_rows
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import JudgedRows, Reproduction, slice_of
from nlgauge.studies.published.tables import Column, TableRow

#: Name of the scores of the row's own recipe, in tables of ranks.
_OWN = "F"


def compute_between(request: Request) -> Reproduction:
    """Recompute a figure on the available data sets."""
    run = PublishedRun(request)
    columns = run.columns()
    parts: dict[str, list[Column]] = {}
    for column in columns:
        if column.question is not None:
            parts.setdefault(_split(column)[0], []).append(column)
    values: dict[tuple[str, str], Value] = {}
    relations: list[MetricRelations] = []
    for name, own in parts.items():
        question = own[0].question
        judged = None if question is None else run.judged(slice_of(question, own[0].langpair))
        if judged is None:
            continue
        with run.or_missing(f"values of {name}"):
            related = _relate(run, judged, name, own)
            if related is None:
                continue
            values |= _VALUES[run.table.experiment](run, judged, related, own)
            relations.append(related)
    result = run.reproduction(columns, values, empty_columns=not values)
    return replace(result, drawing=_join(relations).figure) if relations else replace(result, drawing=_refuse)


def _refuse() -> Any:
    msg = "nothing to draw: no value was computed; the table lists the missing inputs"
    raise InputError(msg)


def _split(column: Column) -> tuple[str, str]:
    """Name of the part of the data, and what the column shows."""
    part, _, shown = column.label.partition(" ")
    return part, shown


def _rows(run: PublishedRun, columns: Sequence[Column]) -> list[TableRow]:
    """Metrics to score: the rows, or in tables of ranks the recipes of the columns."""
    rows = [row for row in run.table.rows if run.computes(row)]
    if run.table.experiment != "ranks":
        return rows
    own = [replace(rows[0], name=_OWN)] if rows and rows[0].recipe else []
    recipes = {_split(column)[1]: column.setup["recipe"] for column in columns if "recipe" in column.setup}
    return own + [TableRow(name, recipe=recipe) for name, recipe in recipes.items()]


def _relate(run: PublishedRun, judged: JudgedRows, part: str, columns: Sequence[Column]) -> MetricRelations | None:
    """Relate the metrics of a part of the data; None if no metric can be computed, which the rows explain."""
    question = columns[0].question
    assert question is not None
    rows = _rows(run, columns)
    scores = score_rows(run, judged, rows)
    if not scores:
        return None
    metrics = tuple(replace(scores[row.name], name=row.name) for row in rows if row.name in scores)
    experiment = run.table.experiment
    options: dict[str, Any] = {
        "level": question.level,
        "agreement": (question.agreement,),
        "criterion": question.criterion,
        "show": "disagreements" if experiment == "ranks" else experiment,
        "pair": (_OWN, HUMAN) if experiment == "ranks" and _OWN in scores else (),
    }
    related = relate_metrics(ScoredJudgements(judged.table, metrics), **options)
    return replace(
        related,
        matrices=tuple(matrix._replace(langpair=part) for matrix in related.matrices),
        separations=tuple(row._replace(langpair=part) for row in related.separations),
        disagreements=tuple(entry._replace(langpair=part) for entry in related.disagreements),
        points=tuple(points._replace(langpair=part) for points in related.points),
    )


def _join(parts: Sequence[MetricRelations]) -> MetricRelations:
    """One result for the figure, from those of all parts."""
    return replace(
        parts[0],
        matrices=tuple(matrix for part in parts for matrix in part.matrices),
        separations=tuple(row for part in parts for row in part.separations),
        disagreements=tuple(entry for part in parts for entry in part.disagreements),
        points=tuple(points for part in parts for points in part.points),
    )


def _correlations(
    run: PublishedRun, judged: JudgedRows, related: MetricRelations, columns: Sequence[Column]
) -> dict[tuple[str, str], Value]:
    matrix = related.matrices[0]
    values = {}
    for row in run.table.rows:
        for column in columns:
            other = _split(column)[1]
            if row.name in matrix.names and other in matrix.names:
                value = float(matrix.values[matrix.names.index(row.name), matrix.names.index(other)])
                if np.isfinite(value):
                    signature = related.signatures.get(row.name, "")
                    values[row.name, column.label] = Value(value * run.table.scale, signature)
    return values


def _distributions(
    run: PublishedRun, judged: JudgedRows, related: MetricRelations, columns: Sequence[Column]
) -> dict[tuple[str, str], Value]:
    values = {}
    for separation in related.separations:
        for column in columns:
            value = float(getattr(separation, _split(column)[1]))
            if np.isfinite(value):
                signature = related.signatures.get(separation.metric, "")
                values[separation.metric, column.label] = Value(value, signature)
    return values


def _ranks(
    run: PublishedRun, judged: JudgedRows, related: MetricRelations, columns: Sequence[Column]
) -> dict[tuple[str, str], Value]:
    """Ranks of the outputs that the keys of the rows identify."""
    part = related.points[0]
    ranks = {name: ranks_of(scores) for name, scores in part.scores.items()}
    values = {}
    for row in run.table.rows:
        point = _find_point(judged, part, row.key[0])
        if point is None:
            run.missing[f"pair {row.name}: no output starts with {row.key[0]!r}"] = None
            continue
        for column in columns:
            name = _split(column)[1]
            if name in ranks:
                signature = related.signatures.get(name, "")
                values[row.name, column.label] = Value(float(ranks[name][point]), signature)
    return values


def _find_point(judged: JudgedRows, part: RelatedScores, start: str) -> int | None:
    """Position of the only judged output that starts with a text; blanks, case and quotes do not matter."""
    texts = dict(
        zip(zip(judged.table.system, judged.table.segment, strict=True), judged.table.hypothesis, strict=True)
    )
    wanted = _plain(start)
    places = zip(part.systems, part.segments, strict=True)
    matches = [point for point, place in enumerate(places) if _plain(texts[place]).startswith(wanted)]
    return matches[0] if len(matches) == 1 else None


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


_VALUES: Mapping[str, Any] = {
    "matrix": _correlations,
    "scatter": _correlations,
    "distribution": _distributions,
    "ranks": _ranks,
}
