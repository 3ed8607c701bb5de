"""Recompute a published table from what is here: data under a folder, and one model.

Every cell says what is published and what we get; a row says why the two differ. What cannot be computed (a data
set that is not here, a model, a metric) is listed with where it is published, and the printed values stay.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.errors import DataWarning, FileFormatError, NlgaugeError, RecipeError
from nlgauge.studies.meta.metric_scores import MetricScores
from nlgauge.studies.meta.questions import Question, answer
from nlgauge.studies.meta.score_table import released_rows, score_table
from nlgauge.studies.published.density import DensityTable, reproduce_density
from nlgauge.studies.published.factors import FactorTable, reproduce_factors
from nlgauge.studies.published.features import FeatureTable, HybridTable, hybrid_value, reproduce_features
from nlgauge.studies.published.rankings.experiments import reproduce_rankings
from nlgauge.studies.published.rankings.frames import RankingOptions, RankingTable
from nlgauge.studies.published.robustness import RobustnessTable, reproduce_robustness
from nlgauge.studies.published.runs import (
    DataSlice,
    JudgedRows,
    PublishedRun,
    Reproduction,
    Value,
    Values,
    find_judged,
    kept_columns,
    or_missing,
    slice_of,
)
from nlgauge.studies.published.sensitivity import StudyInputs, StudyRun, with_corpora
from nlgauge.studies.published.tables import Column, Mean, PaperStudy, PaperTable, TableRow


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
    vectors: str | os.PathLike[str] | None = None,
    study: StudyInputs | None = None,
    rankings: RankingOptions | None = None,
    run: RunOptions | None = None,
    **options: Any,
) -> Reproduction:
    """The table with our values beside the published ones.

    `at` is the folder under which the data sets lie; `langpairs`, `data` and `levels` limit the columns, `rows` the
    metrics. `layer` is BERTScore's in another model than the published one (default: the model's tuned one).
    `vectors` is a file of word vectors, for rows on entities (`disco-table1` and others). `study` is what a
    sensitivity study can be given (`PaperStudy` only), `rankings` how a table on rankings is run (`RankingTable`
    only, which has no use of models, layers, language pairs and levels). Options are those of a run (`RunOptions`:
    engine, threads, ...), as keywords or in one object (`run`). Without a model the table's own stand-in is taken:
    `minilm`, or `muse` across languages. With `model="none"` only lexical metrics and released scores are computed.

    A study scores English texts only; `langpairs` names others, for a model that reads them.
    """
    inputs = study or StudyInputs()
    words = _word_vectors(table, vectors)
    if isinstance(table, RankingTable):
        _refuse_given(table, model=model, layer=layer, langpairs=langpairs, levels=levels, study=study)
        return reproduce_rankings(table, at=at, rows=rows, data=data, options=rankings)
    if isinstance(table, DensityTable):
        _refuse_given(table, model=model, layer=layer, langpairs=langpairs, levels=levels, data=data, study=study)
        return reproduce_density(table, rows=rows, options=rankings)
    _refuse_given(table, rankings=rankings)
    if isinstance(table, FeatureTable):
        _refuse_given(table, model=model, layer=layer, langpairs=langpairs, levels=levels, study=study)
        return reproduce_features(table, at=at, rows=rows, data=data, vectors=words)
    running = RunOptions.of(options) if run is None else replace(run, **options)
    if isinstance(table, FactorTable):
        _refuse_given(table, layer=layer, levels=levels, study=study)
        return reproduce_factors(table, at=at, model=model, rows=rows, data=data, langpairs=langpairs, run=running)
    if isinstance(table, RobustnessTable):
        _refuse_given(table, model=model, layer=layer, langpairs=langpairs, levels=levels, study=study)
        return reproduce_robustness(table, at=at, rows=rows, data=data)
    if isinstance(table, PaperStudy):
        table = with_corpora(table, inputs)
    elif inputs != StudyInputs():
        msg = f"{table.id} is not a sensitivity study; leave out the state, idf corpora, stop words and ddof"
        raise RecipeError(msg)
    names = select_known(rows, [row.name for row in table.rows], f"{table.id}: row")
    table = replace(table, rows=tuple(row for row in table.rows if row.name in names))
    model = model or table.default_model
    if isinstance(table, PaperStudy):
        kept = kept_columns(table, langpairs=langpairs, data=data, levels=levels)
        of_study = StudyRun(table, at, model, layer, running, inputs)
        # Texts in other languages need a model that reads them: they are run where they are asked for.
        asked = [
            column
            for column in kept
            if langpairs is not None or isinstance(column, Mean) or column.langpair in table.english_pairs
        ]
        values = of_study.values(asked)
        of_study.note_missing_inputs(everything=langpairs is None)
        return _reproduction(of_study, kept, values, empty_columns=False)
    kept = kept_columns(table, langpairs=langpairs, data=data, levels=levels)
    of_table = PublishedRun(table, at, model, layer, running, words)
    values = _table_values(of_table, kept)
    if table.unavailable:
        of_table.missing[table.unavailable] = None
    return _reproduction(of_table, kept, values, empty_columns=True)


def _word_vectors(table: PaperTable, vectors: str | os.PathLike[str] | None) -> str | None:
    """The file, which the table must have a use of."""
    if vectors is None:
        return None
    if not table.takes_word_vectors:
        msg = f"no row of {table.id} reads word vectors; leave out vectors"
        raise RecipeError(msg)
    path = os.fspath(vectors)
    if "," in path:
        msg = f"the file of word vectors {path!r} has a comma in its path, where a recipe ends an option; rename it"
        raise RecipeError(msg)
    return path


def _refuse_given(table: PaperTable, **given: object) -> None:
    """Refuse what a table of its kind has no use of."""
    for name, value in given.items():
        if value not in (None, StudyInputs(), RankingOptions()):
            kinds = {
                RankingTable: "a table on rankings of systems",
                FactorTable: "a table of regressions",
                FeatureTable: "a table on features of texts",
                RobustnessTable: "a table of released scores",
                DensityTable: "a simulation of languages",
            }
            kind = kinds.get(type(table), "no table on rankings")
            what = {"study": "options of sensitivity studies", "rankings": "options of rankings (ties, full, ...)"}
            msg = f"{table.id} is {kind}; leave out {what.get(name, name)}"
            raise RecipeError(msg)


def _reproduction(
    run: PublishedRun, kept: tuple[Column | Mean, ...], values: Values, *, empty_columns: bool
) -> Reproduction:
    rows = [run.row(row, kept, values) for row in run.table.rows]
    cells = {column.label: [row.cells[column.label] for row in rows] for column in kept}
    filled = {
        label: any(cell.published is not None or cell.ours is not None for cell in of_column)
        for label, of_column in cells.items()
    }
    shown = tuple(column for column in kept if empty_columns or filled[column.label])
    made = tuple(replace(row, cells={one.label: row.cells[one.label] for one in shown}) for row in rows)
    return Reproduction(run.table, run.model, shown, made, tuple(run.missing), tuple(run.notes))


def _table_values(run: PublishedRun, kept: Sequence[Column | Mean]) -> dict[tuple[str, str], Value]:
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
        values |= _slice_values(run, part, wanted)
    return values


def _slice_values(
    run: PublishedRun, part: DataSlice, asked: Sequence[tuple[TableRow, Column]]
) -> dict[tuple[str, str], Value]:
    """Our values of these rows and columns; those that cannot be had are left out."""
    judged = find_judged(part, run.at, run.missing)
    if judged is None:
        return {}
    rows = {row.name: row for row, _ in asked}
    scores = _scores(run, judged.table, part.langpair, list(rows.values()))
    found = {}
    for row, column in asked:
        if row.name in scores and column.question is not None:
            one = scores[row.name]
            number, why = float("nan"), ""
            with or_missing(f"value of {row.name}, {column.label}", run.missing):
                if isinstance(run.table, HybridTable):
                    number, why = hybrid_value(run.table, judged.table, one, part.langpair)
                else:
                    number, why = _agreement(judged, one, column.question, part.langpair)
            if not np.isfinite(number):
                if why:
                    run.missing[f"value of {row.name}, {column.label}: {why}"] = None
                continue
            other = row.identical_released_column
            identical = bool(other) and np.array_equal(one.values, judged.table.released.get(other, ()))
            signature = one.signatures.get(part.langpair, "")
            found[row.name, column.label] = Value(number * run.table.scale, signature, identical)
    return found


def _scores(
    run: PublishedRun, table: JudgementTable, langpair: str, rows: Sequence[TableRow]
) -> dict[str, MetricScores]:
    """By row; rows with one recipe share its scores."""
    recipes: dict[bool, dict[str, list[TableRow]]] = {False: {}, True: {}}
    found = {}
    for row in rows:
        if row.released:
            released = row.released_in.get(table.name, row.released)
            if released in table.released:
                found[row.name] = released_rows(table, released)
            else:
                run.missing[f"{table.name} {langpair}: released scores {released!r}"] = None
        elif row.model is None or run.model_is_here():
            recipes[row.model is not None].setdefault(run.recipe(row, langpair), []).append(row)
    with_model: dict[str, Any] = {"model": run.model} | ({} if run.layer is None else {"layer": run.layer})
    failed: dict[str, list[str]] = {}
    for needs_model, wanted in recipes.items():
        for recipe, one in _scored(run, table, list(wanted), with_model if needs_model else {}):
            for row in wanted[recipe]:
                if isinstance(one, NlgaugeError):
                    failed.setdefault(str(one), []).append(row.name)
                else:
                    found[row.name] = one.component(row.component) if row.component else one
    for why, names in failed.items():
        run.missing[f"value of {', '.join(names)}, {langpair or table.name}: {why}"] = None
    return found


def _scored(
    run: PublishedRun, table: JudgementTable, recipes: Sequence[str], options: Mapping[str, Any]
) -> Iterator[tuple[str, MetricScores | NlgaugeError]]:
    """Scores of recipes, or why there are none: one that cannot be computed leaves the others."""
    if not recipes:
        return
    try:
        scored = score_table(table, recipes, run=run.options, **options).metrics
    except FileFormatError:
        raise
    except NlgaugeError as error:
        if len(recipes) == 1:
            yield recipes[0], error
            return
        for recipe in recipes:
            yield from _scored(run, table, [recipe], options)
    else:
        yield from ((one.name, one) for one in scored)


def _agreement(judged: JudgedRows, scores: MetricScores, question: Question, langpair: str) -> tuple[float, str]:
    """The number, and why there is none where it is nan."""
    with warnings.catch_warnings():
        if question.criterion in judged.table.caveats:  # the published table is about that very column, and says so
            warnings.simplefilter("ignore", DataWarning)
        found = answer(question, judged.table, scores, pairs=judged.pairs)[langpair]
    return found.value, found.note
