"""All three stages of a run in one call, the last of them, and an estimate of the time that a run takes.

The last stage makes scores with signatures of the comparisons of all segments.

A run that will take more than a minute is announced. Two parts of a run grow with the length of texts: the encoder,
and the products of all token vectors of one text with all of another. Both are products of matrices, so the speed of
one such product on this machine gives the time.
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

#: Seconds from which a run is announced.
_WORTH_SAYING = 60.0

#: Operations a second that no processor core has today: work that is short at this speed is not timed.
_FASTEST = 3e11

#: Rows of the product that is timed; some 10 ms.
_TIMED_ROWS = 1024


def run_metrics(
    metrics: Sequence[Metric],
    corpus: Corpus,
    options: RunOptions,
    *,
    check_signature: SignatureCheck | None = None,
) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order given.

    `check_signature` is shown each metric's number and resolved recipe before anything is encoded; it may raise.
    """
    prepared = prepare(metrics, corpus, options, check_signature=check_signature)
    say_if_long(prepared)
    return finish(prepared, compare(prepared))


def finish(prepared: Prepared, comparisons: Comparisons, *, warn: bool = True) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order of the recipes.

    Metrics that look at the texts of a whole system (BLEU) are computed here. `warn` is for callers that say
    themselves what metrics had to do about a text: it is in the notes of the scores either way.
    """
    names = prepared.corpus.names
    compared = {number: _complete(number, metric, comparisons) for number, metric in prepared.compared.items()}
    if warn:
        warn_about_fallbacks(list(compared.values()), names)
    scores: list[list[Score]] = []
    for number, one in enumerate(prepared.metrics):
        if isinstance(one, PreparedTextMetric):
            scores.append(_text_scores(one, prepared))
        else:
            own = compared[number]
            results = one.metric.finish(own, one.state)
            scores.append([_score(one, system, result, own[system], prepared) for system, result in results.items()])
        for note in one.metric.notes if warn else ():
            segments = (segment for score in scores[number] for segment in score.notes.get(note.name, ()))
            warn_about_note(note, segments, one.metric.describe_note(note), names)
    return join_scores(prepared.recipes, scores)


def _complete(number: int, one: PreparedMetric, comparisons: Comparisons) -> dict[str, list[Comparison]]:
    """The comparisons of a metric by system, in the order of the segments."""
    recipe = one.signature.recipe_part
    if number not in comparisons.recipes:
        msg = f"the comparisons do not include metric {number} ({one.metric.name}); compare it and join the results"
        raise InputError(msg)
    if comparisons.recipes[number] != recipe:
        msg = (
            f"the comparisons have another recipe for metric {number}: "
            f"expected {recipe!r}, got {comparisons.recipes[number]!r}"
        )
        raise InputError(msg)
    complete = {}
    for system in one.corpus.systems:
        segments = comparisons.found.get(number, {}).get(system, {})
        missing = next((index for index in range(len(one.corpus)) if index not in segments), None)
        if missing is not None:
            name = f"system {system!r}, " if system else ""
            msg = (
                f"{name}segment {missing} is missing in the comparisons of {one.metric.name}; "
                "compare it and join the results"
            )
            raise InputError(msg)
        complete[system] = [segments[index] for index in range(len(one.corpus))]
    return complete


def _text_scores(one: PreparedTextMetric, prepared: Prepared) -> list[Score]:
    metric, corpus = one.metric, one.corpus
    total = len(corpus) * len(corpus.systems)
    with (
        Progress(total, show=prepared.options.progress, what=f"scoring {metric.name}", unit="segment") as advance,
        run_context(advance=advance),
        naming_documents(corpus),
    ):
        return [
            _score(one, system, metric.score_texts(hypotheses, corpus.references), (), prepared)
            for system, hypotheses in corpus.systems.items()
        ]


def _score(
    one: PreparedMetric | PreparedTextMetric,
    system: str,
    result: SystemResult,
    comparisons: Sequence[Comparison],
    prepared: Prepared,
) -> Score:
    """A system's score with its notes and its signature."""
    metric, best = one.metric, result.best_reference
    notes = order_notes(
        {
            **one.notes[system],
            "zero_weight": [index for index, comparison in enumerate(comparisons) if comparison.zero_weight],
            "unconverged": [index for index, comparison in enumerate(comparisons) if comparison.unconverged],
            **result.notes,
        }
    )
    own = one.run_fields[system] if isinstance(one, PreparedMetric) else {}
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    if prepared.options.alignments and comparisons and best is not None:
        alignments = tuple(c.alignments[best[index]] if c.alignments else None for index, c in enumerate(comparisons))
    return Score(
        metric=metric.name,
        system=system or None,
        segments=result.segments,
        main=metric.main,
        higher_is_better=metric.higher_is_better,
        signature=Signature(metric.name, one.signature.recipe, {**run_fields(notes), **own, **result.run}),
        notes=notes,
        best_reference=best,
        alignments=alignments,
        corpus=result.corpus,
        distances=tuple(name for name in result.segments if name in metric.distances),
        statistics=result.statistics,
        origin=Origin(metric, prepared.corpus, prepared.options),
    )


class Work(NamedTuple):
    """What a run has to do."""

    tokens: int = 0
    """Tokens to encode; those of overlapping windows count each time."""
    pairs: int = 0
    """Pairs of tokens to compare."""
    operations: float = 0.0
    """Additions and multiplications behind both."""


def expected_work(prepared: Prepared) -> Work:
    """What `compare` will encode and compare."""
    parts = [_work_of_group(group, prepared) for group in prepared.groups]
    return Work(*(sum(column) for column in zip(*parts, strict=True))) if parts else Work()


def say_if_long(prepared: Prepared) -> None:
    """Print an estimate to stderr where a run will take more than a minute and the caller wants to see progress."""
    if not prepared.options.progress:
        return
    work = expected_work(prepared)
    threads = prepared.options.threads or default_threads()
    if work.operations / (_FASTEST * threads) < _WORTH_SAYING / 10 or sys.stderr is None:
        return
    seconds = work.operations / (_operations_per_second() * threads)
    if seconds >= _WORTH_SAYING:
        what = f"{work.tokens:,} tokens to encode, {work.pairs:,} token pairs to compare"
        print(f"nlgauge: this will take at least {_format_duration(seconds)}: {what}", file=sys.stderr, flush=True)


def _work_of_group(group: EncodingGroup, prepared: Prepared) -> Work:
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
    if not encoder.engine.startswith("torch") or prepared.options.device == "cpu":  # of others nothing is known
        # A transformer whose inner layer is four times as wide, with attention of all tokens to all.
        operations += sum(length * layers * (24 * width * width + 4 * length * width) for length in lengths)
    return Work(sum(lengths), pairs, operations)


def _operations_per_second() -> float:
    """Of one thread, in a product of matrices."""
    x = np.ones((_TIMED_ROWS, 384), dtype=np.float32)
    y = x.copy()
    times = []
    with one_blas_thread:
        for _ in range(4):  # the first one also wakes the library up
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
