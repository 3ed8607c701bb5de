"""Tables of agreement with human judgements on a data set: one table per question, with every difference tested.

    level     segment   every judged row on its own
              document  the same for rows that are documents (`nlgauge.data.document_table` joins segments)
              topic     systems of one topic (item) against each other, averaged over topics
              system    systems against each other
    agreement pearson, spearman, kendall          correlation
              acc-eq                              pairs of systems ordered as people do, ties calibrated (topic level)
              differences                         Pearson of differences within an item (topic level)
              spa                                 soft pairwise accuracy (system level)
              auc                                 how well two classes are told apart (segment level; gold is 0 or 1)

Language pairs are averaged without weights, as published. A metric that no other one beats significantly is marked.
On fewer than ten rows, topics or systems there is neither an interval nor a test: they would say nothing. Outputs of
one document are not independent; `Significance(documents=True)` draws whole documents instead of rows or topics.

`tune_layer` asks the same question of every layer of a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from nlgauge.core.kinds import Choice, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import InputError, NlgaugeError
from nlgauge.io.table import Cell, Marked, Table
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.stats.correlation import Undefined, bootstrap_correlations, correlate
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.meta.agreement import AgreementTable, MetricAgreement
from nlgauge.studies.meta.levels import Matrix
from nlgauge.studies.meta.questions import (
    CORRELATIONS,
    AgreementCell,
    Judgements,
    Question,
    Significance,
    answer,
    check_question,
    judgements,
)
from nlgauge.studies.meta.ranks import MetricComparison, compare_metrics, compare_tie_accuracies, small_products
from nlgauge.studies.meta.row_scores import RowScores, ScoredJudgements
from nlgauge.studies.meta.score_judgements import score_judgements

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TuneKeywords


#: Fewest rows, topics or systems for an interval or a test.
LEAST_ITEMS = 10


def evaluate(
    scored: ScoredJudgements,
    *,
    level: Literal["segment", "document", "topic", "system"] = "segment",
    agreement: str = "pearson",
    criterion: str | None = None,
    aggregate: Literal["mean", "median"] = "mean",
    significance: Significance | None = None,
    undefined: Undefined = "raise",
    progress: bool = False,
) -> AgreementTable:
    """The agreement of each metric with people, per language pair, with intervals and significance.

    A metric, or a language pair, whose agreement cannot be computed has nan in its cells, with the reason in their
    notes. Where that is so of all cells, it is an error, or with `undefined="nan"` a table without a value.
    `progress` shows a bar on stderr while metrics are tested against each other.
    """
    table = scored.table
    question = Question(level=level, agreement=agreement, criterion=criterion, aggregate=aggregate)
    significance = significance or Significance()
    check_question(question, table, documents=significance.documents)
    significance = significance.resolved(question)
    unit = "document" if significance.documents else question.unit
    cells: dict[str, dict[str, AgreementCell]] = {name: {} for name in scored.names}
    notes = list(table.notes)
    errors: list[NlgaugeError] = []
    for number, langpair in enumerate(table.langpairs, start=1):
        try:
            people = judgements(question, table, langpair, documents=significance.documents)
        except NlgaugeError as error:
            for name in scored.names:
                cells[name][langpair] = AgreementCell(float("nan"), note=str(error))
                errors.append(error)
            continue
        found = {}
        for metric in scored.metrics:
            try:
                if langpair in metric.failed:
                    raise metric.failed[langpair]
                found[metric.name] = people.answer(metric, **significance.draws)
            except NlgaugeError as error:
                found[metric.name] = AgreementCell(float("nan"), note=str(error))
                errors.append(error)
        if significance.documents and (people.items >= LEAST_ITEMS or not question.testable):
            notes.append(f"{langpair}: {people.items} documents are drawn as wholes, instead of {question.unit}s")
        if people.items >= LEAST_ITEMS:
            with run_context(stage=f"pair {number} of {len(table.langpairs)}" * (len(table.langpairs) > 1)):
                _add_significance(found, people, scored.metrics, significance, progress=progress)
        elif question.testable:
            few = f"{people.items} {unit}{'s' * (people.items != 1)}"
            notes.append(f"{langpair}: {few}, fewer than {LEAST_ITEMS}: no interval and no significance test")
        for name, cell in found.items():
            cells[name][langpair] = cell
    if errors and undefined != "nan" and len(errors) == len(scored.metrics) * len(table.langpairs):
        raise errors[0]
    return AgreementTable(
        table.name,
        criterion or table.default_criterion or "official system scores",
        level,
        agreement,
        table.langpairs,
        tuple(MetricAgreement(metric.name, cells[metric.name], metric.signatures) for metric in scored.metrics),
        tuple(notes),
        {"aggregate": aggregate, "unit": unit, **asdict(significance)},
    )


def _add_significance(
    cells: dict[str, AgreementCell],
    people: Judgements,
    metrics: Sequence[RowScores],
    significance: Significance,
    *,
    progress: bool,
) -> None:
    """Add the intervals of metrics that have a value, and their ranks where they are tested."""
    question = people.question
    scores = {metric.name: people.scores(metric) for metric in metrics if np.isfinite(cells[metric.name].value)}
    if question.agreement in CORRELATIONS:
        draw = _topic_intervals if question.level == "topic" else _intervals
        for name, (low, high) in draw(scores, people, significance, progress).items():
            cells[name] = replace(cells[name], low=low, high=high)
    if significance.test == "none" or len(scores) < 2:
        return
    compared = _compare(scores, people, significance, progress=progress)
    for at, name in enumerate(compared.names):
        cells[name] = replace(cells[name], unbeaten=compared.unbeaten[at], rank=compared.ranks[at])


def _compare(
    scores: Mapping[str, Matrix], people: Judgements, significance: Significance, *, progress: bool
) -> MetricComparison:
    """Metrics from best to worst, every pair tested."""
    kind = people.question.agreement
    if kind == "acc-eq":
        tested = compare_tie_accuracies(scores, people.human, documents=people.documents, **significance.pairs)
        return tested.comparison
    tests = len(scores) * (len(scores) - 1) // 2
    with Progress(tests, show=progress, what=f"testing {kind}", unit="test") as advance:
        return compare_metrics(
            scores,
            people.human,
            level="item" if people.question.level == "topic" else "segment",  # systems are drawn as segments are
            kind=kind,
            test=significance.test,  # type: ignore[arg-type]  # resolved above
            documents=people.documents,
            undefined="leave out",
            advance=advance,
            **significance.pairs,
        )


def _intervals(
    scores: Mapping[str, Matrix], people: Judgements, significance: Significance, progress: bool
) -> dict[str, tuple[float, float]]:
    human, kind = people.human, people.question.agreement
    judged = ~np.isnan(human)  # one line: of rows, or of systems
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
            clusters=None if people.documents is None else people.documents[judged[0]],
            advance=advance,
            **significance.draws,
        )
    intervals = [drawn.interval(number) for number in range(len(scores))]
    return {name: (interval.low, interval.high) for name, interval in zip(scores, intervals, strict=True)}


def _topic_intervals(
    scores: Mapping[str, Matrix], people: Judgements, significance: Significance, progress: bool
) -> dict[str, tuple[float, float]]:
    """Topics are what is drawn, or their documents; those without a correlation are left out, as in the mean."""
    intervals = {}
    for name, matrix in scores.items():
        values: dict[int, float] = {}
        for topic, (ours, theirs) in enumerate(zip(matrix.T, people.human.T, strict=True)):
            judged = ~np.isnan(theirs)
            if judged.sum() > 1:
                value = correlate(ours[judged], theirs[judged], kind=people.question.agreement, undefined="nan").value
                values |= {topic: value} if np.isfinite(value) else {}
        documents = None if people.documents is None else people.documents[list(values)]
        if len(values if documents is None else np.unique(documents)) > 1:  # one topic, or document, has no spread
            interval = bootstrap_mean(list(values.values()), clusters=documents, **significance.draws)
            intervals[name] = (interval.low, interval.high)
    return intervals


class LayerAgreement(NamedTuple):
    """Agreement of one layer."""

    layer: int
    average: float
    """Unweighted mean over language pairs."""
    by_langpair: Mapping[str, float]


@dataclass(frozen=True)
class LayerTuning(Result):
    """Agreement by layer and language pair."""

    format = "nlgauge-layer-tuning-1"

    model: str
    data: str
    agreement: str
    best: int
    """The layer with the highest average."""
    layers: tuple[LayerAgreement, ...]
    """From layer 0."""

    def tables(self, form: str = "text") -> list[Table]:
        """A row per layer."""
        rows: list[list[Cell]] = []
        for row in self.layers:
            cells: list[Cell] = [
                None if np.isnan(value) else value for value in (*row.by_langpair.values(), row.average)
            ]
            rows.append([row.layer, *cells[:-1], Marked(row.average) if row.layer == self.best else cells[-1]])
        mark = "bold:" if form in ("latex", "markdown") else "*"
        note = f"{mark} best layer: {self.best} (model {self.model}, BERTScore F without idf, {self.agreement})"
        columns = ["layer", *self.layers[0].by_langpair, "average"]
        return [Table(columns, rows, f"{self.data}: agreement by layer", [note])]


@dataclass(frozen=True, kw_only=True)
class TuneOptions(OptionSet):
    """The model whose layers are compared, and by what."""

    called: ClassVar[str] = "options of the choice of a layer"

    model: str = option("minilm", Text("a model"), help="model")
    agreement: str = option("pearson", Choice(*CORRELATIONS), help="correlation with human judgements")


def tune_layer(
    table: JudgementTable, *, run: RunOptions | None = None, **options: Unpack[TuneKeywords]
) -> LayerTuning:
    """Score a table at every layer of a model on one encoding of its texts.

    Options are `TuneOptions` and those of a run, which may also be in one object (`run`).
    """
    given: dict[str, Any] = dict(options)
    own = TuneOptions.take(given)
    question = Question(agreement=own.agreement)
    check_question(question, table)  # a data set without judgements of segments is an error before the work
    if not all(table.references):
        msg = f"layers are tuned on outputs beside references, and {table.name} has none"
        raise InputError(msg)
    running = RunOptions.of(given) if run is None else run.with_options(**given)
    top = load_encoder(own.model, **running.loading).layers
    metrics = [BERTScore(model=own.model, layer=layer) for layer in range(top + 1)]
    scored = score_judgements(table, metrics, run=running)
    layers = []
    for layer, metric in enumerate(scored.metrics):
        values = {pair: one.value for pair, one in answer(question, table, metric).items()}
        layers.append(LayerAgreement(layer, float(np.mean(list(values.values()))), values))
    averages = [row.average for row in layers]
    if np.isnan(averages).all():
        msg = f"no layer of {own.model!r} has a correlation with people on every language pair of {table.name}"
        raise InputError(msg)
    return LayerTuning(own.model, table.name, own.agreement, int(np.nanargmax(averages)), tuple(layers))
