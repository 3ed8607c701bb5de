"""Explanations of one pair (`nlgauge.explain_pair`), of many (`explain_pairs`), and of segments of a score."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.core.compare import Comparisons, compare
from nlgauge.core.composite import CompositeMetric
from nlgauge.core.corpus import Corpus, References, make_corpus
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import Prepared, SignatureCheck, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import NOTES, Score, order_notes
from nlgauge.core.scoring import AnyMetric, resolve_call, single_metric
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.learned import Learned
from nlgauge.studies.explain.contributions import (
    MOST_WORDS,
    MaskedText,
    TextFilter,
    explained_metric,
    is_whole_text,
    linear_attributions,
    other_links,
    own_links,
    shares_of,
    word_links,
)
from nlgauge.studies.explain.explanation import (
    ExplainOptions,
    Explanation,
    Explanations,
    MemberShare,
    ReferenceRule,
    SeveralReferences,
    Side,
    Word,
    WordedText,
    WordView,
    original_spans,
)
from nlgauge.text.words import split_words
from nlgauge.vectors.cloud import Alignment, Flow

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ExplainKeywords, SegmentKeywords

#: Tolerance for two sums of the same numbers.
_TOLERANCE = 1e-6

#: Note for texts in which idf or preprocessing removes all tokens.
_NOTHING_COUNTS = "all tokens of one of the texts have weight 0, so there is nothing to align"


def explain_pair(
    hyp: str,
    ref: str | Sequence[str] | None = None,
    metric: AnyMetric | None = None,
    *,
    source: str | None = None,
    **options: Unpack[ExplainKeywords],
) -> Explanation:
    """Explain the score of one hypothesis: matches and contributions of words.

    Args:
        hyp: The hypothesis.
        ref: Its reference, or several; of several the best is shown.
        metric: As in `nlgauge.score`; also a signature. Default: BERTScore.
        source: The source text, for metrics that compare with it.
        options: Those of `nlgauge.score`, and `words="words" | "blanks"`, `pieces="max" | "mean" | "first"`,
            `shapley=True`, `leave_one_out=True`, `lime=True`, `side="hypothesis" | "reference"`, `component=`,
            `samples=`, `neighbours=`, `seed=`, `beside=True`; see
            `nlgauge.studies.explain.explanation.ExplainOptions`.

    >>> explanation = explain_pair("A cat sat.", "The cat sat.", metric="bertscore")
    >>> [word.text for word in explanation.hypothesis.words]
    ['A', 'cat', 'sat', '.']
    >>> abs(sum(explanation.attribution(of="precision").values) - explanation.scores["precision"]) < 1e-6
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
    """Explain many pairs, encoded together.

    Arguments are those of `nlgauge.score` and `explain_pair`. Scores and idf are those of `nlgauge.score` for the
    same texts. Shapley values need many scorings, so they are computed only with `shapley=True`.
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
    """Explain many pairs one by one, which needs less memory: explanations are much larger than their texts.

    `segments` (from 0) restricts the explanations to some segments; idf is still counted on all texts. The other
    segments are encoded only if a recipe scales over the corpus.

    >>> texts = ["A cat sat.", "A dog ran."], ["The cat sat.", "The dog ran."]
    >>> [explanation] = iter_explanations(*texts, segments=[1], metric="moverscore")
    >>> explanation.scores["score"] == explain_pairs(*texts, metric="moverscore")[1].scores["score"]
    True
    """
    rest: dict[str, Any] = {"shapley": False, **options}
    chosen = ExplainOptions.take(rest)
    (recipe,), run, check = resolve_call(single_metric(metric, function="explain_pairs"), rest)
    corpus = make_corpus({"": hyps}, refs, sources=sources)
    return _explain(recipe, corpus, run, chosen, segments=segments, check=check)


def explain_segments(score: Score, segments: Sequence[int], **options: Unpack[SegmentKeywords]) -> list[Explanation]:
    """Explain segments (from 0) of a score together, with the idf of the texts it was computed on."""
    rest: dict[str, Any] = {"shapley": None if len(segments) == 1 else False, **options}
    chosen = ExplainOptions.take(rest)
    if rest:
        msg = f"unknown option {next(iter(rest))!r}; only options of explanations are allowed here"
        raise InputError(msg)
    origin = score.origin
    if origin is None:
        msg = (
            "this score was read from a file or a pickle, which contains no texts; "
            "use nlgauge.explain_pair(hyp, ref, metric=score.signature)"
        )
        raise InputError(msg)
    if not segments:
        return []
    system = score.system or ""
    explanations = _explain(
        origin.metric, origin.corpus, origin.options, chosen, system=system, segments=segments, score=score
    )
    return list(explanations)


def _explain(
    metric: Metric,
    corpus: Corpus,
    run: RunOptions,
    chosen: ExplainOptions,
    *,
    system: str = "",
    segments: Sequence[int] | None = None,
    check: SignatureCheck | None = None,
    score: Score | None = None,
) -> Iterator[Explanation]:
    """Explain a system's texts, or some of its segments; `score` is their score, if it is already computed."""
    for segment in segments or ():
        if not isinstance(segment, int) or not 0 <= segment < len(corpus):
            msg = f"segment must be an integer from 0 to {len(corpus) - 1}, got {segment!r}"
            raise InputError(msg)
    composite = isinstance(metric, CompositeMetric)
    members = metric.base_metrics if composite else ()
    if any(getattr(member, "against", "refs") != "refs" for member in members):
        names = ", ".join(member.name for member in members)
        msg = f"a member of {metric.name} does not compare with references; explain its members separately: {names}"
        raise RecipeError(msg)
    if getattr(metric, "against", "refs") == "nothing" and not all(corpus.references):
        msg = f"{metric.name} does not use sources; give references (refs=) instead"
        raise RecipeError(msg)
    seen = _compared_corpus(metric, corpus, system)
    indices: Sequence[int] = range(len(seen)) if segments is None else segments
    # The score of a pair depends on other pairs if it is scaled over the corpus or by neighbours.
    if segments is not None and not metric.whole_corpus and getattr(metric, "transforms", "none") == "none":
        seen, indices = seen.take(segments), range(len(segments))
        score = None if score is None else _take(score, segments)
    # A score has no values against each reference.
    by_reference = reference_rule(metric) != "best" and any(len(group) > 1 for group in seen.references)
    if score is not None and (score.alignments is None or by_reference or composite):
        score = None
    with warnings.catch_warnings():
        for note in NOTES.values():  # explanations contain these notes
            if note.warning is not None:
                warnings.simplefilter("ignore", note.warning)
        prepared = prepare(
            [metric, *members], seen, replace(run, alignments=True), check_signature=_check_first(check)
        )
        comparisons, scores = None, [] if score is None else [score]
        if not scores:
            comparisons = compare(prepared)
            scores = finish(prepared, comparisons)
    return map(_Explainer(prepared, scores[0], chosen, comparisons, tuple(scores[1:])).explain, indices)


