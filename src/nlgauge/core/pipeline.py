"""A complete run in one call, its last stage, and an estimate of its duration.

The last stage turns the comparisons of all segments into scores with signatures.

A run that will take more than a minute prints an estimate. Two costs grow with the length of texts: the encoder, and
the products of all token vectors of one text with all of another. Both are matrix products, so the estimate is based
on the speed of one such product on this machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nlgauge.core.compare import Comparisons, compare, distinct_texts
from nlgauge.core.composite import join_scores
from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Comparison, Metric, SystemResult
from nlgauge.core.notes import naming_documents, run_fields, warn_about_fallbacks, warn_about_note
from nlgauge.core.prepare import EncodingGroup, Prepared, PreparedMetric, PreparedTextMetric, SignatureCheck, prepare
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.core.score import Origin, Score, order_notes
from nlgauge.core.signature import Signature
from nlgauge.encoders.base import portions
from nlgauge.encoders.load import default_threads
from nlgauge.encoders.run_context import one_blas_thread, run_context
from nlgauge.errors import InputError
from nlgauge.vectors.cloud import Alignment, Flow

#: Runs of at least so many seconds print an estimate.
_LONG_RUN = 60.0

#: More operations per second than any processor core does today: work that is short at this speed needs no timing.
_FASTEST = 3e11

#: Rows of the timed matrix product, which takes about 10 ms.
_TIMED_ROWS = 1024


def run_metrics(
    metrics: Sequence[Metric],
    corpus: Corpus,
    options: RunOptions,
    *,
    check_signature: SignatureCheck | None = None,
) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order given.

    `check_signature` gets each metric's number and resolved recipe before anything is encoded; it may raise.
    """
    prepared = prepare(metrics, corpus, options, check_signature=check_signature)
    announce_if_long(prepared)
    return finish(prepared, compare(prepared))


def finish(prepared: Prepared, comparisons: Comparisons, *, warn: bool = True) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order of the recipes.

    Metrics of the texts of a whole system (BLEU) are computed here. With `warn=False`, callers report the notes of
    the scores themselves.
    """
    names = prepared.corpus.names
    compared = {number: _order_segments(number, metric, comparisons) for number, metric in prepared.compared.items()}
    if warn:
        warn_about_fallbacks(list(compared.values()), names)
    scores: list[list[Score]] = []
    for number, prepared_metric in enumerate(prepared.metrics):
        metric = prepared_metric.metric
        if isinstance(prepared_metric, PreparedTextMetric):
            scores.append(_score_texts(prepared_metric, prepared))
        else:
            own = compared[number]
            results = prepared_metric.metric.finish(own, prepared_metric.state)
            scores.append(
                [
                    _make_score(prepared_metric, system, result, own[system], prepared)
                    for system, result in results.items()
                ]
            )
        for note in metric.notes if warn else ():
            segments = (segment for score in scores[number] for segment in score.notes.get(note.name, ()))
            warn_about_note(note, segments, metric.describe_note(note), names)
    joined = join_scores(prepared.recipes, scores)
    for recipe in prepared.recipes if warn else ():
        for note in recipe.metric.notes if len(recipe.metric.base_metrics) > 1 else ():
            mine = (score for score in joined if score.origin is not None and score.origin.metric is recipe.metric)
            segments = (segment for score in mine for segment in score.notes.get(note.name, ()))
            warn_about_note(note, segments, recipe.metric.describe_note(note), names)
    return joined


def _order_segments(number: int, prepared: PreparedMetric, comparisons: Comparisons) -> dict[str, list[Comparison]]:
    """The comparisons of a metric by system, in the order of the segments; an error if one is missing."""
    recipe, name = prepared.signature.recipe_part, prepared.metric.name
    if number not in comparisons.recipes:
        msg = f"the comparisons do not include metric {number} ({name}); compare it and join the results"
        raise InputError(msg)
    if comparisons.recipes[number] != recipe:
        msg = (
            f"the comparisons have another recipe for metric {number}: "
            f"expected {recipe!r}, got {comparisons.recipes[number]!r}"
        )
        raise InputError(msg)
    complete = {}
    for system in prepared.corpus.systems:
        segments = comparisons.by_metric.get(number, {}).get(system, {})
        missing = next((index for index in range(len(prepared.corpus)) if index not in segments), None)
        if missing is not None:
            place = f"system {system!r}, segment {missing}" if system else f"segment {missing}"
            msg = f"{place} is missing in the comparisons of {name}; compare it and join the results"
            raise InputError(msg)
        complete[system] = [segments[index] for index in range(len(prepared.corpus))]
    return complete


def _score_texts(text_metric: PreparedTextMetric, prepared: Prepared) -> list[Score]:
    metric, corpus = text_metric.metric, text_metric.corpus
    total = len(corpus) * len(corpus.systems)
    with (
        Progress(total, show=prepared.options.progress, what=f"scoring {metric.name}", unit="segment") as advance,
        run_context(advance=advance),
        naming_documents(corpus),
    ):
        return [
            _make_score(
                text_metric, system, metric.score_system(hypotheses, corpus.references, corpus.sources), (), prepared
            )
            for system, hypotheses in corpus.systems.items()
        ]


def _make_score(
    prepared_metric: PreparedMetric | PreparedTextMetric,
    system: str,
    result: SystemResult,
    comparisons: Sequence[Comparison],
    prepared: Prepared,
) -> Score:
    """A system's score with its notes and its signature."""
    metric, best = prepared_metric.metric, result.best_reference
    notes = order_notes(
        {
            **prepared_metric.notes[system],
            "zero_weight": [index for index, comparison in enumerate(comparisons) if comparison.zero_weight],
            "unconverged": [index for index, comparison in enumerate(comparisons) if comparison.unconverged],
            **result.notes,
        }
    )
    own = prepared_metric.run_fields[system] if isinstance(prepared_metric, PreparedMetric) else {}
    signature = Signature(metric.name, prepared_metric.signature.recipe, {**run_fields(notes), **own, **result.run})
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    if prepared.options.alignments and comparisons and best is not None:
        alignments = tuple(c.alignments[best[index]] if c.alignments else None for index, c in enumerate(comparisons))
    return Score(
        metric=metric.name,
        system=system or None,
        segments=result.segments,
        main=metric.main,
        higher_is_better=metric.higher_is_better,
        signature=signature,
        notes=notes,
        best_reference=best,
        alignments=alignments,
        corpus=result.corpus,
        distances=tuple(name for name in result.segments if name in metric.distances),
        statistics=result.statistics,
        origin=Origin(metric, prepared.corpus, prepared.options),
    )


