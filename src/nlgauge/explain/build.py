"""From a score with its alignments to explanations, a segment at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.clouds.cloud import PointSpans
from nlgauge.corpus.texts import Corpus
from nlgauge.engine.prepare import Prepared
from nlgauge.errors import RecipeError
from nlgauge.explain.explanation import Attribution, Explanation, SeveralReferences, Side, Word
from nlgauge.explain.links import is_whole_text, linear_attributions, other_links, own_links, shares_of, word_links
from nlgauge.explain.masking import MOST_WORDS, MaskedScores, leave_one_out, shapley
from nlgauge.explain.options import ExplainOptions
from nlgauge.explain.removed import TextFilter, reasons_removed
from nlgauge.explain.several_references import ScoresByReference
from nlgauge.explain.word_view import WordView, lowered_spans
from nlgauge.recipes.metric import Metric
from nlgauge.scores import Score
from nlgauge.text.words import split_words

__all__ = ["Explainer"]

_SIDES: tuple[Side, Side] = ("hypothesis", "reference")

#: Within this, two ways to add up the same numbers agree.
_TOLERANCE = 1e-6

_SEGMENT_NOTES = {
    "empty": "a text is empty, so there is nothing to align",
    "zero_weight": "idf gave a text no weight, so all its tokens weigh the same",
    "unconverged": "Sinkhorn did not converge, so the score is approximate",
    "no_noun": "a text has no noun, so a metric of nouns gives 0",
    "no_focus": "the texts share no focus",
    "no_ties": "no two sentences of a text share a focus",
    "unknown": "a text holds nothing but tokens unknown to the model",
}


#: Where idf, or what preprocessing removes, leaves no point at all.
_NOTHING_COUNTS = "no token of one of the texts counts, so there is nothing to align"


@dataclass(frozen=True, eq=False)
class Explainer:
    """Explains segments of one system that were scored with alignments."""

    prepared: Prepared
    corpus: Corpus
    """As the metric sees it, with the documents of idf spelt out."""
    score: Score
    options: ExplainOptions
    by_reference: ScoresByReference

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return self.prepared.metrics[0].metric

    @cached_property
    def masked(self) -> MaskedScores:
        """What texts with words left out score."""
        component = self.options.component_of(self.metric)
        return MaskedScores(self.metric, self.corpus, self.prepared.options, component)

    def explain(self, index: int) -> Explanation:
        """The explanation of a segment."""
        (hypotheses,) = self.corpus.systems.values()
        references = self.corpus.references[index]
        best = 0 if self.score.best_reference is None else int(self.score.best_reference[index])
        alignment = None if self.score.alignments is None else self.score.alignments[index]
        texts = hypotheses[index], references[best]
        notes = [text for name, text in _SEGMENT_NOTES.items() if index in getattr(self.score.notes, name)]
        if alignment is None and _SEGMENT_NOTES["zero_weight"] in notes:
            notes[notes.index(_SEGMENT_NOTES["zero_weight"])] = _NOTHING_COUNTS
        several = self.by_reference.of(index, best)
        if several is not None:
            notes += self._notes_of_references(several)
        made = Explanation(
            metric=self.score.metric,
            hypothesis=texts[0],
            reference=texts[1],
            against="source" if self.corpus.against_source else "reference",
            scores={name: float(values[index]) for name, values in self.score.segments.items()},
            main=self.score.main,
            higher_is_better=self.score.higher_is_better,
            signature=self.score.signature,
            hypothesis_words=(),
            reference_words=(),
            notes=tuple(notes),
            references=several,
        )
        made = self._aligned(made, alignment)
        return self._attributed(made, index)

    def _aligned(self, made: Explanation, alignment: Alignment | Flow | None) -> Explanation:
        """With words, links and contributions; without an alignment, with words only."""
        texts = made.hypothesis, made.reference
        split = [split_words(text, self.options.words) for text in texts]
        spans = [] if alignment is None else [alignment.hypothesis_spans, alignment.reference_spans]
        if alignment is None or not all(spans):
            words = [tuple(Word(*word, 0.0, None, None, "") for word in side) for side in split]
            return replace(made, hypothesis_words=words[0], reference_words=words[1])
        left, right = (
            WordView.of(words, self._in_text(text, points))
            for words, text, points in zip(split, texts, spans, strict=True)
        )
        pair = left, right
        filters = [self._filter(text) for text in texts]
        whole = is_whole_text(alignment, pair)
        notes = [*made.notes, *filters[0].notes("hypothesis"), *filters[1].notes(made.against)]
        if whole:
            notes.append("each text is one point, so its words have no share of their own in the cost")
        made = replace(
            made,
            hypothesis_words=self._words(alignment, "hypothesis", left, filters[0]),
            reference_words=self._words(alignment, "reference", right, filters[1]),
            links=() if whole else word_links(own_links(alignment), pair),
            attributions=() if whole else linear_attributions(alignment, pair),
            notes=(*notes, *self._notes_of_sums(made, alignment)),
            alignment=alignment,
            views=pair,
        )
        other = other_links(alignment) if self.options.beside and not whole else None
        return made if other is None else replace(made, beside=word_links(other, pair))

    def _words(
        self, alignment: Alignment | Flow, side: Side, view: WordView, filtered: TextFilter
    ) -> tuple[Word, ...]:
        weights: NDArray[np.float64] = getattr(alignment, f"{side}_weight")
        shares, _ = view.spread(np.array(shares_of(weights)))
        if isinstance(alignment, Flow):
            axis = 1 if side == "hypothesis" else 0
            spent, mass = (alignment.flow * alignment.cost).sum(axis=axis), alignment.flow.sum(axis=axis)
            errors = np.divide(spent, mass, out=np.zeros_like(spent), where=mass > 0)
        else:
            errors = 1 - getattr(alignment, f"{side}_similarity")
        found = view.reduce(errors, weights > 0, self.options.pieces)
        removed = reasons_removed(view, weights, filtered)
        greedy = isinstance(alignment, Alignment)
        return tuple(
            Word(
                *word,
                float(share),
                1 - error if greedy and error is not None else None,
                None if greedy else error,
                why,
            )
            for word, share, error, why in zip(view.words, shares, found, removed, strict=True)
        )

    def _attributed(self, made: Explanation, index: int) -> Explanation:
        """With what leaving words out says, where it was asked for or nothing else explains the score."""
        side, options = self.options.side, self.options
        empty = not (made.hypothesis_words and made.reference_words)
        wanted = options.shapley if options.shapley is not None else not (made.attributions or empty)
        notes, further = list(made.notes), list[Attribution]()
        if not (made.attributions or made.links or empty or _NOTHING_COUNTS in notes):
            notes.append(f"{self.metric.name} has no alignment of this pair")
        if not wanted and not options.leave_one_out:
            return replace(made, notes=tuple(notes))
        text = made.hypothesis if side == "hypothesis" else made.reference
        words = split_words(text, options.words)
        if self.metric.whole_corpus:
            why = f"{self.metric.name} scales its parts over the whole corpus, so a pair has no score of its own"
            if options.shapley or options.leave_one_out:
                msg = f"{why}; freeze the range with bounds=FILE (nlgauge sentsim calibrate)"
                raise RecipeError(msg)
            return replace(made, notes=(*notes, f"{why}: neither an alignment nor Shapley values"))
        if options.leave_one_out:
            further.append(leave_one_out(self.masked, index, side, text, words))
        if wanted and options.shapley is None and len(words) > MOST_WORDS:
            notes.append(f"no Shapley values: the text has {len(words)} words, more than {MOST_WORDS}")
        elif wanted:
            further.append(shapley(self.masked, index, side, text, words, samples=options.samples, seed=options.seed))
        return replace(made, attributions=(*made.attributions, *further), notes=tuple(notes))

    def _in_text(self, text: str, spans: tuple[PointSpans, ...]) -> tuple[PointSpans, ...]:
        lowered = getattr(self.metric, "lowercase", "no") == "yes"
        return lowered_spans(text, spans) if lowered else spans

    def _filter(self, text: str) -> TextFilter:
        """What the recipe left out of a text; only metrics of vectors have alignments."""
        one = self.prepared.compared[0]
        key = text.lower() if one.metric.lowercase == "yes" else text
        stopwords = one.state["stopwords"].words if "stopwords" in one.state.loaded else frozenset[str]()
        tokens = one.tokenized.tokens[key]
        pieces = one.tokenized.encoder.tokenizer.pieces(tokens)
        return TextFilter(one.metric, tokens, pieces, stopwords, one.tokenized.limit)

    def _notes_of_references(self, several: SeveralReferences) -> list[str]:
        """Which reference is shown, and where words are left out of that one alone."""
        which = "the first one" if several.rule == "together" else f"the best one, number {several.shown},"
        notes = [f"of {several.number} references (counted from 0) {which} is shown"]
        if getattr(self.metric, "multiref", "") == "best-each":
            notes.append("precision, recall and f1 are each the best over all references (multiref=best-each)")
        if several.rule != "best" and self.options.side == "reference":
            notes.append("words of the reference are left out, and scored, with the reference shown alone")
        return notes

    def _notes_of_sums(self, made: Explanation, alignment: Alignment | Flow) -> list[str]:
        """Where the score is not made from the sums that words contribute to."""
        if isinstance(alignment, Alignment):
            raw = float(np.dot(shares_of(alignment.hypothesis_weight), alignment.hypothesis_similarity))
            same = abs(made.scores.get("precision", raw) - raw) < _TOLERANCE
            rescaled = getattr(self.metric, "rescale", "no") != "no"
            where = " and ".join(
                ["before rescaling"] * rescaled + ["against the reference shown"] * (made.references is not None)
            )
            return [] if same else [f"contributions are to P and R {where} (precision {raw:.4f})"]
        if self.metric.distances:
            return [f"contributions are to {' and '.join(sorted(self.metric.distances))}, where lower is better"]
        if getattr(self.metric, "trim", 0):
            return ["the score drops the smallest masses (trim); contributions are those of the whole flow"]
        if self.score.main.startswith("SD_"):
            return [f"{self.score.main} is the cost of an entropic plan; the flow shown is the exact one"]
        return []
