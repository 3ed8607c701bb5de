"""Recompute published tables of agreement: metric scores under one model, compared with human judgements.

Tables on hybrid systems (random mixtures of real systems, `nlgauge.studies.meta.levels`) use other statistics:

    pearson     correlation of a metric with human scores over hybrids
    hits_at_1   how often the best hybrid by a metric is also the best by human scores
    mrr         mean of 1 / human rank of the metric's best
    diff        difference of human scores between the best hybrid and the metric's best, x 100

The package of WMT18 has no scores of segments, so each output gets the official score of its system, and the human
score of a hybrid is the mean of these; a hybrid mixes two systems (D24).
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import DataWarning, MissingExtraError, ModelError, NlgaugeError
from nlgauge.stats.numeric import orient
from nlgauge.studies.meta.levels import Hybrids, SummedCounts, make_hybrids, model_selection
from nlgauge.studies.meta.questions import answer
from nlgauge.studies.meta.row_scores import RowScores, released_rows
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published.marks import ALPHA, RESAMPLES, SEED, TESTS, ScoredColumn, average_intervals, best_rows
from nlgauge.studies.published.remapped import Remappings
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
    TimeLimitError,
    agrees,
    cells_of,
    describe_error,
    slice_of,
)
from nlgauge.studies.published.tables import Column, PaperTable, TableRow, with_options

#: Settings of the paper: number of hybrids per language pair, repetitions, and hybrids to choose from.
HYBRIDS = 10_000
CHOSEN_FROM = 100
REPEATS = 100_000


#: Option of a recipe that takes the file of word vectors, by the field of the row.
_VECTOR_OPTIONS = {"used": "vectors", "needed": "vectors", "model": "model"}


class Value(NamedTuple):
    """A recomputed value: a number, or a name in tables of names (the best setting of a language pair)."""

    value: float | str
    signature: str
    identical: bool = False
    """Whether the released scores equal those of the column that the row lists as possibly identical."""
    settings: str = ""
    """Number of settings of a study, if it differs from the paper's."""


#: Values by row name and column label.
Values = Mapping[tuple[str, str], Value]


def compute_agreement(request: Request) -> Reproduction:
    """Recompute a table on the available data sets; each slice of a data set is read and encoded once."""
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
    for part, cells_of_slice in slices.items():
        values |= _slice_values(run, part, cells_of_slice)
    if run.table.unavailable:
        run.missing[run.table.unavailable] = None
    return run.reproduction(columns, values)


def _slice_values(
    run: PublishedRun, part: DataSlice, cells: Sequence[tuple[TableRow, Column]]
) -> dict[tuple[str, str], Value]:
    """Compute the values of these rows and columns, except those that cannot be computed."""
    judged = run.judged(part)
    if judged is None:
        return {}
    measure = _hybrid_value if run.table.kind == "hybrids" else _agreement
    scores = score_rows(run, judged, list({row.name: row for row, _ in cells}.values()))
    values = {}
    for row, column in cells:
        if row.name not in scores:
            continue
        row_scores = scores[row.name]
        number, reason = float("nan"), ""
        with run.or_missing(f"value of {row.name}, {column.label}"):
            if run.table.kind == "hybrids":  # takes seconds; other values are kept when the time limit has passed
                current_run().check()
            number, reason = measure(run.table, judged, row_scores, column)
        if not np.isfinite(number):
            if reason:
                run.missing[f"value of {row.name}, {column.label}: {reason}"] = None
            continue
        column_name = row.identical_released_column
        identical = bool(column_name) and np.array_equal(
            row_scores.values, judged.table.released.get(column_name, ())
        )
        signature = row_scores.signatures.get(part.langpair, "")
        values[row.name, column.label] = Value(number * run.table.scale, signature, identical)
    if run.table.kind == "agreement" and part.data in {
        column.question.data for _, column in cells if column.question
    }:
        _mark_best(run, judged, cells, {key: scores[key[0]] for key in values})
    return values


def _mark_best(
    run: PublishedRun,
    judged: JudgedRows,
    cells: Sequence[tuple[TableRow, Column]],
    scores: Mapping[tuple[str, str], RowScores],
) -> None:
    """Mark the best rows of each column if the paper bolds by a test, and draw resamples for selected intervals."""
    for label, column in {column.label: column for _, column in cells}.items():
        of_rows = {name: row_scores for (name, key), row_scores in scores.items() if key == label}
        scored = ScoredColumn(column, judged, of_rows)
        if run.table.test:
            with run.or_missing(f"test of {label}"):
                current_run().check()
                is_hybrid = run.table.kind == "hybrids"
                best = _best_on_hybrids(scored) if is_hybrid else scored.best(run.table.test)
                for name in best:
                    run.best.setdefault(name, []).append(label)
        if run.request.intervals:
            with run.or_missing(f"intervals of {label}"):
                current_run().check()
                run.draws |= {(name, label): draws for name, draws in scored.draws().items()}