def _check_first(check: SignatureCheck | None) -> SignatureCheck | None:
    """Check the signature of the metric, not those of its members."""
    return None if check is None else lambda number, signature: check(number, signature) if number == 0 else None


def _compared_corpus(metric: Metric, corpus: Corpus, system: str) -> Corpus:
    """The corpus with the texts that the metric compares with: references or sources.

    The documents for idf are set explicitly: they stay the same for parts of the corpus.
    """
    against = getattr(metric, "against", "refs")
    if against != "nothing":  # else the metric uses the hypothesis alone
        corpus = corpus.compared_with(against, metric=metric.name)
    own = corpus.idf_documents.get(system, corpus.systems[system])
    references = corpus.idf_documents.get(None, [text for group in corpus.references for text in group])
    return replace(corpus, systems={system: corpus.systems[system]}, idf_documents={system: own, None: references})


def _take(score: Score, segments: Sequence[int]) -> Score:
    """Select segments of a score, with their alignments."""
    rows = list(segments)
    notes = {name: [new for new, old in enumerate(rows) if old in noted] for name, noted in score.notes.items()}
    return replace(
        score,
        segments={name: values[rows] for name, values in score.segments.items()},
        notes=order_notes(notes),
        best_reference=None if score.best_reference is None else score.best_reference[rows],
        alignments=None if score.alignments is None else tuple(score.alignments[row] for row in rows),
    )


def reference_rule(metric: Metric) -> ReferenceRule:
    """How several references give one score of a metric."""
    if isinstance(metric, CompositeMetric) or (isinstance(metric, TextMetric) and not hasattr(metric, "multiref")):
        return "together"
    rule = getattr(metric, "multiref", "mean")
    return "best" if rule.startswith("best") else "mean"


