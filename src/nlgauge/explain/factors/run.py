"""nlgauge.explain_factors: what metrics look at, on a data set; and the same of a table that was scored before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nlgauge.data import JudgementTable
from nlgauge.data.score_files import read_table
from nlgauge.errors import RecipeError
from nlgauge.explain.factors.columns import CLB, COMPUTED, FactorMaker, FactorOptions
from nlgauge.explain.factors.surrogate import FactorStudy, Intervals, fit_surrogates
from nlgauge.files.lines import read_bytes
from nlgauge.meta import MetricScores, released_rows, score_table
from nlgauge.meta.metric_scores import distinct_names
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.stats.checks import Vector

__all__ = ["explain_columns", "explain_factors", "score_translations"]


def explain_factors(
    table: JudgementTable,
    metrics: Sequence[str | Metric] = (),
    *,
    factors: Sequence[str] = COMPUTED,
    released: Iterable[str] = (),
    criterion: str | None = None,
    making: FactorOptions | None = None,
    intervals: Intervals | None = None,
    run: RunOptions | None = None,
    **options: Any,
) -> FactorStudy:
    """Fit metrics by linguistic factors of each pair, on all rows of a data set together.

    Args:
        table: The data set, from `nlgauge.data.load`.
        metrics: What to score it with, as in `nlgauge.meta.score_table`; a distance is turned round.
        factors: SEM, SYN, LEX, MOR, CLB in any case, or columns of the data, as they are called there.
        released: Scores that came with the data, explained beside the metrics.
        criterion: What of people is SEM; by default the data set's own.
        making: What factors are made with: parser, word vectors, lexicon, translations.
        intervals: Level, resamples and seed of the intervals.
        run: How to compute.
        options: Those of the metrics.
    """
    made = FactorMaker(table, making or FactorOptions())
    names = _distinct([made.name_of(name) for name in factors])
    if CLB in names and not made.across:
        msg = f"CLB is for metrics that compare with sources; {table.name} has references"
        raise RecipeError(msg)
    if made.options.translations is not None and not made.across:
        msg = f"translations= is for data that is compared with sources; {table.name} has references; leave it out"
        raise RecipeError(msg)
    columns = {name: made.column(name, criterion=criterion) for name in names if name != CLB}
    scored = _scored(table, metrics, list(released), run=run, **options)
    own = {}
    if CLB in names:
        if list(released):
            msg = "CLB is a score of the metric itself, which released scores do not have; leave out released= or CLB"
            raise RecipeError(msg)
        own[CLB] = score_translations(table, metrics, made, run=run, **options)
        made.labels[CLB] = f"the metric's score of (sentence, translation); translations: {made.translations.label}"
    return fit_surrogates(
        {one.name: one.oriented for one in scored},
        columns,
        own=own,
        data=table.name,
        intervals=intervals,
        labels=made.labels,
        signatures={one.name: next(iter(one.signatures.values()), one.signature) for one in scored},
        notes=[f"language pairs together: {', '.join(table.langpairs)}"] if len(table.langpairs) > 1 else (),
    )


def _scored(
    table: JudgementTable, metrics: Sequence[str | Metric], released: Sequence[str], **options: Any
) -> list[MetricScores]:
    """Released scores, then those of metrics; a released one that is called like a metric says what it is."""
    computed = list(score_table(table, list(metrics), **options).metrics) if metrics else []
    names = {one.name for one in computed}
    found = [
        replace(released_rows(table, name), name=f"{name} (released)" if name in names else name) for name in released
    ]
    distinct_names([*found, *computed])
    return [*found, *computed]


def score_translations(
    table: JudgementTable,
    metrics: Sequence[str | Metric],
    made: FactorMaker,
    *,
    run: RunOptions | None = None,
    **options: Any,
) -> dict[str, Vector]:
    """By metric: its score of each foreign sentence beside the machine translation, in the places of the pair.

    nan for a sentence without a translation.
    """
    known = made.translations.texts
    rows = [row for row in range(len(table)) if made.foreign(row) in known]
    if not rows:
        msg = f"{made.translations.label} has no translation of any foreign sentence of {table.name}"
        raise RecipeError(msg)
    english = [known[made.foreign(row)] for row in rows]
    first = [made.foreign_first(row) for row in rows]
    part = replace(
        table.take(rows),
        hypothesis=tuple(
            text if foreign else table.hypothesis[row]
            for row, text, foreign in zip(rows, english, first, strict=True)
        ),
        source=tuple(
            made.others[row][0] if foreign else text for row, text, foreign in zip(rows, english, first, strict=True)
        ),
    )
    found = {}
    for one in score_table(part, list(metrics), run=run, **options).metrics:
        values = np.full(len(table), np.nan)
        values[rows] = one.oriented
        found[one.name] = values
    return found


def explain_columns(
    path: str | os.PathLike[str],
    metrics: Sequence[str],
    factors: Sequence[str],
    *,
    lower_is_better: Iterable[str] = (),
    intervals: Intervals | None = None,
) -> FactorStudy:
    """The same of a table that was scored before: columns of numbers in a TSV, CSV or JSONL file with a header.

    A cell that is no number is an error with its place.
    """
    name = os.fspath(path)
    rows = list(read_table(name, read_bytes(name)))
    turned = set(lower_is_better)
    if unknown := sorted(turned - set(metrics)):
        msg = f"{unknown[0]!r} is said to be better when lower, but the metrics are {', '.join(metrics)}"
        raise RecipeError(msg)
    columns = {column: np.array([row.number(column) for row in rows]) for column in _distinct([*metrics, *factors])}
    return fit_surrogates(
        {column: -columns[column] if column in turned else columns[column] for column in metrics},
        {column: columns[column] for column in factors},
        data=os.path.basename(name),
        intervals=intervals,
    )


def _distinct(names: Sequence[str]) -> list[str]:
    found = list(names)
    for name in found:
        if found.count(name) > 1:
            msg = f"{name!r} is named twice; name each column once"
            raise RecipeError(msg)
    return found