def _best_on_hybrids(scored: ScoredColumn) -> tuple[str, ...]:
    """Rows that no other row significantly outperforms over hybrids, by Williams' test."""
    made = {name: _hybrids(scored.judged, scores, scored.column) for name, scores in scored.scores.items()}
    vectors = {name: hybrids.metrics[0] for name, hybrids in made.items() if hybrids is not None}
    human = next((hybrids.human for hybrids in made.values() if hybrids is not None), None)
    return () if human is None else best_rows(vectors, human, kind="pearson", test="williams")


def _agreement(_table: PaperTable, judged: JudgedRows, scores: RowScores, column: Column) -> tuple[float, str]:
    """Compute a cell; for NaN also return the reason."""
    assert column.question is not None
    with warnings.catch_warnings():
        # The published table evaluates this column on purpose.
        if column.question.criterion in judged.table.caveats:
            warnings.simplefilter("ignore", DataWarning)
        agreement = answer(column.question, judged.table, scores, pairs=judged.pairs)[column.langpair]
    return agreement.value, agreement.note


def _hybrid_value(table: PaperTable, rows: JudgedRows, scores: RowScores, column: Column) -> tuple[float, str]:
    hybrids = _hybrids(rows, scores, column)
    if hybrids is None:
        return float("nan"), "hybrids need two systems with human scores and outputs for all segments"
    repeats = 1 if table.experiment == "pearson" else REPEATS  # a correlation needs no repetitions
    (result,) = model_selection(hybrids, chosen_from=CHOSEN_FROM, repeats=repeats, undefined="nan")
    return float(getattr(result, table.experiment)), result.reason or ""


def _hybrids(rows: JudgedRows, scores: RowScores, column: Column) -> Hybrids | None:
    """Make hybrids of a language pair, the same for all metrics; None if outputs are missing."""
    judged, langpair = rows.table, column.langpair
    official = judged.system_scores.get(langpair, {})
    chosen = [row for row, pair in enumerate(judged.langpair) if pair == langpair and judged.system[row] in official]
    systems = {name: line for line, name in enumerate(dict.fromkeys(judged.system[row] for row in chosen))}
    segments = {name: number for number, name in enumerate(dict.fromkeys(judged.segment[row] for row in chosen))}
    if len(systems) < 2 or len(chosen) != len(systems) * len(segments):
        return None
    values, human = np.empty((2, len(systems), len(segments)))
    for row in chosen:
        system = judged.system[row]
        position = systems[system], segments[judged.segment[row]]
        values[position], human[position] = scores.oriented[row], official[system]
    made = _summed_counts(scores, langpair, systems, segments, judged) or values
    return make_hybrids({scores.name: made}, human, hybrids=HYBRIDS, mixed="two")


def _summed_counts(
    scores: RowScores, langpair: str, systems: Mapping[str, int], segments: Mapping[str, int], judged: JudgementTable
) -> SummedCounts | None:
    """Counts of the outputs of these systems, if the metric computes system scores from sums."""
    counts: NDArray[np.float64] | None = None
    for part in scores.parts:
        statistics = part.score.statistics
        system = part.score.system
        if part.langpair != langpair or system is None or system not in systems:
            continue
        if statistics is None:
            return None
        if counts is None:
            counts = np.empty((len(systems), len(segments), statistics.counts.shape[1]))
            formula = statistics.score
        places = [segments[judged.segment[row]] for row in part.rows]
        counts[systems[system], places] = statistics.counts
    if counts is None:
        return None
    return SummedCounts(counts, lambda totals: orient(formula(totals), higher_is_better=scores.higher_is_better))


