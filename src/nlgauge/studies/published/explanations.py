"""Recompute the comparison of explanation methods on Eval4NLP 2021 with the methods of nlgauge.

Table 11.1 and Figure 11.1 of W. Zhao's dissertation rank the systems submitted to the shared task, whose word scores
are not public. Ours are other systems on the same texts, so they have rows of their own: BERTScore, XMoverScore and
SBERT against the source, each explained by its word matches, leave-one-out, Shapley values and LIME. Masked texts
must be scored again, so only the first texts of each language pair are used, with few samples.

The key of a row is a side and a measure (experiment `disagreement`), or a metric and a method (`systems`, for de-zh).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

from nlgauge.core.run_options import RunOptions
from nlgauge.studies.explain.corpus import METHODS, gold_words
from nlgauge.studies.explain.error_ranking import ErrorRanking, ErrorSystem, error_scores_of, rank_error_scores
from nlgauge.studies.explain.explanation import Side
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NO_MODEL, NOT_COMPUTED, DataSlice, Reproduction, Run

_DATA = "eval4nlp"
#: Texts of each language pair, random orders of words, and neighbours for LIME.
TEXTS, SAMPLES, NEIGHBOURS = 24, 3, 50

_RECIPES: Mapping[str, str] = {
    "bertscore": "bertscore:model={},against=source",
    "xmoverscore": "xmoverscore:model={}",
    "sbert": "sbert:model={},against=source",
}
#: Sides by their names in the table.
_SIDES: Mapping[str, Side] = {"target": "hypothesis", "source": "reference"}


def error_systems(model: str) -> list[ErrorSystem]:
    """All systems; a sentence vector has no word matches."""
    return [
        ErrorSystem(recipe.format(model), method)
        for (metric, recipe), method in product(_RECIPES.items(), METHODS)
        if (metric, method) != ("sbert", "match")
    ]


def compute_explanations(request: Request) -> Reproduction:
    """Recompute the table for the language pairs that are available."""
    run = Run(request)
    labels = [column.label for column in run.table.columns]
    langpairs = ["de-zh"] if run.table.experiment == "systems" else labels
    sides = {row.key[0] for row in run.table.rows if row.key} & set(_SIDES) or set(_SIDES)
    rankings: dict[tuple[str, str], ErrorRanking] = {}
    if request.model_name == NO_MODEL:
        run.missing["no model: the systems need one across languages, such as muse"] = None
    elif any(row.key for row in run.table.rows):
        for langpair in langpairs:
            for side in sorted(sides):
                with run.or_missing(f"{langpair} {side}"):
                    ranking = _rank(run, langpair, _SIDES[side])
                    if ranking is not None:
                        rankings[langpair, side] = ranking
    if rankings:
        counted = ", ".join(
            f"{langpair} {side} {ranking.texts}" for (langpair, side), ranking in sorted(rankings.items())
        )
        run.notes[f"ours: {len(error_systems(''))} systems; texts with errors and correct words: {counted}"] = None
    rows = []
    for row in run.table.rows:
        if not row.key:
            rows.append(run.row(row, {}, row.note or NOT_COMPUTED))
        else:
            compute = _strengths if run.table.experiment == "systems" else _disagreements
            ours = compute(rankings, row.key, labels, run.table.scale)
            rows.append(run.row(row, ours, row.note if ours else NOT_COMPUTED))
    return run.result(rows, model=request.model_name)


def _rank(run: Run, langpair: str, side: Side) -> ErrorRanking | None:
    judged = run.judged(DataSlice(_DATA, (), langpair, ranked=False))
    if judged is None:
        return None
    table = judged.table.first_rows(TEXTS)
    systems = error_systems(run.request.model_name)
    how = {"side": side, "words": "blanks", "samples": SAMPLES, "neighbours": NEIGHBOURS}
    scores = error_scores_of(table, systems, **how, **_run_keywords(run.request.run))
    gold = gold_words(table, side=side, words="blanks")
    named = {system.name(systems): values for system, values in scores.items()}
    return rank_error_scores(gold, named, langpair=langpair)


def _run_keywords(options: RunOptions) -> dict[str, object]:
    """Options of the run; progress of single texts would be a line for each."""
    usual = RunOptions()
    changed = {name: getattr(options, name) for name in RunOptions.options()}
    return {name: value for name, value in changed.items() if value != getattr(usual, name)} | {"progress": False}


def _disagreements(
    rankings: Mapping[tuple[str, str], ErrorRanking], key: tuple[str, ...], labels: list[str], scale: float
) -> dict[str, float]:
    side, measure = key
    values = {
        langpair: scale * rankings[langpair, side].disagreement(measure)
        for langpair in labels
        if (langpair, side) in rankings
    }
    return {langpair: value for langpair, value in values.items() if math.isfinite(value)}


def _strengths(
    rankings: Mapping[tuple[str, str], ErrorRanking], key: tuple[str, ...], labels: list[str], scale: float
) -> dict[str, float]:
    """Mean, median and Bradley-Terry strength of a system; a label is a side, a measure and a statistic."""
    values = {}
    for label in labels:
        side, measure, statistic = label.split(" ")
        ranking = rankings.get(("de-zh", side))
        if ranking is not None:
            by_system = {row.system: row for row in ranking.comparison.metric(measure).systems}
            row = by_system[" ".join(key)]
            by_name = {"mean": row.mean, "median": row.median, "BT": row.bradley_terry}
            values[label] = scale * by_name[statistic]
    return values
