"""Scoring of the rows of a judgement table, with idf counted by the protocol of the data set.

Metrics that count idf need whole files. The texts to count depend on the data:

    data with whole files (`wmt17`)     each system's file, and its references
    all systems on the same segments    each system's outputs, and the references
    anything else                       all rows of a language pair together

`tune_layer` scores a table at every layer of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import check_annotated_languages
from nlgauge.core.corpus import Corpus, make_corpus
from nlgauge.core.kinds import Choice, Text
from nlgauge.core.metric import Metric, TextMetric, base_metrics, reads_sources
from nlgauge.core.notes import warn_about_languages
from nlgauge.core.options import OptionSet, option
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, metric_list, metric_text, recipes_and_run
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import InputError, MissingExtraError, ModelError, NlgaugeError
from nlgauge.io.canvas import finish_figure, legend_entries, new_panels, series_styles
from nlgauge.io.table import Cell, Marked, Table
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.stats.correlation import Undefined
from nlgauge.studies.meta.questions import CORRELATIONS, Question, answer, check_question
from nlgauge.studies.meta.row_scores import RowScores, ScoredJudgements, ScoredRows
from nlgauge.text.languages import LANGUAGE_CODES

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords, TuneKeywords

#: Corpora to score, with the rows of the table that belong to each system's segments.
TableCorpora: TypeAlias = Iterator[tuple[Corpus, Mapping[str, NDArray[np.intp]]]]


def score_judgements(
    table: JudgementTable,
    metric: Metrics,
    *,
    run: RunOptions | None = None,
    undefined: Undefined = "raise",
    **options: Unpack[ScoreKeywords],
) -> ScoredJudgements:
    """Score every row of a table; options are those of `nlgauge.score`, and `run` is the run options in one object.

    A text is encoded once per language pair and window for all metrics. A metric given as text has that text as its
    name (`bertscore:layer=4`). With `undefined="nan"`, a metric that cannot be computed for a language pair has nan
    there, and the error is in `RowScores.failed`; the other scores are kept.
    """
    metrics = metric_list(metric)
    recipes, keywords = recipes_and_run(metrics, options)
    running = RunOptions.of(keywords) if run is None else replace(run, **keywords)
    _check_compared(table, recipes)
    warn_about_languages(base_metrics(recipes), named_by_data=_languages(table, recipes))
    parts: list[list[ScoredRows]] = [[] for _ in recipes]
    failed: list[dict[str, NlgaugeError]] = [{} for _ in recipes]
    for number, langpair in enumerate(table.langpairs, start=1):
        for chosen, make_corpora in _by_corpora(recipes):
            left = _metrics_to_try(chosen, langpair, failed)
            try:
                corpora = list(make_corpora(table, langpair)) if left else []
            except NlgaugeError as error:
                if undefined != "nan":
                    raise
                corpora = []
                for index in left:
                    failed[index][langpair] = error
            for part_number, (corpus, rows) in enumerate(corpora, start=1):
                counts = (("pair", number, len(table.langpairs)), ("system", part_number, len(corpora)))
                # The progress bars start again for every part.
                stage = ", ".join(f"{what} {current} of {total}" for what, current, total in counts if total > 1)
                with run_context(stage=stage):
                    for index, scores in _score_corpus(recipes, left, corpus, running, undefined, langpair):
                        if isinstance(scores, NlgaugeError):
                            failed[index].setdefault(langpair, scores)
                            continue
                        systems = zip(corpus.systems, scores, strict=True)
                        parts[index] += [ScoredRows(langpair, rows[system], score) for system, score in systems]
                left = [index for index in left if langpair not in failed[index]]
    names = [metric_text(metric) for metric in metrics]
    scored = []
    for index, (name, errors) in enumerate(zip(names, failed, strict=True)):
        # If one system of a language pair failed, the scores of the others are dropped.
        own = tuple(part for part in parts[index] if part.langpair not in errors)
        mark = f" #{names[: index + 1].count(name)}" if names.count(name) > 1 else ""
        scored.append(RowScores(f"{name}{mark}", len(table), own, errors))
    return ScoredJudgements(table, tuple(scored))


def _by_corpora(
    recipes: Sequence[Metric],
) -> list[tuple[list[int], Callable[[JudgementTable, str], TableCorpora]]]:
    """Group indices of recipes by the corpora that they score."""
    # Text metrics count no idf, and their corpus scores are those of whole systems.
    plain = [index for index, recipe in enumerate(recipes) if isinstance(recipe, TextMetric)]
    # Metrics that scale over a corpus scale over a language pair, as published. Metrics without idf need no whole
    # files, unless they can share the encoding of a metric with idf.
    clouds = {index: recipe for index, recipe in enumerate(recipes) if isinstance(recipe, VectorMetric)}
    counting = {recipe.encoding for recipe in clouds.values() if recipe.counts_idf}
    pooled = [index for index, recipe in clouds.items() if recipe.whole_corpus or recipe.encoding not in counting]
    encoded = [index for index in clouds if index not in pooled]
    # A combination of metrics runs with its members that count idf, if there are any.
    for index, recipe in enumerate(recipes):
        if index not in plain and index not in clouds:
            counts = any(isinstance(member, VectorMetric) and member.counts_idf for member in recipe.base_metrics)
            (encoded if counts else pooled).append(index)
    # Text metrics first: a missing package is then an error before anything is encoded.
    return [(plain, system_corpora), (pooled, pooled_corpora), (encoded, table_corpora)]


def _score_corpus(
    recipes: Sequence[Metric],
    chosen: Sequence[int],
    corpus: Corpus,
    run: RunOptions,
    undefined: Undefined,
    langpair: str,
) -> Iterator[tuple[int, list[Score] | NlgaugeError]]:
    """Scores of the systems by each chosen metric, together; if that fails, by one metric at a time."""
    if not chosen:
        return
    metrics = [recipes[index] for index in chosen]
    # In a user's table the language pair may be any text.
    source, target = (code if code in LANGUAGE_CODES else "" for code in langpair.rpartition("-")[::2])
    try:
        check_annotated_languages(base_metrics(metrics), source=source, target=target)
        scores = run_metrics(metrics, corpus, run)
    except NlgaugeError as error:
        if undefined != "nan":
            raise
        if len(chosen) == 1:
            yield chosen[0], error
            return
        for index in chosen:
            yield from _score_corpus(recipes, [index], corpus, run, undefined, langpair)
    else:
        count = len(corpus.systems)
        yield from ((index, scores[number * count : (number + 1) * count]) for number, index in enumerate(chosen))


def _metrics_to_try(chosen: Sequence[int], langpair: str, failed: Sequence[dict[str, NlgaugeError]]) -> list[int]:
    """Indices of metrics that do not lack a model or a package; the error of the others is copied."""
    left = []
    for index in chosen:
        lacking = [error for error in failed[index].values() if isinstance(error, ModelError | MissingExtraError)]
        if lacking:
            failed[index][langpair] = lacking[0]
        else:
            left.append(index)
    return left


def _languages(table: JudgementTable, recipes: Iterable[Metric]) -> list[str]:
    """Languages of the compared texts; those of sources only if a metric uses them."""
    pairs = [pair.split("-") for pair in table.langpairs]
    sources = reads_sources(recipes)
    return [code for pair in pairs for code in (pair if sources else pair[-1:])]


def _check_compared(table: JudgementTable, recipes: Sequence[Metric]) -> None:
    """Raise an error if a metric compares with references or sources that the table does not have."""
    for recipe in base_metrics(recipes):
        against = getattr(recipe, "against", "refs")
        if against == "refs" and not all(table.references):
            remedy = f"; use {recipe.name}:against=source to compare with sources" * ("against" in recipe.options())
            msg = f"{recipe.name} needs references, and {table.name} has none{remedy}"
            raise InputError(msg)
        if reads_sources([recipe]) and table.source is None:
            msg = f"{recipe.name} needs sources, and {table.name} has none"
            raise InputError(msg)


def table_corpora(table: JudgementTable, langpair: str) -> TableCorpora:
    """Corpora by the protocol of the data set."""
    by_system = _by_system(table, langpair)
    segments = {tuple((table.segment[row], table.references[row]) for row in rows) for rows in by_system.values()}
    if table.files is not None:
        for system, rows in by_system.items():
            documents = table.documents(langpair, system)
            references = [text for group in documents.references for text in group]
            whole = {system: list(documents.hypotheses), None: references}
            yield replace(_corpus(table, {system: rows}), idf_documents=whole), {system: rows}
    elif len(by_system) > 1 and len(segments) == 1:
        yield _corpus(table, by_system), by_system
    else:
        yield from pooled_corpora(table, langpair)


def pooled_corpora(table: JudgementTable, langpair: str) -> TableCorpora:
    """All rows of a language pair, of all systems, as one corpus.

    A segment with several outputs is in several rows; for idf its references are counted once.
    """
    rows = table.rows_of(langpair)
    corpus = _corpus(table, {langpair: rows})
    distinct = dict.fromkeys((table.segment[row], text) for row in rows for text in table.references[row])
    if len(distinct) < sum(len(table.references[row]) for row in rows):
        documents = {langpair: corpus.systems[langpair], None: [text for _, text in distinct]}
        corpus = replace(corpus, idf_documents=documents)
    yield corpus, {langpair: rows}


def system_corpora(table: JudgementTable, langpair: str) -> TableCorpora:
    """A corpus for each system."""
    for system, rows in _by_system(table, langpair).items():
        yield _corpus(table, {system: rows}), {system: rows}


def _by_system(table: JudgementTable, langpair: str) -> dict[str, NDArray[np.intp]]:
    systems: dict[str, list[int]] = {}
    for row in table.rows_of(langpair).tolist():
        systems.setdefault(table.system[row], []).append(row)
    return {system: np.array(rows, dtype=np.intp) for system, rows in systems.items()}


def _corpus(table: JudgementTable, by_system: Mapping[str, Iterable[int]]) -> Corpus:
    """Corpus of the texts of these rows; every system has rows of the same segments."""
    rows = list(next(iter(by_system.values())))
    systems = {system: [table.hypothesis[row] for row in own] for system, own in by_system.items()}
    sources = None if table.source is None else [table.source[row] for row in rows]
    refs = [table.references[row] for row in rows]
    if sources is not None and not any(refs):
        return make_corpus(systems, None, sources=sources)
    for row, group in zip(rows, refs, strict=True):
        if not group:
            msg = f"{table.name}: segment {table.segment[row]!r} has no reference, which one of the metrics needs"
            raise InputError(msg)
    return make_corpus(systems, refs, sources=sources)


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

    def figure(self) -> Any:
        """A line per language pair, and the average, by layer."""
        pairs = self.layers[0].by_langpair
        curves = {pair: [(row.layer, row.by_langpair[pair]) for row in self.layers] for pair in pairs}
        if len(pairs) > 1:
            curves["average"] = [(row.layer, row.average) for row in self.layers]
        caption = f"BERTScore F without idf, model {self.model}. Dashed: the best layer, {self.best}."
        title = f"{self.data}: agreement by layer"
        return draw_layers(curves, axis=self.agreement, title=title, caption=caption, best=self.best)


def draw_layers(
    curves: Mapping[str, Sequence[tuple[int, float]]], *, axis: str, title: str, caption: str, best: int | None = None
) -> Any:
    """Draw values by layer: a line per name, and a dashed line at the best layer."""
    figure, (ax,) = new_panels(1, 1, width=7.0, height=3.4)
    marked = zip(series_styles(curves).items(), cycle("os^Dv"), strict=False)
    styles = {name: style._replace(mark=mark) for (name, style), mark in marked}
    for name, points in curves.items():
        ax.plot(*zip(*points, strict=True), color=styles[name].colour, marker=styles[name].mark, markersize=4)
    if best is not None:
        ax.axvline(best, linestyle="--", color="#999999", linewidth=0.8)
    ax.set_xticks(sorted({layer for points in curves.values() for layer, _ in points}))
    ax.set_xlabel("layer", fontsize=8)
    ax.set_ylabel(axis, fontsize=8)
    ax.tick_params(labelsize=8)
    finish_figure(figure, title=title, caption=caption, legend=(legend_entries(styles, kind="mark"), list(styles)))
    return figure


@dataclass(frozen=True, kw_only=True)
class TuneOptions(OptionSet):
    """Model whose layers are compared, and the correlation to compare them by."""

    called: ClassVar[str] = "options of layer tuning"

    model: str = option("minilm", Text("a model"), help="model")
    agreement: str = option("pearson", Choice(*CORRELATIONS), help="correlation with human judgements")


def tune_layer(
    table: JudgementTable, *, run: RunOptions | None = None, **options: Unpack[TuneKeywords]
) -> LayerTuning:
    """Find the layer of a model that correlates best with human judgements; texts are encoded once.

    Options are those of `TuneOptions` and of a run, which may also be in one object (`run`).
    """
    keywords: dict[str, Any] = dict(options)
    own = TuneOptions.take(keywords)
    question = Question(agreement=own.agreement)
    check_question(question, table)  # raises if the data has no judgements of segments
    if not all(table.references):
        msg = f"layer tuning needs references, and {table.name} has none"
        raise InputError(msg)
    running = RunOptions.of(keywords) if run is None else run.with_options(**keywords)
    top = load_encoder(own.model, **running.loading).layers
    metrics = [BERTScore(model=own.model, layer=layer) for layer in range(top + 1)]
    scored = score_judgements(table, metrics, run=running)
    layers = []
    for layer, metric in enumerate(scored.metrics):
        values = {pair: cell.value for pair, cell in answer(question, table, metric).items()}
        layers.append(LayerAgreement(layer, float(np.mean(list(values.values()))), values))
    averages = [row.average for row in layers]
    if np.isnan(averages).all():
        msg = (
            f"no layer of {own.model!r} has a defined correlation with human judgements on every language pair of "
            f"{table.name}"
        )
        raise InputError(msg)
    return LayerTuning(own.model, table.name, own.agreement, int(np.nanargmax(averages)), tuple(layers))