def score_rows(run: PublishedRun, judged: JudgedRows, rows: Sequence[TableRow]) -> dict[str, RowScores]:
    """Compute scores by row; rows with the same recipe share them."""
    table, langpair = judged.table, judged.part.langpair
    recipes: dict[_Inputs, dict[str, list[TableRow]]] = {}
    scores = {}
    for row in rows:
        released = row.released_in.get(table.name, row.released)
        if released in table.released:
            scores[row.name] = released_rows(table, released)
        elif released:
            run.lacking.setdefault(row.name, []).append(f"{table.name} {langpair}: released scores {released!r}")
        elif row.model is None or run.model_is_here():
            inputs = _Inputs(row.model is not None, row.remapping, row.level if row.remapping else "")
            recipes.setdefault(inputs, {}).setdefault(run.recipe(row, langpair), []).append(row)
    failed: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        remappings = Remappings(run.request, table, langpair, Path(folder))
        for inputs, rows_of_recipe in recipes.items():
            # Metrics of vectors share the encoding; others share nothing, and a time limit keeps those that are done.
            groups = [list(rows_of_recipe)] if inputs.model else [[recipe] for recipe in rows_of_recipe]
            for recipe, result in chain.from_iterable(
                _with_inputs(run, judged, group, inputs, remappings) for group in groups
            ):
                for row in rows_of_recipe[recipe]:
                    if isinstance(result, Exception):
                        failed.setdefault(describe_error(result), []).append(row.name)
                    else:
                        scores[row.name] = result.component(row.component) if row.component else result
    for reason, names in failed.items():
        run.missing[f"value of {', '.join(names)}, {langpair or table.name}: {reason}"] = None
    return scores


class _Inputs(NamedTuple):
    """What rows share when they are scored."""

    model: bool
    remapping: str
    level: str


def _with_inputs(
    run: PublishedRun, judged: JudgedRows, recipes: Sequence[str], inputs: _Inputs, remappings: Remappings
) -> Iterator[tuple[str, RowScores | Exception]]:
    """Score recipes with the model and the re-mapping of their rows."""
    layer = run.request.layer
    options: dict[str, Any] = {"model": run.model} if inputs.model else {}
    if inputs.model and layer is not None:
        options["layer"] = layer
    if inputs.remapping:
        try:
            current_run().check()
            options["transforms"] = remappings.file(inputs.level, inputs.remapping)
            run.notes[f"{remappings.langpair}: re-mappings are fitted to {remappings.text.description}"] = None
        except NlgaugeError as error:
            if run.stops(error):
                raise
            yield from ((recipe, error) for recipe in recipes)
            return
    yield from _scored(run, judged, recipes, options)


def _scored(
    run: PublishedRun, judged: JudgedRows, recipes: Sequence[str], options: Mapping[str, Any]
) -> Iterator[tuple[str, RowScores | Exception]]:
    """Score recipes, or return the error of each recipe that fails; scores of earlier tables are used again."""
    known = run.request.known_scores
    keys = {recipe: (judged.part, recipe, *options.items()) for recipe in recipes}
    yield from ((recipe, known[key]) for recipe, key in keys.items() if key in known)
    recipes = [recipe for recipe, key in keys.items() if key not in known]
    if not recipes:
        return
    try:
        scores_of = score_judgements(judged.table, recipes, run=run.request.run, **options).metrics
    except Exception as error:  # of any metric, also of a plug-in
        if run.stops(error):
            raise
        if len(recipes) == 1 or isinstance(error, TimeLimitError):
            yield from ((recipe, error) for recipe in recipes)
            return
        for recipe in recipes:
            yield from _scored(run, judged, [recipe], options)
    else:
        for scores in scores_of:
            known[keys[scores.name]] = scores
            yield scores.name, scores


