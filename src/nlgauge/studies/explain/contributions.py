"""What each word has to do with a score: links, summands, reasons why it does not count, scores without it.

Hard and soft alignments are one thing under different constraints (MoverScore, Proposition 1): greedy matching sends
each token's whole weight to its nearest token, transport must also fill the other text. With the similarities of one
and the costs of the other available, either can be shown next to the metric's own.

    P = sum_i u_i s_i        R = sum_j v_j s_j        cost = sum_ij F_ij C_ij        u, v: weights that sum to 1

Each is a sum over tokens, so a word's contribution is its summand. Any score can be explained by leaving words out:

    phi_i = sum over coalitions S without i of |S|! (n - |S| - 1)! / n!  (v(S + i) - v(S))

Shapley values sum to v(all) - v(none). Up to ten players they are computed exactly; beyond that over sampled orders
(Castro, Gomez, Tejada 2009), which sum to the same, with the standard error of each mean. Texts with words left out
are a corpus like any other, so they are compared by the same engine.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus, WholeCorpus
from nlgauge.core.metric import Metric
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.prepare import Prepared, PreparedMetric
from nlgauge.errors import InputError, NlgaugeWarning
from nlgauge.studies.explain.explanation import SIDES, Attribution, ExplainOptions, Link, Side, WordView
from nlgauge.text.tokenizer import Tokens, is_punctuation
from nlgauge.text.words import WordSpan, split_words
from nlgauge.vectors.cloud import Alignment, Flow
from nlgauge.vectors.transport import NOTHING, exact_transport, normalised_weights

Vector: TypeAlias = NDArray[np.float64]


def own_links(alignment: Alignment | Flow) -> list[Link]:
    """Links of points as the metric made them."""
    if isinstance(alignment, Flow):
        return _flow_links(alignment.flow, alignment.cost)
    matches = alignment.hypothesis_match, alignment.reference_match
    return _match_links(alignment, matches, (alignment.hypothesis_similarity, alignment.reference_similarity))


def other_links(alignment: Alignment | Flow) -> list[Link] | None:
    """The other kind of alignment on the same vectors; None where similarities are not available (read from a file).

    Next to greedy matches it is the exact transport at cost 1 - cosine, under the same weights; next to a transport
    it is each point's nearest one.
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


def shares_of(weights: Vector) -> Vector:
    """Weights that sum to 1; a text without weight has none."""
    return normalised_weights(weights) if weights.sum() > 0 else np.zeros(len(weights))


