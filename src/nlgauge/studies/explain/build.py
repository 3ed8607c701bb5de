"""From scores with alignments to explanations: links between words, contributions of words, removed words.

Hard and soft alignments are one thing under different constraints (MoverScore, Proposition 1): greedy matching sends
each token's whole weight to its nearest token, transport must also fill the other text. With the similarities of one
and the costs of the other available, either can be shown next to the metric's own.

    P = sum_i u_i s_i        R = sum_j v_j s_j        cost = sum_ij F_ij C_ij        u, v: weights that sum to 1

Each is a sum over tokens, so a word's contribution is its summand. Words that preprocessing removed are listed with
the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Metric
from nlgauge.core.prepare import Prepared
from nlgauge.core.score import Score
from nlgauge.errors import RecipeError
from nlgauge.studies.explain.explanation import (
    Attribution,
    Explanation,
    Link,
    SeveralReferences,
    Side,
    Word,
    WordedText,
)
from nlgauge.studies.explain.masking import MOST_WORDS, VariantScorer, leave_one_out, shapley
from nlgauge.studies.explain.options import ExplainOptions, ScoresByReference
from nlgauge.studies.explain.word_level import WordView, lowered_spans
from nlgauge.text.tokenizer import Tokens, is_punctuation
from nlgauge.text.words import WordSpan, split_words
from nlgauge.vectors.cloud import Alignment, Flow, PointSpans
from nlgauge.vectors.transport import NOTHING, exact_transport, normalised_weights


class PointLink(NamedTuple):
    """A token, or another point, beside one of the other text."""

    kind: Literal["forward", "backward", "flow"]
    hypothesis: int
    reference: int
    weight: float
    similarity: float | None
    cost: float | None


def own_links(alignment: Alignment | Flow) -> list[PointLink]:
    """Links of points as the metric made them."""
    if isinstance(alignment, Flow):
        return _flow_links(alignment.flow, alignment.cost)
    u, v = shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
    forward = zip(alignment.hypothesis_match.tolist(), u, alignment.hypothesis_similarity.tolist(), strict=True)
    backward = zip(alignment.reference_match.tolist(), v, alignment.reference_similarity.tolist(), strict=True)
    found = [PointLink("forward", i, j, weight, s, None) for i, (j, weight, s) in enumerate(forward) if weight > 0]
    return found + [
        PointLink("backward", i, j, weight, s, None) for j, (i, weight, s) in enumerate(backward) if weight > 0
    ]


def other_links(alignment: Alignment | Flow) -> list[PointLink] | None:
    """The other kind of alignment on the same vectors; None where similarities are not at hand (read from a file).

    Beside greedy matches it is the exact transport at cost 1 - cosine, under the same weights; beside a transport it
    is each point's nearest one.
    """
    if isinstance(alignment, Flow):
        cost, u, v = alignment.cost, shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
        rows, columns = cost.argmin(axis=1).tolist(), cost.argmin(axis=0).tolist()
        found = [PointLink("forward", i, j, u[i], None, float(cost[i, j])) for i, j in enumerate(rows) if u[i] > 0]
        return found + [
            PointLink("backward", i, j, v[j], None, float(cost[i, j])) for j, i in enumerate(columns) if v[j] > 0
        ]
    if alignment.similarity is None:
        return None
    rows_kept, columns_kept = (
        np.flatnonzero(w > 0) for w in (alignment.hypothesis_weight, alignment.reference_weight)
    )
    similarity = alignment.similarity[np.ix_(rows_kept, columns_kept)].astype(np.float64)
    cost = np.maximum(1 - similarity, 0.0)  # rounding lifts the cosine of equal vectors above 1
    plan = exact_transport(alignment.hypothesis_weight[rows_kept], alignment.reference_weight[columns_kept], cost)
    links = _flow_links(plan.flow, cost)
    return [
        link._replace(
            hypothesis=int(rows_kept[link.hypothesis]),
            reference=int(columns_kept[link.reference]),
        )
        for link in links
    ]


def shares_of(weights: NDArray[np.float64]) -> list[float]:
    """Weights that sum to 1; a text without weight has none."""
    return normalised_weights(weights).tolist() if weights.sum() > 0 else [0.0] * len(weights)


def _flow_links(flow: NDArray[np.float64], cost: NDArray[np.float64]) -> list[PointLink]:
    rows, columns = np.nonzero(flow > NOTHING)
    return [
        PointLink("flow", i, j, float(flow[i, j]), None, float(cost[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def word_links(links: Iterable[PointLink], views: tuple[WordView, WordView]) -> tuple[Link, ...]:
    """Links of words: weights add up, values are averaged by weight, so that sums over links stay what they are."""
    found: dict[tuple[str, int | None, int | None], tuple[float, float]] = {}
    greedy = False
    for link in links:
        greedy = greedy or link.similarity is not None
        value = link.similarity if link.cost is None else link.cost
        left: Mapping[Any, float] = views[0].shares[link.hypothesis] or {None: 1.0}
        right: Mapping[Any, float] = views[1].shares[link.reference] or {None: 1.0}
        for (i, first), (j, second) in product(left.items(), right.items()):
            weight = link.weight * first * second
            known = found.get((link.kind, i, j), (0.0, 0.0))
            found[link.kind, i, j] = known[0] + weight, known[1] + weight * (value or 0.0)
    return tuple(
        Link(
            kind,  # type: ignore[arg-type]  # a kind is a kind
            i,
            j,
            weight,
            None if kind == "flow" or not greedy else total / weight,
            total / weight if kind == "flow" or not greedy else None,
        )
        for (kind, i, j), (weight, total) in found.items()
    )


def is_whole_text(alignment: Alignment | Flow, views: tuple[WordView, WordView]) -> bool:
    """Whether each text is one point of several words, so that words have no summand of their own."""
    points = [[shares for shares in view.shares if shares] for view in views]
    return (
        isinstance(alignment, Flow)
        and all(len(view) == 1 for view in points)
        and max(len(shares) for view in points for shares in view) > 1
    )


def linear_attributions(alignment: Alignment | Flow, views: tuple[WordView, WordView]) -> tuple[Attribution, ...]:
    """Summands of precision and recall, or of the transport's cost, by word."""
    if isinstance(alignment, Flow):
        spent = alignment.flow * alignment.cost
        parts = [("cost", spent.sum(axis=1)), ("cost", spent.sum(axis=0))]
    else:
        u, v = shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
        parts = [
            ("precision", np.array(u) * alignment.hypothesis_similarity),
            ("recall", np.array(v) * alignment.reference_similarity),
        ]
    made = []
    for (name, values), view, side in zip(parts, views, ("hypothesis", "reference"), strict=True):
        words, rest = view.spread(values)
        made.append(Attribution("linear", name, side, tuple(words.tolist()), rest, float(values.sum())))  # type: ignore[arg-type]  # a side is a side
    return tuple(made)