@dataclass(frozen=True, eq=False)
class _Explainer:
    """Explains segments of one system that were scored with alignments."""

    prepared: Prepared
    score: Score
    options: ExplainOptions
    comparisons: Comparisons | None
    """None if the score has alignments already, or the metric has no model."""
    members: tuple[Score, ...] = ()
    """Scores of the members of a learned metric."""

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return explained_metric(self.prepared)

    def explain(self, index: int) -> Explanation:
        """Explain a segment."""
        corpus, score = self.prepared.corpus, self.score
        (hypotheses,) = corpus.systems.values()
        best = 0 if score.best_reference is None else int(score.best_reference[index])
        alignment = None if score.alignments is None else score.alignments[index]
        noted = [name for name, segments in score.notes.items() if index in segments]
        reasons = {name: NOTES[name].reason for name in noted if NOTES[name].reason}
        if alignment is None and "zero_weight" in reasons:
            reasons["zero_weight"] = _NOTHING_COUNTS
        notes = list(reasons.values())
        several = self._several_references(index, best)
        if several is not None:
            notes += self._notes_of_references(several)
        explanation = Explanation(
            metric=score.metric,
            hypothesis=WordedText(hypotheses[index]),
            reference=WordedText(corpus.references[index][best]),
            against="source" if corpus.against_source else "reference",
            scores={name: float(values[index]) for name, values in score.segments.items()},
            main=score.main,
            higher_is_better=score.higher_is_better,
            signature=score.signature,
            notes=tuple(notes),
            references=several,
            members=self._shares_of_members(index),
        )
        explanation = self._with_masking(self._with_alignment(explanation, alignment), index)
        return replace(explanation, matrix=explanation.word_matrix()) if self.options.matrix else explanation

    def _shares_of_members(self, index: int) -> tuple[MemberShare, ...] | None:
        """Contributions of the members of a learned metric."""
        if not isinstance(self.metric, Learned):
            return None
        values = [score.segments[score.main][index : index + 1] for score in self.members]
        shares = self.metric.contributions(values)
        recipes = [member.recipe for member in self.metric.table.members]
        return tuple(
            MemberShare(recipe, float(value[0]), float(share[0]))
            for recipe, value, share in zip(recipes, values, shares, strict=True)
        )

    def _with_alignment(self, explanation: Explanation, alignment: Alignment | Flow | None) -> Explanation:
        """Add words, links and contributions; without an alignment, only words."""
        texts = explanation.hypothesis.text, explanation.reference.text
        split = [split_words(text, self.options.words) for text in texts]
        spans = [] if alignment is None else [alignment.hypothesis_spans, alignment.reference_spans]
        if alignment is None or not all(spans):
            hypothesis, reference = (
                WordedText(text, tuple(Word(*word, 0.0, None, None, "") for word in words))
                for text, words in zip(texts, split, strict=True)
            )
            return replace(explanation, hypothesis=hypothesis, reference=reference)
        if getattr(self.metric, "lowercase", "no") == "yes":
            spans = [original_spans(text, points) for text, points in zip(texts, spans, strict=True)]
        left, right = map(WordView.of, split, spans)
        views = left, right
        filters = [TextFilter(self.prepared.compared[0], text) for text in texts]
        whole = is_whole_text(alignment, views)
        notes = [*explanation.notes, *filters[0].notes("hypothesis"), *filters[1].notes(explanation.against)]
        if whole:
            notes.append("each text is one point, so its words have no separate shares of the cost")
        other = other_links(alignment) if self.options.beside and not whole else None
        return replace(
            explanation,
            hypothesis=WordedText(texts[0], self._words(alignment, "hypothesis", left, filters[0])),
            reference=WordedText(texts[1], self._words(alignment, "reference", right, filters[1])),
            links=() if whole else word_links(own_links(alignment), views),
            beside=() if other is None else word_links(other, views),
            attributions=() if whole else linear_attributions(alignment, views),
            notes=(*notes, *self._notes_of_sums(explanation, alignment)),
            alignment=alignment,
            views=views,
        )

    def _words(self, alignment: Alignment | Flow, side: Side, view: WordView, reader: TextFilter) -> tuple[Word, ...]:
        weights = getattr(alignment, f"{side}_weight")
        shares, _ = view.spread(shares_of(weights))
        flow = isinstance(alignment, Flow)
        if isinstance(alignment, Flow):
            axis = 1 if side == "hypothesis" else 0
            spent, mass = (alignment.flow * alignment.cost).sum(axis=axis), alignment.flow.sum(axis=axis)
            errors = np.divide(spent, mass, out=np.zeros_like(spent), where=mass > 0)
        else:
            errors = 1 - getattr(alignment, f"{side}_similarity")
        reduced = view.reduce(errors, weights > 0, self.options.pieces)
        columns = view.words, shares.tolist(), reduced, reader.reasons(view, weights)
        return tuple(
            Word(*word, share, None if flow or error is None else 1 - error, error if flow else None, why)
            for word, share, error, why in zip(*columns, strict=True)
        )

    def _with_masking(self, explanation: Explanation, index: int) -> Explanation:
        """Add leave-one-out, LIME and Shapley values, if requested or if nothing else explains the score."""
        options, metric = self.options, self.metric
        empty = not (explanation.hypothesis.words and explanation.reference.words)
        explained = explanation.attributions or explanation.members or empty
        wanted = options.shapley if options.shapley is not None else not explained
        notes, attributions = list(explanation.notes), list(explanation.attributions)
        if not (attributions or explanation.links or empty or _NOTHING_COUNTS in notes):
            effect = ", so there is nothing to show side by side" if options.beside else ""
            notes.append(f"{metric.name} does not align words{effect}")
        asked = options.leave_one_out or options.lime
        if metric.whole_corpus and (wanted or asked):
            reason, fix = metric.describe_dependence()
            if options.shapley or asked:
                msg = f"{reason}, so a pair has no separate score; {fix}"
                raise RecipeError(msg)
            notes.append(f"{reason}, so a pair has no separate score: no alignment and no Shapley values")
        elif wanted or asked:
            masked = MaskedText(self.prepared, options, index, getattr(explanation, options.side).text)
            if options.leave_one_out:
                attributions.append(masked.leave_one_out())
            if options.lime and masked.words:
                attribution, fit = masked.lime()
                attributions.append(attribution)
                share = "undefined, all texts score the same" if math.isnan(fit) else f"{fit:.3f}"
                notes.append(f"LIME: R2 of the linear surrogate {share}; {options.neighbours} texts")
            if wanted and options.shapley is None and len(masked.words) > MOST_WORDS:
                notes.append(f"no Shapley values: the text has {len(masked.words)} words, more than {MOST_WORDS}")
            elif wanted:
                attributions.append(masked.shapley())
        return replace(explanation, attributions=tuple(attributions), notes=tuple(notes))

    def _several_references(self, index: int, shown: int) -> SeveralReferences | None:
        """Scores of a segment against each reference; None for a single reference."""
        metric, references = self.metric, self.prepared.corpus.references[index]
        if len(references) == 1:
            return None
        rule, scores = reference_rule(metric), list[float]()
        (system,) = self.prepared.corpus.systems
        if rule != "best" and isinstance(metric, TextMetric):
            singles = self.prepared.corpus.take([index] * len(references))
            (copies,) = singles.systems.values()
            result = metric.score_system(copies, [[text] for text in references], singles.sources)
            scores = result.segments[metric.main].tolist()
        # A score that is scaled over the corpus has no value against one reference.
        elif rule == "mean" and not metric.whole_corpus and self.comparisons is not None:
            prepared, comparison = self.prepared.compared[0], self.comparisons.by_metric[0][system][index]
            alone = [replace(comparison, values=row[None], alignments=None) for row in comparison.values]
            finished = prepared.metric.finish({system: alone}, prepared.state)[system]
            scores = finished.segments[metric.main].tolist()
        return SeveralReferences(rule, len(references), shown, tuple(scores))

    def _notes_of_references(self, several: SeveralReferences) -> list[str]:
        """Notes on the reference shown, and on the references that words are left out of."""
        which = "first" if several.rule == "together" else "best"
        notes = [f"reference {several.shown + 1} of {several.number} is shown (the {which})"]
        if getattr(self.metric, "multiref", "") == "best-each":
            notes.append("precision, recall and f1 are each the maximum over references (multiref=best-each)")
        if several.rule != "best" and self.options.side == "reference":
            notes.append("words are left out of the reference shown, which is then the only reference")
        return notes

    def _notes_of_sums(self, explanation: Explanation, alignment: Alignment | Flow) -> list[str]:
        """Notes on scores that are not sums of the contributions of words."""
        if isinstance(alignment, Alignment):
            raw = float(np.dot(shares_of(alignment.hypothesis_weight), alignment.hypothesis_similarity))
            same = abs(explanation.scores.get("precision", raw) - raw) < _TOLERANCE
            rescaled = getattr(self.metric, "rescale", "no") != "no"
            several = explanation.references is not None
            scope = " and ".join(["before rescaling"] * rescaled + ["against the reference shown"] * several)
            return [] if same else [f"contributions are to precision and recall {scope} (precision {raw:.4f})"]
        if self.metric.distances:
            return [f"contributions are to {' and '.join(sorted(self.metric.distances))}, where lower is better"]
        if getattr(self.metric, "trim", 0):
            return ["the score ignores the smallest masses (trim); contributions are those of the complete flow"]
        if self.score.main.startswith("SD_"):
            return [f"{self.score.main} is the cost of an entropic plan; the flow shown is the exact one"]
        return []