class Work(NamedTuple):
    """The work of a run."""

    tokens: int = 0
    """Tokens to encode; tokens in overlapping windows count each time."""
    pairs: int = 0
    """Token pairs to compare."""
    operations: float = 0.0
    """Additions and multiplications for both."""


def expected_work(prepared: Prepared) -> Work:
    """The work that `compare` will do."""
    parts = [_estimate_group(group, prepared) for group in prepared.groups]
    return Work(*(sum(column) for column in zip(*parts, strict=True))) if parts else Work()


def announce_if_long(prepared: Prepared) -> None:
    """Print an estimate to stderr if a run will take more than a minute and progress is shown."""
    if not prepared.options.progress:
        return
    work = expected_work(prepared)
    threads = prepared.options.threads or default_threads()
    if work.operations / (_FASTEST * threads) < _LONG_RUN / 10 or sys.stderr is None:
        return
    seconds = work.operations / (_measure_speed() * threads)
    if seconds >= _LONG_RUN:
        what = f"{work.tokens:,} tokens to encode, {work.pairs:,} token pairs to compare"
        print(f"nlgauge: this will take at least {_format_duration(seconds)}: {what}", file=sys.stderr, flush=True)


def _estimate_group(group: EncodingGroup, prepared: Prepared) -> Work:
    members = list(group.metrics.values())
    tokens, encoder, width = members[0].tokenized.tokens, group.encoder, group.encoder.hidden_size
    texts = [tokens[text] for text in distinct_texts(members, prepared.segments)]
    lengths = [len(portion.tokens) for portion in portions(texts)]
    layers = max((layer for member in members for layer in member.state.layers), default=0)
    pairs = sum(
        len(tokens[hypotheses[index]]) * len(tokens[reference])
        for member in members
        for hypotheses in member.corpus.systems.values()
        for index in prepared.segments
        for reference in member.corpus.references[index]
    )
    operations = 2.0 * pairs * width
    if not encoder.engine.startswith("torch") or prepared.options.device == "cpu":  # the speed of a GPU is unknown
        # A transformer with a feed-forward layer four times as wide, and full attention.
        operations += sum(length * layers * (24 * width * width + 4 * length * width) for length in lengths)
    return Work(sum(lengths), pairs, operations)


def _measure_speed() -> float:
    """Operations per second of one thread in a matrix product."""
    x = np.ones((_TIMED_ROWS, 384), dtype=np.float32)
    y = x.copy()
    times = []
    with one_blas_thread:
        for _ in range(4):  # the first one includes the start-up of the library
            start = time.perf_counter()
            x @ y.T
            times.append(time.perf_counter() - start)
    return float(2 * x.shape[0] * y.shape[0] * x.shape[1] / sorted(times)[1])


def _format_duration(seconds: float) -> str:
    """Minutes or hours in words."""
    minutes = round(seconds / 60)
    if minutes < 100:
        return "a minute" if minutes <= 1 else f"{minutes} minutes"
    return f"{round(seconds / 3600)} hours"
