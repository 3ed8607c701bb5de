"""Tables of agreement with human judgements on a data set: one table per question, with every difference tested.

    level     segment   each judged row
              document  each judged row of a table of documents (`nlgauge.data.document_table` joins segments)
              topic     the systems of one topic (item), averaged over topics
              system    the systems
    agreement pearson, spearman, kendall          correlation
              acc-eq                              pairwise accuracy with calibrated ties (topic level)
              differences                         Pearson of differences within an item (topic level)
              spa                                 soft pairwise accuracy (system level)
              auc                                 area under the ROC curve (segment level; gold is 0 or 1)
    darr                                WMT's tau of ranked pairs of outputs (segment level)

The average over language pairs is unweighted, as published. A mark shows the metrics that no other metric beats
significantly. Fewer than ten rows, topics or systems are too few for intervals and tests. Outputs of one document
are not independent; `Significance(documents=True)` resamples whole documents instead of rows or topics. Ranked pairs
of a segment are resampled together.

A table is written as

    text    metrics as rows, language pairs as columns, then their average; a star marks unbeaten metrics;
            the last row has the number of judgements, systems or pairs; signatures are below the last table
    TSV     one row per metric and language pair, with interval, rank and signature, in full precision
    LaTeX   like text, with bold instead of the star; Markdown likewise
    JSON    the complete result
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from nlgauge.core.result import Result
from nlgauge.core.run_options import Progress
from nlgauge.core.short_signature import format_signature
from nlgauge.data.judgements import RankedPairs
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import NlgaugeError
from nlgauge.io.canvas import series_styles
from nlgauge.io.numbers import format_count
from nlgauge.io.table import Cell, Marked, Table
from nlgauge.stats.correlation import CorrelationDraws, Undefined, bootstrap_correlations, correlate
from nlgauge.stats.counted_bootstrap import bootstrap_auc, bootstrap_tau
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.studies.meta.levels import Matrix
from nlgauge.studies.meta.pairwise import MARGIN, derive_pairs
from nlgauge.studies.meta.questions import (
    CORRELATIONS,
    COUNTED,
    AgreementCell,
    Judgements,
    Question,
    Significance,
    check_question,
    judgements,
)
from nlgauge.studies.meta.ranks import compare_metrics, compare_tie_accuracies, rank_metrics, small_products
from nlgauge.studies.meta.row_scores import RowScores, ScoredJudgements

_TESTS = {"bootstrap": "paired bootstrap", "williams": "Williams", "acc-eq": "permutation of outcomes"}

#: Name of each agreement in tables, and in figures.
_NAMES = {
    "pearson": ("Pearson's r", "Pearson's r"),
    "spearman": ("Spearman's rho", "Spearman's \u03c1"),
    "kendall": ("Kendall's tau-b", "Kendall's \u03c4"),
    "acc-eq": ("pairwise accuracy with calibrated ties (acc_eq)", "acc_eq"),
    "differences": ("Pearson's r of differences within an item", "r of differences"),
    "spa": ("soft pairwise accuracy", "SPA"),
    "auc": ("area under the ROC curve", "AUC"),
    "darr": ("WMT's Kendall-like tau of ranked pairs (DArr)", "\u03c4 of pairs"),
}

#: What a system's score is, for notes.
_AGGREGATED = {"median": "median of its segments", "bt": "Bradley-Terry strength over its segments"}


@dataclass(frozen=True)
class MetricAgreement:
    """Agreement of one metric on all language pairs."""

    computed: ClassVar[tuple[str, ...]] = ("average",)

    metric: str
    by_langpair: Mapping[str, AgreementCell]
    signatures: Mapping[str, str] = field(default_factory=dict)
    """By language pair."""

    @property
    def average(self) -> float:
        """Unweighted mean over language pairs; nan for a metric that lacks one."""
        return float(np.mean([cell.value for cell in self.by_langpair.values()]))


class _Agreement(Result):
    decimals = 3

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """The result as one text; TSV and CSV always have six decimals."""
        return super().render(form, decimals=6 if form in ("tsv", "csv") else decimals)


@dataclass(frozen=True, eq=False, repr=False)
class AgreementTable(_Agreement):
    """Agreement of metrics with human judgements, by language pair."""

    format = "nlgauge-agreement-1"

    data: str
    criterion: str
    level: str
    agreement: str
    langpairs: tuple[str, ...]
    metrics: tuple[MetricAgreement, ...]
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        what = f"{self.agreement} with {self.criterion}, {self.level} level"
        means = [f"{name} {mean:.3f}" for name, mean in self.averages.items() if np.isfinite(mean)]
        shown = ", ".join([*means[:3], *(["..."] if len(means) > 3 else [])])
        pairs = "" if len(self.langpairs) == 1 else f", {len(self.langpairs)} language pairs"
        return f"<AgreementTable {self.data}: {what}{pairs}: {shown or 'no value'}>"

    @property
    def cells(self) -> dict[str, Mapping[str, AgreementCell]]:
        """By metric, then by language pair."""
        return {row.metric: row.by_langpair for row in self.metrics}

    @property
    def counts(self) -> dict[str, int]:
        """Judgements, systems or pairs behind the values, by language pair."""
        return {pair: max((row[pair].count for row in self.cells.values()), default=0) for pair in self.langpairs}

    @property
    def averages(self) -> dict[str, float]:
        """Unweighted mean over language pairs; nan for a metric that lacks one."""
        return {row.metric: row.average for row in self.metrics}

    @property
    def mark(self) -> str:
        """Meaning of the mark of `unbeaten` cells, with the test; empty if no cell has the mark."""
        if not any(cell.unbeaten for row in self.cells.values() for cell in row.values()):
            return ""
        options = {**asdict(Significance()), **self.options}
        name = _TESTS.get("acc-eq" if self.agreement == "acc-eq" else options["test"], "PERM-BOTH permutation")
        corrected = f", {options['correction']} corrected" if options["correction"] else ""
        whole = " by document" * options["documents"]
        draws = "" if name == "Williams" else f", {options['resamples']} resamples{whole}, seed {options['seed']}"
        level = f"p <= {options['alpha']:g}{corrected}{draws}"
        return f"no other metric is significantly better ({name}, {level})"

    def tables(self, form: str = "text") -> list[Table]:
        """Metrics as rows and language pairs as columns; in TSV and CSV a row per metric and language pair."""
        return Agreements((self,)).tables(form)

    def figure(self) -> Any:
        """A group of bars per language pair, a bar per metric, with intervals."""
        cells, averaged = self.cells, len(self.langpairs) > 1
        groups = {
            pair: {
                name: Bar(row[pair].value, row[pair].low, row[pair].high, row[pair].unbeaten)
                for name, row in cells.items()
            }
            for pair in self.langpairs
        }
        groups |= {"average": {name: Bar(value) for name, value in self.averages.items()}} if averaged else {}
        # Sentinels are only a lower bound for metrics: draw them in grey.
        styles = series_styles(cells, muted=[name for name in cells if name.startswith("sentinel")])
        panel = BarPanel("", _NAMES[self.agreement][1], groups, rule_before="average" if averaged else None)
        title = f"{self.data}: agreement with {self.criterion}, {self.level} level"
        return draw_bar_panels([panel], styles, title=title, caption=_caption(self), height=2.7)


@dataclass(frozen=True, eq=False)
class Agreements(_Agreement):
    """Tables of several kinds of agreement, computed from the same scores."""

    format = "nlgauge-agreements-1"
    keys: ClassVar[Mapping[str, str]] = {"agreements": "tables"}

    agreements: tuple[AgreementTable, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """One table per agreement; in TSV and CSV one table, with a row per metric and language pair."""
        if form in ("tsv", "csv"):
            return [_rows(self.agreements)]
        tables = [_grid(result, form) for result in self.agreements]
        if tables:  # all tables share the signatures
            signatures = dict.fromkeys(line for result in self.agreements for line in _signatures(result))
            tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, *signatures])
        return tables

    def figure(self) -> Any:
        """Figure of the first table."""
        return self.agreements[0].figure()

    def save_figure(self, path: str | Path) -> None:
        """Write the figure of the first table to `path`, and those of the others next to it, as NAME-AGREEMENT."""
        target = Path(path)
        for number, table in enumerate(self.agreements):
            table.save_figure(target if number == 0 else target.with_stem(f"{target.stem}-{table.agreement}"))


def _grid(result: AgreementTable, form: str) -> Table:
    averaged = len(result.langpairs) > 1
    columns = ["metric", *result.langpairs, *(["average"] if averaged else [])]
    rows: list[list[Cell]] = []
    shared = _shared_notes(result)
    notes = [f"{langpair}: {note}" for langpair, note in shared.items()]
    averages = result.averages
    for name, row in result.cells.items():
        cells: list[Cell] = [name]
        for langpair in result.langpairs:
            cell = row[langpair]
            shown: Cell = cell.value if math.isfinite(cell.value) else None
            if shown is not None and cell.unbeaten:
                shown = f"{cell.value:.3f}*" if form == "html" else Marked(cell.value)
            cells.append(shown)
            if cell.note and langpair not in shared:
                notes.append(f"{name}, {langpair}: {cell.note}")
        if averaged:
            cells.append(averages[name] if math.isfinite(averages[name]) else None)
        rows.append(cells)
    if rows:
        what = "pairs" if result.agreement in ("acc-eq", "differences", "spa", "darr") else "systems"
        what = what if what == "pairs" or result.level == "system" else "judgements"
        rows.append([f"n ({what})", *result.counts.values(), *([None] if averaged else [])])
    caption = f"{result.data}: {_NAMES[result.agreement][0]} with {result.criterion}, {result.level} level"
    mark = "*" if form in ("text", "html") else "bold:"
    return Table(columns, rows, caption, [*_explained(result, mark), *notes])


def _shared_notes(result: AgreementTable) -> dict[str, str]:
    """Notes that all metrics of a language pair share, by language pair."""
    shared = {}
    for langpair in result.langpairs:
        notes = {row[langpair].note for row in result.cells.values()}
        if len(notes) == 1 and len(result.cells) > 1 and (note := notes.pop()):
            shared[langpair] = note
    return shared


def _explained(result: AgreementTable, mark: str) -> list[str]:
    """Meaning of the mark, or the reason why no metric has it."""
    options, notes = result.options, list(result.notes)
    if result.agreement == "spa":
        notes.append(f"p-values from {options.get('resamples')} resamples, seed {options.get('seed')}")
    if not result.mark:
        if not Question(agreement=result.agreement).testable:
            notes.append(f"no metric is marked: there is no significance test for {_NAMES[result.agreement][0]}")
        elif options.get("test") == "none":
            notes.append("no metric is marked: significance testing is off (test=none)")
        return notes
    return [*notes, f"{mark} {result.mark}"]


def _signatures(result: AgreementTable) -> list[str]:
    """One signature per metric: that of the first language pair, with a note if the others differ."""
    notes = []
    for row in result.metrics:
        distinct = list(dict.fromkeys(row.signatures.values()))
        if distinct:
            rest = f" (and {len(distinct) - 1} more, which differ in their idf tables)" if len(distinct) > 1 else ""
            notes.append(f"signature of {row.metric}: {format_signature(distinct[0])}{rest}")
    return notes


def _rows(results: Sequence[AgreementTable]) -> Table:
    columns = ["data", "level", "agreement", "criterion", "metric", "langpair", "value", "low", "high"]
    columns += ["rank", "unbeaten", "count", "note", "signature"]
    rows: list[list[Cell]] = []
    for result in results:
        for row in result.metrics:
            fixed: list[Cell] = [result.data, result.level, result.agreement, result.criterion, row.metric]
            for langpair, cell in row.by_langpair.items():
                numbers = [value if math.isfinite(value) else None for value in (cell.value, cell.low, cell.high)]
                rest = ["yes" if cell.unbeaten else "no", cell.count, cell.note, row.signatures.get(langpair, "")]
                rows.append([*fixed, langpair, *numbers, cell.rank, *rest])
    return Table(columns, rows)


def _caption(result: AgreementTable) -> str:
    cells = [cell for row in result.cells.values() for cell in row.values()]
    what = [f"Bars: {_NAMES[result.agreement][1]}"]
    if any(math.isfinite(cell.low) for cell in cells):
        what.append("whiskers: 95 % interval" + " (resampled by document)" * bool(result.options.get("documents")))
    else:
        what.append("no intervals")
    if len(result.langpairs) > 1:
        what.append("average: unweighted mean, no interval")
    mark = result.mark
    what += [f"*: {mark}"] if mark else []
    few = [note for note in result.notes if "significance test" in note]
    return "; ".join([*what, *few]) + "."


#: Human judgements without a name: of systems, and ranked pairs.
_UNNAMED = ("official system scores", "relative rankings")

#: Fewest rows, topics or systems for an interval or a test.
LEAST_ITEMS = 10


def evaluate(
    scored: ScoredJudgements,
    *,
    level: Literal["segment", "document", "topic", "system"] = "segment",
    agreement: str = "pearson",
    criterion: str | None = None,
    aggregate: Literal["mean", "median", "bt"] = "mean",
    pairs: RankedPairs | None = None,
    significance: Significance | None = None,
    undefined: Undefined = "raise",
    progress: bool = False,
) -> AgreementTable:
    """Compute the agreement of each metric with human judgements, with intervals and significance.

    If an agreement cannot be computed, its cell is nan and its note contains the reason. If all cells are nan, the
    first error is raised; `undefined="nan"` returns the table instead. `pairs` are the human judgements of agreement
    `darr`; without them they are derived from raw direct assessments (`derive_pairs`). `progress` shows a progress
    bar on stderr while metrics are tested against each other.
    """
    table = scored.table
    question = Question(level=level, agreement=agreement, criterion=criterion, aggregate=aggregate)
    significance = significance or Significance()
    derived = question.ranked and pairs is None
    if question.ranked and pairs is None:
        pairs = derive_pairs(table, criterion)
    check_question(question, table, pairs=pairs, documents=significance.documents)
    significance = significance.resolved(question)
    unit = "document" if significance.documents else question.unit
    cells: dict[str, dict[str, AgreementCell]] = {name: {} for name in scored.names}
    notes = list(table.notes)
    if aggregate in _AGGREGATED:
        notes.append(f"score of a system: {_AGGREGATED[aggregate]}")
    if derived:
        notes.append(
            f"pairs: outputs of a segment that differ by {MARGIN:g} points or more; a metric tie is an error"
        )
    errors: list[NlgaugeError] = []
    for number, langpair in enumerate(table.langpairs, start=1):
        try:
            gold = judgements(question, table, langpair, documents=significance.documents, pairs=pairs)
        except NlgaugeError as error:
            for name in scored.names:
                cells[name][langpair] = AgreementCell(float("nan"), note=str(error))
                errors.append(error)
            continue
        metric_cells = {}
        for metric in scored.metrics:
            try:
                if langpair in metric.failed:
                    raise metric.failed[langpair]
                metric_cells[metric.name] = gold.answer(metric, **significance.draws)
            except NlgaugeError as error:
                metric_cells[metric.name] = AgreementCell(float("nan"), note=str(error))
                errors.append(error)
        if significance.documents and (gold.items >= LEAST_ITEMS or not question.testable):
            notes.append(f"{langpair}: resampled by document ({gold.items} documents), not by {question.unit}")
        if gold.items >= LEAST_ITEMS:
            with run_context(stage=f"pair {number} of {len(table.langpairs)}" * (len(table.langpairs) > 1)):
                _add_significance(metric_cells, gold, scored.metrics, significance, progress=progress)
        elif question.testable:
            count = format_count(gold.items, str(unit))
            notes.append(
                f"{langpair}: {count}, too few for an interval or significance test (minimum: {LEAST_ITEMS})"
            )
        for name, cell in metric_cells.items():
            cells[name][langpair] = cell
    if errors and undefined != "nan" and len(errors) == len(scored.metrics) * len(table.langpairs):
        raise errors[0]
    return AgreementTable(
        table.name,
        criterion or table.default_criterion or _UNNAMED[question.ranked],
        level,
        agreement,
        table.langpairs,
        tuple(MetricAgreement(metric.name, cells[metric.name], metric.signatures) for metric in scored.metrics),
        tuple(notes),
        {"aggregate": aggregate, "unit": unit, **asdict(significance)},
    )


def _add_significance(
    cells: dict[str, AgreementCell],
    gold: Judgements,
    metrics: Sequence[RowScores],
    significance: Significance,
    *,
    progress: bool,
) -> None:
    """Add intervals to the cells of metrics that have a value, and ranks if metrics are tested."""
    question = gold.question
    scores = {metric.name: gold.scores(metric) for metric in metrics if np.isfinite(cells[metric.name].value)}
    drawn = None
    if question.agreement in COUNTED and scores:
        drawn = _counted_draws(scores, gold, significance)
        for number, name in enumerate(scores):
            interval = drawn.interval(number)
            cells[name] = replace(cells[name], low=interval.low, high=interval.high)
    if question.agreement in CORRELATIONS:
        draw = _topic_intervals if question.level == "topic" else _intervals
        for name, (low, high) in draw(scores, gold, significance, progress).items():
            cells[name] = replace(cells[name], low=low, high=high)
    if significance.test == "none" or len(scores) < 2:
        return
    common: dict[str, Any] = {"documents": gold.documents, **significance.pairs}
    if drawn is not None:
        order = sorted(range(len(scores)), key=lambda number: -drawn.observed[number])
        p_values = np.full((len(order), len(order)), np.nan)
        for i, j in combinations(range(len(order)), 2):
            p_values[i, j] = drawn.difference(order[i], order[j]).p_value
        values = {list(scores)[number]: float(drawn.observed[number]) for number in order}
        compared = rank_metrics(values, p_values, significance.alpha, significance.correction)
    elif question.agreement == "acc-eq":
        compared = compare_tie_accuracies(scores, gold.human, **common).comparison
    else:
        common |= {"kind": question.agreement, "test": significance.test, "undefined": "leave out"}
        level: Literal["item", "segment"] = "item" if question.level == "topic" else "segment"
        tests = len(scores) * (len(scores) - 1) // 2
        with Progress(tests, show=progress, what=f"testing {question.agreement}", unit="test") as advance:
            # Systems are resampled like segments.
            compared = compare_metrics(scores, gold.human, level=level, advance=advance, **common)
    for name, unbeaten, rank in zip(compared.names, compared.unbeaten, compared.ranks, strict=True):
        cells[name] = replace(cells[name], unbeaten=unbeaten, rank=rank)


def _counted_draws(scores: Mapping[str, Matrix], gold: Judgements, significance: Significance) -> CorrelationDraws:
    """AUC or tau of all metrics on the same resamples."""
    human = gold.human
    judged = ~np.isnan(human)
    values = np.stack([matrix[judged] for matrix in scores.values()])
    if gold.documents is not None and gold.pairs is not None:
        return bootstrap_tau(values, gold.documents, **significance.draws)
    clusters = None if gold.documents is None else gold.documents[judged[0]]
    return bootstrap_auc(values, human[judged], clusters=clusters, **significance.draws)


def _intervals(
    scores: Mapping[str, Matrix], gold: Judgements, significance: Significance, progress: bool
) -> dict[str, tuple[float, float]]:
    human, kind = gold.human, gold.question.agreement
    judged = ~np.isnan(human)  # a single line, of rows or of systems
    if not scores:
        return {}
    with (
        Progress(significance.resamples, show=progress, what=f"resampling {kind}", unit="draw") as advance,
        small_products(human, "segment"),
    ):
        drawn = bootstrap_correlations(
            np.stack([matrix[judged] for matrix in scores.values()]),
            human[judged],
            kind=kind,
            clusters=None if gold.documents is None else gold.documents[judged[0]],
            advance=advance,
            **significance.draws,
        )
    intervals = [drawn.interval(number) for number in range(len(scores))]
    return {name: (interval.low, interval.high) for name, interval in zip(scores, intervals, strict=True)}


def _topic_intervals(
    scores: Mapping[str, Matrix], gold: Judgements, significance: Significance, progress: bool
) -> dict[str, tuple[float, float]]:
    """Intervals from resampling topics, or their documents; topics without a correlation are left out."""
    intervals = {}
    for name, matrix in scores.items():
        values: dict[int, float] = {}
        for topic, (ours, theirs) in enumerate(zip(matrix.T, gold.human.T, strict=True)):
            judged = ~np.isnan(theirs)
            if judged.sum() > 1:
                value = correlate(ours[judged], theirs[judged], kind=gold.question.agreement, undefined="nan").value
                values |= {topic: value} if np.isfinite(value) else {}
        documents = None if gold.documents is None else gold.documents[list(values)]
        if len(values if documents is None else np.unique(documents)) > 1:  # one topic, or document, has no spread
            interval = bootstrap_mean(list(values.values()), clusters=documents, **significance.draws)
            intervals[name] = (interval.low, interval.high)
    return intervals