class PublishedRun(Run):
    """Recomputes a table with one model."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.model = request.model_name
        self._depth: int | None = None
        self._no_model = self.model == NO_MODEL
        self.best: dict[str, list[str]] = {}
        """Columns by row in which no other row is significantly better."""
        self.draws: dict[tuple[str, str], NDArray[np.float64]] = {}
        """Values in each resample by row and column."""
        self.lacking: dict[str, list[str]] = {}
        """Parts of the data without released scores, by row."""

    @property
    def depth(self) -> int | None:
        """Number of layers of the model; None if it was not loaded."""
        return self._depth

    def model_is_here(self) -> bool:
        """Whether the model can be loaded; checked once. If not, it is listed as missing, with the published ones."""
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
        """Whether a row can be computed with the model and the given word vectors."""
        if not row.computed or self._lacks_vectors(row) or self._lacks_lm(row):
            return False
        return self._own_model(row) or not row.own_model_only

    def recipe(self, row: TableRow, langpair: str = "") -> str:
        """Recipe of a row for the model, without the name of the model."""
        text = row.recipe if self._own_model(row) else row.recipe_for_other_models or row.recipe
        depth = self._depth
        if depth is not None:
            text = re.sub(r"top-(\d+)", lambda match: str(max(0, depth - int(match[1]))), text)
        file = self.request.vectors
        vectors = f"{_VECTOR_OPTIONS[row.word_vectors]}={file}" if row.word_vectors and file is not None else ""
        lm = f"lm={self.request.lm}" if row.lm else ""
        return with_options(text, ",".join(filter(None, (row.exceptions.get(langpair, ""), vectors, lm))))

    def reproduction(self, columns: Sequence[Column], values: Values, *, empty_columns: bool = True) -> Reproduction:
        """Build the table with these values, with or without empty columns."""
        rows = [self.model_row(row, columns, values) for row in self.table.rows]
        rows = self._with_tests(rows, columns)
        for row, declared in zip(rows, self.table.rows, strict=True):
            # A row without printed values needs scores in one part of the data only.
            if declared.published or not row.has_ours:
                self.missing |= dict.fromkeys(self.lacking.get(row.name, ()))
        shown = tuple(column for column in columns if empty_columns or any(row.has(column.label) for row in rows))
        cut = [replace(row, cells={column.label: row.cells[column.label] for column in shown}) for row in rows]
        return self.result(cut, shown, model=self.model)

    def _with_tests(self, rows: Sequence[ReproducedRow], columns: Sequence[Column]) -> list[ReproducedRow]:
        """Add marks and intervals to the rows."""
        intervals = average_intervals(columns, self.draws, [row.name for row in rows], scale=self.table.scale)
        if self.best:
            self.notes[
                f"*: no other computed row is significantly better ({TESTS[self.table.test]}, p <= {ALPHA:g}); "
                "bold in Markdown, HTML and LaTeX"
            ] = None
        if intervals:
            self.notes[
                f"95 % intervals: {RESAMPLES:,} resamples of segments within each language pair, seed {SEED}"
            ] = None
        order = {column.label: i for i, column in enumerate(columns)}
        return [
            replace(
                row,
                best=tuple(sorted(self.best.get(row.name, ()), key=order.__getitem__)),
                intervals={label: value for (name, label), value in intervals.items() if name == row.name},
            )
            for row in rows
        ]

    def model_row(self, row: TableRow, columns: Sequence[Column], values: Values) -> ReproducedRow:
        """Build a row with its averages and the reason for differences."""
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
            if row.remapping:
                recipe += f" with a map of 'align fit --level {row.level} --method {row.remapping}'"
        signatures = {label: value.signature for label, value in ours.items()}
        return ReproducedRow(row.name, cells, recipe, self._reason(row, cells, list(ours.values())), signatures)

    def _own_model(self, row: TableRow) -> bool:
        return row.model is None or row.model.matches(self.model)

    def _lacks_vectors(self, row: TableRow) -> bool:
        return row.word_vectors in ("needed", "model") and self.request.vectors is None

    def _lacks_lm(self, row: TableRow) -> bool:
        return row.lm and self.request.lm is None

    def _reason(self, row: TableRow, cells: Mapping[str, ReproducedCell], ours: Sequence[Value]) -> str:
        if not row.computed and row.note:
            return row.note
        if not self.computes(row) and self._lacks_vectors(row):
            return f"published values only: {NEEDS_VECTORS}"
        if self._lacks_lm(row):
            return "published values only: needs a language model (--lm smollm2)"
        if not self.computes(row) and row.model is not None:
            return f"published values only: needs --model {row.model.name}"
        if not row.computed or not ours:
            return "not computed: --model none" if row.model is not None and self.model == NO_MODEL else NOT_COMPUTED
        agreement = agrees(cells.values(), self.table.decimals)
        identical = all(value.identical for value in ours)
        settings = " or ".join(dict.fromkeys(value.settings for value in ours if value.settings))
        other_model = row.model is not None and not self._own_model(row)
        # A value of another model is not the published one, even if the decimals agree.
        reasons = (
            [agreement.replace("as published", "same decimals as published") if other_model else agreement]
            if agreement
            else []
        )
        if identical:
            reasons.append(f"identical to the scores of {row.identical_released_column}")
        if row.model is not None and other_model:
            reasons.append(f"another model: {self.model} (published: {row.model.name})")
        if settings:
            reasons.append(settings)
        if row.word_vectors == "used" and self.request.vectors is None:
            reasons.append("entities by layer 0 of the encoder")
        elif row.word_vectors:
            reasons.append("other word vectors")
        if row.note and (identical or settings or not agreement):
            reasons.append(row.note)
        if self.table.reason and not agreement:
            reasons.append(self.table.reason)
        return "; ".join(reasons)
