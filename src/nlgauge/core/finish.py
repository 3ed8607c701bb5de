"""The last stage of a run: comparisons of all segments become scores with signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nlgauge.core.compare import Comparisons
from nlgauge.core.composite import join_scores
from nlgauge.core.metric import Comparison, SystemResult
from nlgauge.core.notes import naming_documents, run_fields, warn_about_fallbacks, warn_about_note
from nlgauge.core.prepare import Prepared, PreparedMetric, PreparedTextMetric
from nlgauge.core.run_options import Progress
from nlgauge.core.score import Origin, Score, SegmentNotes, order_notes
from nlgauge.core.signature import Signature
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import InputError
from nlgauge.vectors.cloud import Alignment, Flow


def finish(prepared: Prepared, comparisons: Comparisons, *, warn: bool = True) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order of the recipes.

    Metrics that look at the texts of a whole system (BLEU) are computed here. `warn` is for callers that say
    themselves what metrics had to do about a text: it is in the notes of the scores either way.
    """
    names = prepared.corpus.names
    found = {number: _complete(number, one, comparisons) for number, one in prepared.compared.items()}
    if warn:
        warn_about_fallbacks(list(found.values()), names)
    scores: list[list[Score]] = []
    for number, one in enumerate(prepared.metrics):
        if isinstance(one, PreparedTextMetric):
            scores.append(_text_scores(one, prepared))
        else:
            finished = one.metric.finish(found[number], one.state)
            scores.append(
                [_score(one, system, found[number][system], finished[system], prepared) for system in finished]
            )
        for note in one.metric.notes if warn else ():
            segments = (segment for score in scores[number] for segment in score.notes.get(note.name, ()))
            warn_about_note(note, segments, one.metric.describe_note(note), names)
    return join_scores(prepared.recipes, scores)


def _complete(number: int, one: PreparedMetric, comparisons: Comparisons) -> dict[str, list[Comparison]]:
    """The comparisons of a metric by system, in the order of the segments."""
    recipe = one.signature.recipe_part
    if number not in comparisons.recipes:
        msg = f"the comparisons lack metric {number} ({one.metric.name}); compare it, and join"
        raise InputError(msg)
    if comparisons.recipes[number] != recipe:
        msg = f"metric {number} of the comparisons must be {recipe!r}, got {comparisons.recipes[number]!r}"
        raise InputError(msg)
    complete = {}
    for system in one.corpus.systems:
        segments = comparisons.found.get(number, {}).get(system, {})
        missing = next((index for index in range(len(one.corpus)) if index not in segments), None)
        if missing is not None:
            name = f"system {system!r}, " if system else ""
            msg = f"{name}segment {missing} was not compared under {one.metric.name}; compare it, and join"
            raise InputError(msg)
        complete[system] = [segments[index] for index in range(len(one.corpus))]
    return complete


def _score(
    one: PreparedMetric,
    system: str,
    comparisons: Sequence[Comparison],
    finished: SystemResult,
    prepared: Prepared,
) -> Score:
    notes = {
        **one.notes[system],
        "zero_weight": tuple(index for index, comparison in enumerate(comparisons) if comparison.zero_weight),
        "unconverged": tuple(index for index, comparison in enumerate(comparisons) if comparison.unconverged),
    }
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    if prepared.options.alignments and finished.best_reference is not None:
        best = finished.best_reference
        alignments = tuple(c.alignments[best[index]] if c.alignments else None for index, c in enumerate(comparisons))
    return _signed_score(one, system, finished, notes, prepared, run=one.run_fields[system], alignments=alignments)


def _signed_score(
    one: PreparedMetric | PreparedTextMetric,
    system: str,
    finished: SystemResult,
    notes: SegmentNotes,
    prepared: Prepared,
    *,
    run: Mapping[str, str],
    alignments: tuple[Alignment | Flow | None, ...] | None = None,
) -> Score:
    """A system's score with its signature; `run` are further fields of the run part."""
    metric = one.metric
    notes = order_notes({**notes, **finished.notes})
    run_part = run_fields(notes) | dict(run) | dict(finished.run)
    return Score(
        metric=metric.name,
        system=system or None,
        segments=finished.segments,
        main=metric.main,
        higher_is_better=metric.higher_is_better,
        signature=Signature(metric.name, one.signature.recipe, run_part),
        notes=notes,
        best_reference=finished.best_reference,
        alignments=alignments,
        corpus=finished.corpus,
        distances=tuple(name for name in finished.segments if name in metric.distances),
        statistics=finished.statistics,
        origin=Origin(metric, prepared.corpus, prepared.options),
    )


def _text_scores(one: PreparedTextMetric, prepared: Prepared) -> list[Score]:
    total = len(one.corpus) * len(one.corpus.systems)
    with (
        Progress(total, show=prepared.options.progress, what=f"scoring {one.metric.name}", unit="segment") as advance,
        run_context(advance=advance),
    ):
        return [_text_score(one, system, prepared) for system in one.corpus.systems]


def _text_score(one: PreparedTextMetric, system: str, prepared: Prepared) -> Score:
    with naming_documents(one.corpus):
        finished = one.metric.score_texts(one.corpus.systems[system], one.corpus.references)
    return _signed_score(one, system, finished, one.notes[system], prepared, run={})