def _flow_links(flow: Vector, cost: Vector) -> list[Link]:
    return [
        Link("flow", i, j, float(flow[i, j]), None, float(cost[i, j]))
        for i, j in np.argwhere(flow > NOTHING).tolist()
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
        columns = partners.tolist(), of_side.tolist(), shares.tolist()
        for point, (partner, value, weight) in enumerate(zip(*columns, strict=True)):
            i, j = (point, partner) if forward else (partner, point)
            similarity, cost = (None, value) if isinstance(alignment, Flow) else (value, None)
            if weight > 0:
                links.append(Link("forward" if forward else "backward", i, j, weight, similarity, cost))
    return links


def word_links(links: Iterable[Link], views: tuple[WordView, WordView]) -> tuple[Link, ...]:
    """Links of words: weights add up, values are averaged by weight, so that sums over links stay what they are."""
    sums: dict[tuple[Any, int | None, int | None], tuple[float, float]] = {}
    greedy = False
    for link in links:
        greedy = greedy or link.similarity is not None
        value = link.similarity if link.cost is None else link.cost
        # A point without a word is a special token.
        left, right = (
            view.shares[point].items() or [(None, 1.0)]  # type: ignore[index]  # links of points have both ends
            for view, point in zip(views, link[1:3], strict=True)
        )
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
        parts = [
            ("precision", shares_of(alignment.hypothesis_weight) * alignment.hypothesis_similarity),
            ("recall", shares_of(alignment.reference_weight) * alignment.reference_similarity),
        ]
    attributions = []
    for (name, values), view, side in zip(parts, views, SIDES, strict=True):
        words, rest = view.spread(values)
        attributions.append(Attribution("linear", name, side, tuple(words.tolist()), rest, float(values.sum())))
    return tuple(attributions)


@dataclass(frozen=True, eq=False)
class TextFilter:
    """What a recipe leaves out of a text; only metrics of vectors have alignments, and so a use for it."""

    prepared: PreparedMetric
    text: str

    @cached_property
    def tokens(self) -> Tokens:
        """All tokens of the text."""
        lowered = self.prepared.metric.lowercase == "yes"
        return self.prepared.tokenized.tokens[self.text.lower() if lowered else self.text]

    @cached_property
    def _pieces(self) -> Sequence[str]:
        """The tokens without marks of continued words, which is how stop words are looked up."""
        return self.prepared.tokenized.encoder.tokenizer.pieces(self.tokens)

    @cached_property
    def _stopwords(self) -> Collection[str]:
        state = self.prepared.state
        return state["stopwords"].words if "stopwords" in state.loaded else frozenset[str]()

    @property
    def _first_only(self) -> bool:
        return getattr(self.prepared.metric, "subwords", "all") == "first"

    @cached_property
    def _lone_marks(self) -> NDArray[np.intp]:
        """Places of first pieces without text, before the rest of a word: SentencePiece spells some words so."""
        starts, sizes = self.tokens.word_pieces
        blank = np.array([not piece for piece in self._pieces], dtype=np.bool_)
        return starts[blank[starts] & (sizes > 1)]

    def reasons(self, view: WordView, weights: Vector) -> list[str]:
        """For each word why it does not count; empty where a point of it has weight."""
        weighted: set[int] = set()
        pointed: set[int] = set()
        for weight, shares in zip(weights.tolist(), view.shares, strict=True):
            pointed |= set(shares)
            weighted |= set(shares) if weight > 0 else set()
        return [
            "" if number in weighted else self._reason(word, has_point=number in pointed)
            for number, word in enumerate(view.words)
        ]

    def _reason(self, word: WordSpan, *, has_point: bool) -> str:
        metric, places = self.prepared.metric, self.tokens.offsets
        if self.tokens.cut and word.start >= int(places[:, 1].max()):
            return f"cut off at {self.prepared.tokenized.limit} tokens"
        if word.text in self._stopwords or word.text.lower() in self._stopwords:
            return "stop word"
        for piece, (start, end) in zip(self._pieces, places.tolist(), strict=True) if self._stopwords else ():
            if start == word.start and end > start and piece in self._stopwords:  # "the" of "therapist", as published
                return f"its first piece, {piece!r}, is a stop word"
        if getattr(metric, "punctuation", "keep") != "keep" and all(map(is_punctuation, word.text)):
            return "punctuation"
        if hasattr(metric, "unmatched"):  # metrics of foci count mentions only (DS-Focus)
            return "a focus that the other text lacks" if has_point else "no mention of a focus"
        if has_point:
            return "weight 0 by idf"
        if self.tokens.left_out:
            return "not in the vocabulary"
        inside = (places[:, 0] < word.end) & (places[:, 1] > word.start)
        if self._first_only and inside.any():
            behind_mark = np.isin(np.flatnonzero(inside), self._lone_marks + 1).any()
            what = "only the mark before it is kept" if behind_mark else "continues a word"
            return f"{what} (subwords=first)"
        return "no token of its own"

    def notes(self, whose: str) -> list[str]:
        """What happened to the text besides words that were removed."""
        tokens, notes = self.tokens, []
        if tokens.cut:
            notes.append(f"{tokens.cut} tokens were cut off at the limit of {self.prepared.tokenized.limit}")
        if tokens.windows is not None:
            notes.append(f"{len(tokens)} tokens were read in {len(tokens.windows.cut(len(tokens)))} windows")
        if self._first_only and (later := int((~tokens.starts_word).sum())):
            notes.append(f"{later} later pieces of words were left out (subwords=first)")
        if self._first_only and (marks := len(self._lone_marks)):
            words = f"{marks} word{'s' * (marks > 1)}"
            notes.append(f"of {words} only a mark of white space was kept; subwords=all keeps the text")
        if tokens.unknown:
            notes.append(f"{tokens.unknown} words or pieces are unknown to the model")
        return [f"{whose}: {note}" for note in notes]


#: Players whose coalitions are all looked at: 1,024.
MOST_EXACT = 10

#: From coalitions (a row each, True for a player that is in it) to their values.
Game: TypeAlias = Callable[[NDArray[np.bool_]], Vector]


class Shapley(NamedTuple):
    """A value per player."""

    values: Vector
    error: Vector | None
    """Standard errors; None where the values are exact."""
    total: float
    """Value of the coalition of all minus that of the empty one."""


def shapley_values(players: int, game: Game, *, samples: int = 25, seed: int = 12345) -> Shapley:
    """Exact values for few players; else the mean over `samples` orders (at least 2) drawn with a seed.

    >>> shapley_values(2, lambda rows: rows.sum(axis=1) * 2.0).values.tolist()
    [2.0, 2.0]
    """
    return _exact(players, game) if players <= MOST_EXACT else _sampled(players, game, samples, seed)


def _exact(players: int, game: Game) -> Shapley:
    numbers = np.arange(2**players)
    members = (numbers[:, None] >> np.arange(players) & 1).astype(np.bool_)
    worth = game(members)
    sizes = members.sum(axis=1)
    factorial = [math.factorial(n) for n in range(players + 1)]
    weight = np.array([factorial[s] * factorial[max(players - s - 1, 0)] / factorial[players] for s in sizes])
    values = np.zeros(players)
    for player in range(players):
        without = numbers[~members[:, player]]
        values[player] = (weight[without] * (worth[without | 1 << player] - worth[without])).sum()
    return Shapley(values, None, float(worth[-1]) - float(worth[0]))


def _sampled(players: int, game: Game, samples: int, seed: int) -> Shapley:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(players) for _ in range(samples)]
    rows = np.zeros((samples, players + 1, players), dtype=np.bool_)
    for sample, order in enumerate(orders):
        for place, player in enumerate(order):
            rows[sample, place + 1 :, player] = True
    distinct, back = np.unique(rows.reshape(-1, players), axis=0, return_inverse=True)
    worth = game(distinct)[back.reshape(samples, players + 1)]
    added = np.empty((samples, players))
    for sample, order in enumerate(orders):
        added[sample, order] = np.diff(worth[sample])
    error = added.std(axis=0, ddof=1) / math.sqrt(samples)
    return Shapley(added.mean(axis=0), error, float(worth[0, -1]) - float(worth[0, 0]))