@dataclass(frozen=True, eq=False)
class TextFilter:
    """What a recipe leaves out of a text, and the text's tokens before it did."""

    metric: Metric
    tokens: Tokens
    pieces: Sequence[str]
    """The tokens without marks of continued words, which is how stop words are looked up."""
    stopwords: Collection[str]
    limit: int

    @property
    def _first_only(self) -> bool:
        return getattr(self.metric, "subwords", "all") == "first"

    @cached_property
    def _lone_marks(self) -> NDArray[np.intp]:
        """Places of first pieces without text, before the rest of a word: SentencePiece spells some words so."""
        starts, sizes = self.tokens.word_pieces
        blank = np.array([not piece for piece in self.pieces], dtype=np.bool_)
        return starts[blank[starts] & (sizes > 1)]

    def why(self, word: WordSpan, *, has_point: bool) -> str:
        """Why a word does not count."""
        if self.tokens.cut and word.start >= int(self.tokens.offsets[:, 1].max()):
            return f"cut off at {self.limit} tokens"
        if word.text in self.stopwords or word.text.lower() in self.stopwords:
            return "stop word"
        starts = zip(self.pieces, self.tokens.offsets.tolist(), strict=True) if self.stopwords else ()
        for piece, (start, end) in starts:
            if start == word.start and end > start and piece in self.stopwords:  # "the" of "therapist", as published
                return f"its first piece, {piece!r}, is a stop word"
        if getattr(self.metric, "punctuation", "keep") != "keep" and all(map(is_punctuation, word.text)):
            return "punctuation"
        if hasattr(self.metric, "unmatched"):  # metrics of foci count mentions only (DS-Focus)
            return "a focus that the other text lacks" if has_point else "no mention of a focus"
        if has_point:
            return "weight 0 by idf"
        if self.tokens.left_out:
            return "not in the vocabulary"
        places = self.tokens.offsets
        inside = (places[:, 0] < word.end) & (places[:, 1] > word.start)
        if self._first_only and inside.any():
            behind_mark = np.isin(np.flatnonzero(inside), self._lone_marks + 1).any()
            what = "only the mark before it is kept" if behind_mark else "continues a word"
            return f"{what} (subwords=first)"
        return "no token of its own"

    def notes(self, whose: str) -> list[str]:
        """What happened to the text beside words that were removed."""
        found = []
        if self.tokens.cut:
            found.append(f"{whose}: {self.tokens.cut} tokens were cut off at the limit of {self.limit}")
        if self.tokens.windows is not None:
            count = len(self.tokens.windows.cut(len(self.tokens)))
            found.append(f"{whose}: {len(self.tokens)} tokens were read in {count} windows")
        later = int((~self.tokens.starts_word).sum()) if self._first_only else 0
        if later:
            found.append(f"{whose}: {later} later pieces of words were left out (subwords=first)")
        if self._first_only and len(self._lone_marks):
            words = f"{len(self._lone_marks)} word{'s' * (len(self._lone_marks) > 1)}"
            found.append(f"{whose}: of {words} only a mark of white space was kept; subwords=all keeps the text")
        if self.tokens.unknown:
            found.append(f"{whose}: {self.tokens.unknown} words or pieces are unknown to the model")
        return found


