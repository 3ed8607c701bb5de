"""From scores with alignments to explanations: links between words, contributions of words, removed words.

Hard and soft alignments are one thing under different constraints (MoverScore, Proposition 1): greedy matching sends
each token's whole weight to its nearest token, transport must also fill the other text. With the similarities of one
and the costs of the other available, either can be shown next to the metric's own.

    P = sum_i u_i s_i        R = sum_j v_j s_j        cost = sum_ij F_ij C_ij        u, v: weights that sum to 1

Each is a sum over tokens, so a word's contribution is its summand. Words that preprocessing removed are listed with
the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.compare import Comparisons
from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.prepare import Prepared
from nlgauge.core.score import NOTES, Score
from nlgauge.errors import RecipeError
from nlgauge.studies.explain.explanation import (
    SIDES,
    Attribution,
    Explanation,
    Link,
    SeveralReferences,
    Side,
    Word,
    WordedText,
    WordView,
    lowered_spans,
)
from nlgauge.studies.explain.masking import MOST_WORDS, MaskedText
from nlgauge.studies.explain.options import ExplainOptions, reference_rule
from nlgauge.text.tokenizer import Tokens, is_punctuation
from nlgauge.text.words import WordSpan, split_words
from nlgauge.vectors.cloud import Alignment, Flow
from nlgauge.vectors.transport import NOTHING, exact_transport, normalised_weights


def own_links(alignment: Alignment | Flow) -> list[Link]:
    """Links of points as the metric made them."""
    if isinstance(alignment, Flow):
        return _flow_links(alignment.flow, alignment.cost)
    matches = alignment.hypothesis_match, alignment.reference_match
    return _match_links(alignment, matches, (alignment.hypothesis_similarity, alignment.reference_similarity))


def other_links(alignment: Alignment | Flow) -> list[Link] | None:
    """The other kind of alignment on the same vectors; None where similarities are not at hand (read from a file).

    Beside greedy matches it is the exact transport at cost 1 - cosine, under the same weights; beside a transport it
    is each point's nearest one.
    """
    if isinstance(alignment, Flow):
        cost = alignment.cost
        nearest = cost.argmin(axis=1), cost.argmin(axis=0)
        return _match_links(alignment, nearest, (cost.min(axis=1), cost.min(axis=0)))
    if alignment.similarity is None:
        return None
    rows, columns = (np.flatnonzero(w > 0) for w in (alignment.hypothesis_weight, alignment.reference_weight))
    similarity = alignment.similarity[np.ix_(rows, columns)].astype(np.float64)
    cost = np.maximum(1 - similarity, 0.0)  # rounding lifts the cosine of equal vectors above 1
    plan = exact_transport(alignment.hypothesis_weight[rows], alignment.reference_weight[columns], cost)
    return [
        link._replace(hypothesis=int(rows[link.hypothesis]), reference=int(columns[link.reference]))
        for link in _flow_links(plan.flow, cost)
    ]


def shares_of(weights: NDArray[np.float64]) -> list[float]:
    """Weights that sum to 1; a text without weight has none."""
    return normalised_weights(weights).tolist() if weights.sum() > 0 else [0.0] * len(weights)


def _flow_links(flow: NDArray[np.float64], cost: NDArray[np.float64]) -> list[Link]:
    rows, columns = np.nonzero(flow > NOTHING)
    return [
        Link("flow", i, j, float(flow[i, j]), None, float(cost[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def _match_links(
    alignment: Alignment | Flow,
    matches: tuple[NDArray[np.intp], NDArray[np.intp]],
    values: tuple[NDArray[np.floating], NDArray[np.floating]],
) -> list[Link]:
    """Links of points that have weight: those of the hypothesis, then those of the reference."""
    weights = shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
    links = []
    for partners, of_side, shares in zip(matches, values, weights, strict=True):
        forward = partners is matches[0]
        for point, (partner, value, weight) in enumerate(
            zip(partners.tolist(), of_side.tolist(), shares, strict=True)
        ):
            i, j = (point, partner) if forward else (partner, point)
            similarity, cost = (None, value) if isinstance(alignment, Flow) else (value, None)
            if weight > 0:
                links.append(Link("forward" if forward else "backward", i, j, weight, similarity, cost))
    return links


def _shares(view: WordView, point: Any) -> Iterable[tuple[int | None, float]]:
    """Words of a point with their shares; None for a special token."""
    return view.shares[point].items() or [(None, 1.0)]


def word_links(links: Iterable[Link], views: tuple[WordView, WordView]) -> tuple[Link, ...]:
    """Links of words: weights add up, values are averaged by weight, so that sums over links stay what they are."""
    sums: dict[tuple[Any, int | None, int | None], tuple[float, float]] = {}
    greedy = False
    for link in links:
        greedy = greedy or link.similarity is not None
        value = link.similarity if link.cost is None else link.cost
        left, right = (_shares(view, point) for view, point in zip(views, link[1:3], strict=True))
        for (i, first), (j, second) in product(left, right):
            weight = link.weight * first * second
            known = sums.get((link.kind, i, j), (0.0, 0.0))
            sums[link.kind, i, j] = known[0] + weight, known[1] + weight * (value or 0.0)
    return tuple(
        Link(*of, weight, *((total / weight, None) if greedy and of[0] != "flow" else (None, total / weight)))
        for of, (weight, total) in sums.items()
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
    attributions = []
    for (name, values), view, side in zip(parts, views, SIDES, strict=True):
        words, rest = view.spread(values)
        attributions.append(Attribution("linear", name, side, tuple(words.tolist()), rest, float(values.sum())))
    return tuple(attributions)


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
        notes = []
        if self.tokens.cut:
            notes.append(f"{whose}: {self.tokens.cut} tokens were cut off at the limit of {self.limit}")
        if self.tokens.windows is not None:
            count = len(self.tokens.windows.cut(len(self.tokens)))
            notes.append(f"{whose}: {len(self.tokens)} tokens were read in {count} windows")
        later = int((~self.tokens.starts_word).sum()) if self._first_only else 0
        if later:
            notes.append(f"{whose}: {later} later pieces of words were left out (subwords=first)")
        if self._first_only and len(self._lone_marks):
            words = f"{len(self._lone_marks)} word{'s' * (len(self._lone_marks) > 1)}"
            notes.append(f"{whose}: of {words} only a mark of white space was kept; subwords=all keeps the text")
        if self.tokens.unknown:
            notes.append(f"{whose}: {self.tokens.unknown} words or pieces are unknown to the model")
        return notes


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
    comparisons: Comparisons | None
    """None where the score came with its alignments; metrics without a model need none."""

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return self.prepared.metrics[0].metric

    def explain(self, index: int) -> Explanation:
        """The explanation of a segment."""
        (hypotheses,) = self.corpus.systems.values()
        references = self.corpus.references[index]
        best = 0 if self.score.best_reference is None else int(self.score.best_reference[index])
        alignment = None if self.score.alignments is None else self.score.alignments[index]
        texts = hypotheses[index], references[best]
        noted = [name for name, segments in self.score.notes.items() if index in segments]
        reasons = {name: NOTES[name].reason for name in noted if NOTES[name].reason}
        if alignment is None and "zero_weight" in reasons:
            reasons["zero_weight"] = NOTHING_COUNTS
        notes = list(reasons.values())
        several = self._several_references(index, best)
        if several is not None:
            notes += self._notes_of_references(several)
        explanation = Explanation(
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
        explanation = self._with_masking(self._with_alignment(explanation, alignment), index)
        return replace(explanation, matrix=explanation.word_matrix()) if self.options.matrix else explanation

    def _with_alignment(self, explanation: Explanation, alignment: Alignment | Flow | None) -> Explanation:
        """With words, links and contributions; without an alignment, with words only."""
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
            spans = [lowered_spans(text, points) for text, points in zip(texts, spans, strict=True)]
        left, right = map(WordView.of, split, spans)
        views = left, right
        filters = [self._filter(text) for text in texts]
        whole = is_whole_text(alignment, views)
        notes = [*explanation.notes, *filters[0].notes("hypothesis"), *filters[1].notes(explanation.against)]
        if whole:
            notes.append("each text is one point, so its words have no share of their own in the cost")
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
        reduced = view.reduce(errors, weights > 0, self.options.pieces)
        removed = reasons_removed(view, weights, filtered)
        words = []
        for word, share, error, why in zip(view.words, shares.tolist(), reduced, removed, strict=True):
            flow = isinstance(alignment, Flow)
            similarity = None if flow or error is None else 1 - error
            words.append(Word(*word, share, similarity, error if flow else None, why))
        return tuple(words)

    def _with_masking(self, explanation: Explanation, index: int) -> Explanation:
        """With what leaving words out says, where it was asked for or nothing else explains the score."""
        options, metric = self.options, self.metric
        empty = not (explanation.hypothesis.words and explanation.reference.words)
        wanted = options.shapley if options.shapley is not None else not (explanation.attributions or empty)
        notes, attributions = list(explanation.notes), list(explanation.attributions)
        if not (attributions or explanation.links or empty or NOTHING_COUNTS in notes):
            notes.append(f"{metric.name} has no alignment of this pair")
        if metric.whole_corpus and (wanted or options.leave_one_out):
            why = f"{metric.name} scales its parts over the whole corpus, so a pair has no score of its own"
            if options.shapley or options.leave_one_out:
                msg = f"{why}; freeze the range with bounds=FILE (nlgauge build bounds)"
                raise RecipeError(msg)
            notes.append(f"{why}: neither an alignment nor Shapley values")
        elif wanted or options.leave_one_out:
            text: str = getattr(explanation, options.side).text
            words, component = split_words(text, options.words), options.component_of(metric)
            masked = MaskedText(
                metric, self.corpus, self.prepared.options, component, index, options.side, text, words
            )
            if options.leave_one_out:
                attributions.append(masked.leave_one_out())
            if wanted and options.shapley is None and len(words) > MOST_WORDS:
                notes.append(f"no Shapley values: the text has {len(words)} words, more than {MOST_WORDS}")
            elif wanted:
                attributions.append(masked.shapley(samples=options.samples, seed=options.seed))
        return replace(explanation, attributions=tuple(attributions), notes=tuple(notes))

    def _filter(self, text: str) -> TextFilter:
        """What the recipe left out of a text; only metrics of vectors have alignments."""
        prepared = self.prepared.compared[0]
        loaded, tokenized = prepared.state.loaded, prepared.tokenized
        stopwords = prepared.state["stopwords"].words if "stopwords" in loaded else frozenset[str]()
        tokens = tokenized.tokens[text.lower() if prepared.metric.lowercase == "yes" else text]
        pieces = tokenized.encoder.tokenizer.pieces(tokens)
        return TextFilter(prepared.metric, tokens, pieces, stopwords, tokenized.limit)

    def _several_references(self, index: int, shown: int) -> SeveralReferences | None:
        """Scores of a segment against each reference alone; None where it has one reference."""
        metric, references = self.metric, self.corpus.references[index]
        if len(references) == 1:
            return None
        rule, scores = reference_rule(metric), list[float]()
        if rule != "best" and isinstance(metric, TextMetric):
            (hypotheses,) = self.corpus.systems.values()
            result = metric.score_texts([hypotheses[index]] * len(references), [[text] for text in references])
            scores = result.segments[metric.main].tolist()
        # A score that is scaled over the corpus has no value against one reference.
        elif rule != "best" and not metric.whole_corpus:
            scores = [column[index] for column in self._scores_by_reference[: len(references)]]
        return SeveralReferences(rule, len(references), shown, tuple(scores))

    @cached_property
    def _scores_by_reference(self) -> list[list[float]]:
        """For each reference the scores of all segments, as the metric finishes them: rescaled, in their order.

        Where a segment has fewer references, its last one stands for the others.
        """
        if self.comparisons is None:
            return []
        prepared = self.prepared.compared[0]
        (system,) = self.corpus.systems
        comparisons = [self.comparisons.found[0][system][index] for index in range(len(self.corpus))]
        columns = []
        for number in range(max(len(comparison.values) for comparison in comparisons)):
            alone = [
                replace(each, values=each.values[[min(number, len(each.values) - 1)]], alignments=None)
                for each in comparisons
            ]
            finished = prepared.metric.finish({system: alone}, prepared.state)[system]
            columns.append(finished.segments[prepared.metric.main].tolist())
        return columns

    def _notes_of_references(self, several: SeveralReferences) -> list[str]:
        """Which reference is shown, and where words are left out of that one alone."""
        which = "the first one" if several.rule == "together" else f"the best one, number {several.shown},"
        notes = [f"of {several.number} references (counted from 0) {which} is shown"]
        if getattr(self.metric, "multiref", "") == "best-each":
            notes.append("precision, recall and f1 are each the best over all references (multiref=best-each)")
        if several.rule != "best" and self.options.side == "reference":
            notes.append("words of the reference are left out, and scored, with the reference shown alone")
        return notes

    def _notes_of_sums(self, explanation: Explanation, alignment: Alignment | Flow) -> list[str]:
        """Where the score is not made from the sums that words contribute to."""
        if isinstance(alignment, Alignment):
            raw = float(np.dot(shares_of(alignment.hypothesis_weight), alignment.hypothesis_similarity))
            same = abs(explanation.scores.get("precision", raw) - raw) < _TOLERANCE
            rescaled = getattr(self.metric, "rescale", "no") != "no"
            several = explanation.references is not None
            where = " and ".join(["before rescaling"] * rescaled + ["against the reference shown"] * several)
            return [] if same else [f"contributions are to P and R {where} (precision {raw:.4f})"]
        if self.metric.distances:
            return [f"contributions are to {' and '.join(sorted(self.metric.distances))}, where lower is better"]
        if getattr(self.metric, "trim", 0):
            return ["the score drops the smallest masses (trim); contributions are those of the whole flow"]
        if self.score.main.startswith("SD_"):
            return [f"{self.score.main} is the cost of an entropic plan; the flow shown is the exact one"]
        return []
