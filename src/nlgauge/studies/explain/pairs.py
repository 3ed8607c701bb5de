"""Explanations of one pair (`nlgauge.explain_pair`), of many (`explain_pairs`), and of segments of a score."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlgauge.core.compare import compare
from nlgauge.core.composite import CompositeMetric
from nlgauge.core.corpus import Corpus, References, make_corpus
from nlgauge.core.finish import finish
from nlgauge.core.metric import Metric
from nlgauge.core.prepare import SignatureCheck, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score, order_notes
from nlgauge.core.scoring import AnyMetric, one_metric, resolved_call
from nlgauge.errors import (
    ConvergenceWarning,
    EmptyTextWarning,
    InputError,
    NoFocusWarning,
    NoNounWarning,
    RecipeError,
    TruncationWarning,
    UnknownWordWarning,
    WindowsWarning,
    ZeroWeightWarning,
)
from nlgauge.studies.explain.build import Explainer
from nlgauge.studies.explain.explanation import Explanation, Explanations
from nlgauge.studies.explain.options import ExplainOptions, reference_rule

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ExplainKeywords, SegmentKeywords

#: What these say of a text stands in the notes of its explanation.
_NOTED = (
    ConvergenceWarning,
    EmptyTextWarning,
    NoFocusWarning,
    NoNounWarning,
    TruncationWarning,
    UnknownWordWarning,
    WindowsWarning,
    ZeroWeightWarning,
)


def explain_pair(
    hyp: str,
    ref: str | Sequence[str] | None = None,
    metric: AnyMetric | None = None,
    *,
    source: str | None = None,
    **options: Unpack[ExplainKeywords],
) -> Explanation:
    """Explain the score of one hypothesis: what matched what, and what each word contributes.

    Args:
        hyp: The hypothesis.
        ref: Its reference, or several; the best of them is shown.
        metric: As in `nlgauge.score`; also a signature. Default: BERTScore.
        source: The text that was translated, for metrics that compare with it.
        options: Those of `nlgauge.score`, and `words="words" | "blanks"`, `pieces="max" | "mean" | "first"`,
            `shapley=True`, `leave_one_out=True`, `side="hypothesis" | "reference"`, `component=`, `samples=`,
            `seed=`, `beside=True`; see `nlgauge.studies.explain.options.ExplainOptions`.

    >>> found = explain_pair("A cat sat.", "The cat sat.", metric="bertscore")
    >>> [word.text for word in found.hypothesis.words]
    ['A', 'cat', 'sat', '.']
    >>> abs(sum(found.attribution(of="precision").values) - found.scores["precision"]) < 1e-6
    True
    """
    if not isinstance(hyp, str):
        msg = f"explain_pair() takes one text, got {type(hyp).__name__}; explain_pairs() takes several"
        raise InputError(msg)
    options.setdefault("shapley", None)
    refs = None if ref is None else [ref]
    sources = None if source is None else [source]
    return explain_pairs([hyp], refs, metric=metric, sources=sources, **options)[0]


def explain_pairs(
    hyps: Iterable[str],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    sources: Iterable[str] | None = None,
    **options: Unpack[ExplainKeywords],
) -> Explanations:
    """Explain many pairs, encoded in one go.

    Arguments are those of `nlgauge.score` and `explain_pair`. Scores and idf are those of `nlgauge.score` for the
    same texts. Shapley values, which cost many scorings each, are computed where they are asked for (`shapley=True`).
    """
    return Explanations(tuple(iter_explanations(hyps, refs, metric=metric, sources=sources, **options)))


def iter_explanations(
    hyps: Iterable[str],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    sources: Iterable[str] | None = None,
    segments: Sequence[int] | None = None,
    **options: Unpack[ExplainKeywords],
) -> Iterator[Explanation]:
    """The same one by one, for those who keep little of each: an explanation is many times as large as its texts.

    Of some segments (from 0) where they are named: idf is that of all texts.
    """
    rest: dict[str, Any] = {"shapley": False, **options}
    chosen = ExplainOptions.take(rest)
    (recipe,), run, check = resolved_call(one_metric(metric, function="explain_pairs"), rest)
    corpus = make_corpus({"": hyps}, refs, sources=sources)
    indices: Sequence[int] = range(len(corpus))
    if segments is not None:
        _check_segments(segments, len(corpus))
        corpus, indices = _part(recipe, corpus, "", segments)
    return _explain(recipe, corpus, run, chosen, check, indices)


def explain_segments(score: Score, segments: Sequence[int], **options: Unpack[SegmentKeywords]) -> list[Explanation]:
    """Explain segments (from 0) of a score, in one go, with the idf of the texts it was computed on."""
    rest: dict[str, Any] = {"shapley": None if len(segments) == 1 else False, **options}
    chosen = ExplainOptions.take(rest)
    if rest:
        msg = f"unknown option {next(iter(rest))!r}; recipe and run are those of the score"
        raise InputError(msg)
    if score.origin is None:
        msg = (
            "this score was read from a file or a pickle and does not know its texts; "
            "explain the pair itself: nlgauge.explain_pair(hyp, ref, metric=score.signature)"
        )
        raise InputError(msg)
    _check_segments(segments, len(score))
    if not segments:
        return []
    origin = score.origin
    part, indices = _part(origin.metric, origin.corpus, score.system or "", segments)
    # A score does not carry values against each reference.
    by_reference = reference_rule(origin.metric) != "best" and any(len(group) > 1 for group in part.references)
    usable = score.alignments is not None and len(part) == len(segments) and not by_reference
    known = _taken(score, segments) if usable else None
    return list(_explain(origin.metric, part, origin.options, chosen, None, indices, known=known))


def explain_in_corpus(
    hyps: Iterable[str],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    segments: Sequence[int],
    sources: Iterable[str] | None = None,
    **options: Unpack[ExplainKeywords],
) -> list[Explanation]:
    """Explain some segments (from 0) of a corpus that was not scored: idf is that of all texts, as in its score.

    Other segments are encoded only where a recipe scales over the corpus. Arguments are those of `explain_pairs`.

    >>> texts = ["A cat sat.", "A dog ran."], ["The cat sat.", "The dog ran."]
    >>> [found] = explain_in_corpus(*texts, segments=[1], metric="moverscore")
    >>> found.scores["score"] == explain_pairs(*texts, metric="moverscore")[1].scores["score"]
    True
    """
    return list(iter_explanations(hyps, refs, metric, sources=sources, segments=segments, **options))


def _check_segments(segments: Sequence[int], count: int) -> None:
    for segment in segments:
        if not isinstance(segment, int) or not 0 <= segment < count:
            msg = f"segment must be a whole number from 0 to {count - 1}, got {segment!r}"
            raise InputError(msg)


def _part(metric: Metric, corpus: Corpus, system: str, segments: Sequence[int]) -> tuple[Corpus, list[int]]:
    """The segments with the idf of the whole corpus, and where they are now; all of it where a score needs all."""
    part = _as_seen(metric, corpus, system)
    # The score of a pair may depend on the other pairs: scaled over the corpus, or by neighbours.
    if metric.whole_corpus or getattr(metric, "transforms", "none") != "none":
        return part, list(segments)
    part = replace(
        part,
        systems={system: [part.systems[system][segment] for segment in segments]},
        references=[part.references[segment] for segment in segments],
        sources=None if part.sources is None else [part.sources[segment] for segment in segments],
    )
    return part, list(range(len(segments)))


def _taken(score: Score, segments: Sequence[int]) -> Score:
    """The score of some segments, with the alignments that it carries."""
    rows = list(segments)
    noted = {name: tuple(new for new, old in enumerate(rows) if old in at) for name, at in score.notes.items()}
    return replace(
        score,
        segments={name: values[rows] for name, values in score.segments.items()},
        notes=order_notes(noted),
        best_reference=None if score.best_reference is None else score.best_reference[rows],
        alignments=None if score.alignments is None else tuple(score.alignments[row] for row in rows),
    )


def _explain(
    metric: Metric,
    corpus: Corpus,
    run: RunOptions,
    chosen: ExplainOptions,
    check: SignatureCheck | None,
    indices: Sequence[int],
    *,
    known: Score | None = None,
) -> Iterator[Explanation]:
    """Explanations of a system's texts; `known` is their score with alignments, where it was computed before."""
    if isinstance(metric, CompositeMetric):
        names = ", ".join(member.name for member in metric.recipes)
        msg = f"{metric.name} joins scores and aligns no words itself; explain its members one by one: {names}"
        raise RecipeError(msg)
    if getattr(metric, "against", "refs") == "nothing" and not all(corpus.references):
        msg = (
            f"sources are not read: {metric.name} reads the hypothesis alone; give references (refs=, --refs) instead"
        )
        raise RecipeError(msg)
    (system,) = corpus.systems
    seen = _as_seen(metric, corpus, system)
    with warnings.catch_warnings():
        for category in _NOTED:
            warnings.simplefilter("ignore", category)
        options = replace(run, alignments=True)
        prepared = prepare([metric], seen, options, check_signature=check)
        comparisons = None
        if known is None:
            comparisons = compare(prepared)
            known = finish(prepared, comparisons)[0]
    return map(Explainer(prepared, seen, known, chosen, comparisons).explain, indices)


def _as_seen(metric: Metric, corpus: Corpus, system: str) -> Corpus:
    """The corpus as the metric sees it: with references, or with sources in their place.

    The documents that idf is counted on are spelt out: they stay the same for parts and variants of texts.
    """
    against = getattr(metric, "against", "refs")
    if against != "nothing":  # else a text is looked at by itself, whatever stands beside it
        corpus = corpus.compared_with(against, metric=metric.name)
    own = corpus.idf_documents.get(system, corpus.systems[system])
    references = corpus.idf_documents.get(None, [text for group in corpus.references for text in group])
    return replace(corpus, systems={system: corpus.systems[system]}, idf_documents={system: own, None: references})
