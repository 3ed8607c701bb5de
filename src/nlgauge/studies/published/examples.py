"""Recompute the scores of example sentences printed in a paper, and check what the paper says about them.

The sentences are in the table's file: a hypothesis with its reference or its source. A row scores those that its
metric compares with: references or sources.

SentSim's sum scales its parts by their range in a data set (Eq. 7), which a few sentences do not have. Here it is

    (mean of e^A over the parts A - 1) / (e - 1)

as for parts whose range is 0 ... 1, with the sum scaled to 0 ... 1 like the printed values.

A claim says that a row's values in some columns are all higher than in others. Each is checked on the published
values and on ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nlgauge.core.metric import Metric
from nlgauge.core.registry import parse_metric
from nlgauge.data.judgements import JudgementTable
from nlgauge.io.store.catalog import find_card
from nlgauge.metrics.sentsim import SentSim
from nlgauge.studies.meta.row_scores import RowScores
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published.agreement import PublishedRun, Value
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import ReproducedRow, Reproduction
from nlgauge.studies.published.tables import Claim, Column, Example, TableRow


def compute_examples(request: Request) -> Reproduction:
    """Score the sentences of each row with one model, and check the claims."""
    run = PublishedRun(request)
    columns = run.columns()
    values: dict[tuple[str, str], Value] = {}
    for row in run.table.rows:
        if run.computes(row) and (row.model is None or run.model_is_here()):
            with run.or_missing(f"values of {row.name}"):
                values |= _score_row(run, row, columns)
    shown = {row.name: run.model_row(row, columns, values) for row in run.table.rows}
    for claim in run.table.claims:
        if claim.row in shown:
            run.notes |= dict.fromkeys(_describe_claim(claim, shown[claim.row], run.model))
    return run.reproduction(columns, values)


def _score_row(run: PublishedRun, row: TableRow, columns: Sequence[Column]) -> dict[tuple[str, str], Value]:
    """Score the sentences that the row's metric can compare, in languages that the model supports."""
    recipe = run.recipe(row)
    metric = parse_metric(recipe)
    with_source = getattr(metric, "against", "refs") == "source"
    examples: dict[str, Example] = {}
    langpairs: list[str] = []
    for column in columns:
        example = run.table.examples[column.label]
        if bool(example.source) == with_source and _supports(run, column):
            examples[column.label] = example
            langpairs.append(column.langpair)
    if not examples:
        return {}
    options: dict[str, Any] = {} if row.model is None else {"model": run.model}
    if row.model is not None and run.request.layer is not None and "layer" not in metric.unused:
        options["layer"] = run.request.layer
    table = _as_table(run.table.id, examples, langpairs)
    scores = score_judgements(table, [recipe], run=run.request.run, **options).metrics[0]
    numbers = _numbers(scores, metric, row)
    return {
        (row.name, label): Value(number, scores.signatures.get(langpair, ""))
        for label, langpair, number in zip(examples, langpairs, numbers, strict=True)
    }


def _supports(run: PublishedRun, column: Column) -> bool:
    """Whether the model supports all languages of an example, or its languages are unknown."""
    card, languages = find_card(run.model), column.langpair.split("-")
    if card is None or set(languages) <= set(card.languages):
        return True
    run.missing[f"{column.label}: {card.name} does not support {', '.join({*languages} - {*card.languages})}"] = None
    return False


def _as_table(name: str, examples: Mapping[str, Example], langpairs: Sequence[str]) -> JudgementTable:
    """The sentences as a table without human scores."""
    rows = examples.values()
    with_source = all(example.source for example in rows)
    return JudgementTable(
        name=name,
        segment=tuple(examples),
        system=tuple("examples" for _ in rows),
        langpair=tuple(langpairs),
        hypothesis=tuple(example.hypothesis for example in rows),
        references=tuple((example.reference,) if example.reference else () for example in rows),
        source=tuple(example.source for example in rows) if with_source else None,
        human={},
        default_criterion=None,
    )


def _numbers(scores: RowScores, metric: Metric, row: TableRow) -> list[float]:
    """The row's component, or SentSim's sum of parts that are not scaled by the sentences."""
    if row.component or not isinstance(metric, SentSim):
        return [float(value) for value in (scores.component(row.component) if row.component else scores).values]
    parts = [scores.component(name).values for name in metric.components[1:]]
    return [scaled_sum(values) for values in zip(*parts, strict=True)]


def scaled_sum(parts: Sequence[float]) -> float:
    """SentSim of similarities whose range is 0 ... 1, scaled to 0 ... 1.

    >>> scaled_sum([0.0, 0.0]), scaled_sum([1.0, 1.0]), round(scaled_sum([0.7748, 0.8898]), 3)
    (0.0, 1.0, 0.758)
    """
    return (float(np.mean(np.exp(parts))) - 1) / (math.e - 1)


def _describe_claim(claim: Claim, row: ReproducedRow, model: str) -> Iterator[str]:
    """Whether a claim holds for the published values, and for ours if there are any."""
    labels = (*claim.higher, *claim.lower)
    if not set(labels) <= set(row.cells):
        return
    checks = {}
    for title, kind in (("published", "published"), (f"ours ({model})", "ours")):
        values = {label: getattr(row.cells[label], kind) for label in labels}
        if all(isinstance(value, float | int) for value in values.values()):
            higher, lower = ([values[label] for label in part] for part in (claim.higher, claim.lower))
            checks[title] = "holds" if min(higher) > max(lower) else "does not hold"
    if checks:
        outcome = "; ".join(f"{title}: {check}" for title, check in checks.items())
        yield f"claim: {row.name} scores {', '.join(claim.higher)} above {', '.join(claim.lower)}; {outcome}"