#: Words of a text that Shapley values are computed for; each sampled order scores as many texts.
MOST_WORDS = 200


def without_words(text: str, words: Sequence[WordSpan], kept: NDArray[np.bool_]) -> str:
    """The text of the words that are kept, each with the white space before it; words do not run together.

    >>> without_words("A cat sat.", split_words("A cat sat."), np.array([True, False, True, True]))
    'A sat.'
    """
    result, end, kept_end = "", 0, 0
    for word, keep in zip(words, kept.tolist(), strict=True):
        if keep:
            gap = text[end : word.start]
            dropped = text[kept_end:end]
            if not gap and result[-1:].isalnum() and word.text[0].isalnum() and any(map(str.isspace, dropped)):
                gap = " "  # "a (big" without the bracket
            result += gap + word.text
            kept_end = word.end
        end = word.end
    return result.strip()


def variants(prepared: Prepared, index: int, side: Side, texts: Sequence[str]) -> Corpus:
    """A segment once per text, which stands for its hypothesis, or for what the hypothesis is compared with.

    Idf is that of the run, whose tables are handed on: they are not counted again.
    """
    tables: dict[Hashable, Mapping[str, Any]] = {
        (one.metric.encoding, one.metric.against): one.tokenized.memo for one in prepared.compared.values()
    }
    whole = WholeCorpus(prepared.corpus.reference_count, tables)
    corpus = replace(prepared.corpus.take([index] * len(texts)), idf_documents={}, whole=whole)
    if side == "hypothesis":
        return replace(corpus, systems=dict.fromkeys(corpus.systems, texts))
    return replace(corpus, references=[(text,) for text in texts])


@dataclass(frozen=True, eq=False)
class MaskedText:
    """A text of a segment whose words are left out, and scored without them."""

    prepared: Prepared
    options: ExplainOptions
    index: int
    text: str

    @cached_property
    def words(self) -> Sequence[WordSpan]:
        """All words of the text."""
        return split_words(self.text, self.options.words)

    @cached_property
    def component(self) -> str:
        """What is scored."""
        return self.options.component_of(self.prepared.metrics[0].metric)

    def score(self, kept: NDArray[np.bool_]) -> Vector:
        """The component for each row of kept words; the whole text is scored as it is, white space included."""
        texts = [self.text if row.all() else without_words(self.text, self.words, row) for row in kept]
        metric: Metric = self.prepared.metrics[0].metric
        if getattr(metric, "unknown", "") == "error":
            metric = metric.with_options(unknown="score")  # a variant may be left with unknown words only
        corpus = variants(self.prepared, self.index, self.options.side, texts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NlgaugeWarning)  # variants are shorter and poorer by intent
            run = replace(self.prepared.options, alignments=False, progress=False, empty="zero")
            (score,) = run_metrics([metric], corpus, run)
        return np.array(score.segments[self.component])

    def leave_one_out(self) -> Attribution:
        """What the score loses when a word is left out: score of the text minus score without the word."""
        kept = ~np.eye(len(self.words) + 1, len(self.words), k=-1, dtype=np.bool_)
        scores = self.score(kept)
        values = tuple((scores[0] - scores[1:]).tolist())
        return Attribution("leave-one-out", self.component, self.options.side, values, 0.0, None)

    def shapley(self) -> Attribution:
        """Shapley values of the words: they sum to the score minus that of the empty text."""
        options, count = self.options, len(self.words)
        if count > MOST_WORDS:
            msg = f"Shapley values need a text of at most {MOST_WORDS} words, got {count}; use leave-one-out"
            raise InputError(msg)
        values, error, total = shapley_values(count, self.score, samples=options.samples, seed=options.seed)
        errors = None if error is None else tuple(error.tolist())
        return Attribution("shapley", self.component, options.side, tuple(values.tolist()), 0.0, total, errors)