def reasons_removed(view: WordView, weights: NDArray[np.float64], filtered: TextFilter) -> Sequence[str]:
    """For each word why it does not count; empty where a point of it has weight."""
    weighted: set[int] = set()
    pointed: set[int] = set()
    for weight, shares in zip(weights.tolist(), view.shares, strict=True):
        pointed |= set(shares)
        weighted |= set(shares) if weight > 0 else set()
    return [
        "" if number in weighted else filtered.why(word, has_point=number in pointed)
        for number, word in enumerate(view.words)
    ]


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
NOTHING_COUNTS = "no token of one of the texts counts, so there is nothing to align"


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
    def masked(self) -> VariantScorer:
        """What texts with words left out score."""
        component = self.options.component_of(self.metric)
        return VariantScorer(self.metric, self.corpus, self.prepared.options, component)

    def explain(self, index: int) -> Explanation:
        """The explanation of a segment."""
        (hypotheses,) = self.corpus.systems.values()
        references = self.corpus.references[index]
        best = 0 if self.score.best_reference is None else int(self.score.best_reference[index])
        alignment = None if self.score.alignments is None else self.score.alignments[index]
        texts = hypotheses[index], references[best]
        notes = [text for name, text in _SEGMENT_NOTES.items() if index in getattr(self.score.notes, name)]
        if alignment is None and _SEGMENT_NOTES["zero_weight"] in notes:
            notes[notes.index(_SEGMENT_NOTES["zero_weight"])] = NOTHING_COUNTS
        several = self.by_reference.of(index, best)
        if several is not None:
            notes += self._notes_of_references(several)
        made = Explanation(
            metric=self.score.metric,
            hypothesis=WordedText(texts[0]),
            reference=WordedText(texts[1]),
            against="source" if self.corpus.against_source else "reference",
            scores={name: float(values[index]) for name, values in self.score.segments.items()},
            main=self.score.main,
            higher_is_better=self.score.higher_is_better,
            signature=self.score.signature,
            notes=tuple(notes),
            references=several,
        )
        made = self._aligned(made, alignment)
        return self._attributed(made, index)

    def _aligned(self, made: Explanation, alignment: Alignment | Flow | None) -> Explanation:
        """With words, links and contributions; without an alignment, with words only."""
        texts = made.hypothesis.text, made.reference.text
        split = [split_words(text, self.options.words) for text in texts]
        spans = [] if alignment is None else [alignment.hypothesis_spans, alignment.reference_spans]
        if alignment is None or not all(spans):
            words = [tuple(Word(*word, 0.0, None, None, "") for word in side) for side in split]
            return replace(made, hypothesis=WordedText(texts[0], words[0]), reference=WordedText(texts[1], words[1]))
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
            hypothesis=WordedText(texts[0], self._words(alignment, "hypothesis", left, filters[0])),
            reference=WordedText(texts[1], self._words(alignment, "reference", right, filters[1])),
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
        empty = not (made.hypothesis.words and made.reference.words)
        wanted = options.shapley if options.shapley is not None else not (made.attributions or empty)
        notes, further = list(made.notes), list[Attribution]()
        if not (made.attributions or made.links or empty or NOTHING_COUNTS in notes):
            notes.append(f"{self.metric.name} has no alignment of this pair")
        if not wanted and not options.leave_one_out:
            return replace(made, notes=tuple(notes))
        text = (made.hypothesis if side == "hypothesis" else made.reference).text
        words = split_words(text, options.words)
        if self.metric.whole_corpus:
            why = f"{self.metric.name} scales its parts over the whole corpus, so a pair has no score of its own"
            if options.shapley or options.leave_one_out:
                msg = f"{why}; freeze the range with bounds=FILE (nlgauge build bounds)"
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
