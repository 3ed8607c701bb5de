"""Contributions of words to a score: links, summands, reasons for words that are not counted, scores without a word.

Hard and soft alignments differ only in their constraints (MoverScore, Proposition 1): greedy matching moves the whole
weight of each token to its nearest token, transport must also match the weights of the other text. So each can be
computed from the similarities or costs of the other.

    P = sum_i u_i s_i        R = sum_j v_j s_j        cost = sum_ij F_ij C_ij        u, v: weights that sum to 1

Each is a sum over tokens, so the contribution of a word is its summand. Any score can be explained by leaving words
out:

    phi_i = sum over coalitions S without i of |S|! (n - |S| - 1)! / n!  (v(S + i) - v(S))

Shapley values sum to v(all) - v(none). Up to ten players they are exact; beyond that they are means over sampled
orders (Castro, Gomez, Tejada 2009), with standard errors and the same sum. Texts with words left out are scored as an
ordinary corpus.
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

from nlgauge.core.composite import CompositeMetric
from nlgauge.core.corpus import Corpus, WholeCorpus
from nlgauge.core.metric import Metric
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.prepare import Prepared, PreparedMetric
from nlgauge.errors import InputError, NlgaugeWarning
from nlgauge.studies.explain.explanation import SIDES, Attribution, ExplainOptions, Link, Side, WordView
from nlgauge.studies.explain.lime import lime_values
from nlgauge.text.tokenizer import Tokens, is_punctuation
from nlgauge.text.words import WordSpan, split_words
from nlgauge.vectors.cloud import Alignment, Flow
from nlgauge.vectors.transport import NOTHING, exact_transport, normalise_weights

Vector: TypeAlias = NDArray[np.float64]


def own_links(alignment: Alignment | Flow) -> list[Link]:
    """Links of points in the metric's alignment."""
    if isinstance(alignment, Flow):
        return _flow_links(alignment.flow, alignment.cost)
    matches = alignment.hypothesis_match, alignment.reference_match
    return _match_links(alignment, matches, (alignment.hypothesis_similarity, alignment.reference_similarity))


def other_links(alignment: Alignment | Flow) -> list[Link] | None:
    """Links of the other kind of alignment on the same vectors; None if similarities were not stored.

    For greedy matches it is the exact transport with cost 1 - cosine and the same weights; for a transport it is the
    nearest point of each point.
    """
    if isinstance(alignment, Flow):
        cost = alignment.cost
        nearest = cost.argmin(axis=1), cost.argmin(axis=0)
        return _match_links(alignment, nearest, (cost.min(axis=1), cost.min(axis=0)))
    if alignment.similarity is None:
        return None
    rows, columns = (np.flatnonzero(w > 0) for w in (alignment.hypothesis_weight, alignment.reference_weight))
    similarity = alignment.similarity[np.ix_(rows, columns)].astype(np.float64)
    cost = np.maximum(1 - similarity, 0.0)  # by rounding, the cosine of equal vectors may exceed 1
    plan = exact_transport(alignment.hypothesis_weight[rows], alignment.reference_weight[columns], cost)
    return [
        link._replace(hypothesis=int(rows[link.hypothesis]), reference=int(columns[link.reference]))
        for link in _flow_links(plan.flow, cost)
    ]


def shares_of(weights: Vector) -> Vector:
    """Normalise weights to sum 1; all 0 for a text without weight."""
    return normalise_weights(weights) if weights.sum() > 0 else np.zeros(len(weights))


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
    """Links of points with weight: first of the hypothesis, then of the reference."""
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
    """Merge links of points into links of words: weights are added, values averaged by weight."""
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
            before = sums.get((link.kind, i, j), (0.0, 0.0))
            sums[link.kind, i, j] = before[0] + weight, before[1] + weight * (value or 0.0)
    return tuple(
        Link(*of, weight, *((total / weight, None) if greedy and of[0] != "flow" else (None, total / weight)))
        for of, (weight, total) in sums.items()
    )


def is_whole_text(alignment: Alignment | Flow, views: tuple[WordView, WordView]) -> bool:
    """Whether each text is one point of several words, so words have no summands."""
    points = [[shares for shares in view.shares if shares] for view in views]
    return (
        isinstance(alignment, Flow)
        and all(len(view) == 1 for view in points)
        and max(len(shares) for view in points for shares in view) > 1
    )


def linear_attributions(alignment: Alignment | Flow, views: tuple[WordView, WordView]) -> tuple[Attribution, ...]:
    """Summands of precision and recall, or of the transport cost, by word."""
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
    """Finds the words of a text that a recipe leaves out, with reasons; for vector metrics."""

    prepared: PreparedMetric
    text: str

    @cached_property
    def tokens(self) -> Tokens:
        """All tokens of the text."""
        lowered = self.prepared.metric.lowercase == "yes"
        return self.prepared.tokenized.tokens[self.text.lower() if lowered else self.text]

    @cached_property
    def _pieces(self) -> Sequence[str]:
        """The tokens without continuation marks, as used to look up stop words."""
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
        """Indices of first sub-words without text (SentencePiece may separate the mark from the word)."""
        starts, sizes = self.tokens.word_pieces
        blank = np.array([not piece for piece in self._pieces], dtype=np.bool_)
        return starts[blank[starts] & (sizes > 1)]

    def reasons(self, view: WordView, weights: Vector) -> list[str]:
        """Reason why each word is not counted; empty if one of its points has weight."""
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
        metric, offsets = self.prepared.metric, self.tokens.offsets
        if self.tokens.cut and word.start >= int(offsets[:, 1].max()):
            return f"truncated at {self.prepared.tokenized.limit} tokens"
        if word.text in self._stopwords or word.text.lower() in self._stopwords:
            return "stop word"
        for piece, (start, end) in zip(self._pieces, offsets.tolist(), strict=True) if self._stopwords else ():
            if start == word.start and end > start and piece in self._stopwords:  # "the" of "therapist", as published
                return f"its first sub-word {piece!r} is a stop word"
        if getattr(metric, "punctuation", "keep") != "keep" and all(map(is_punctuation, word.text)):
            return "punctuation"
        if hasattr(metric, "unmatched"):  # metrics of foci count mentions only (DS-Focus)
            return "focus is not in the other text" if has_point else "not a mention of a focus"
        if has_point:
            return "weight 0 by idf"
        if self.tokens.left_out:
            return "not in the vocabulary"
        inside = (offsets[:, 0] < word.end) & (offsets[:, 1] > word.start)
        if self._first_only and inside.any():
            behind_mark = np.isin(np.flatnonzero(inside), self._lone_marks + 1).any()
            reason = "only the mark before it is kept" if behind_mark else "not the start of a word"
            return f"{reason} (subwords=first)"
        return "no separate token"

    def notes(self, label: str) -> list[str]:
        """Notes on truncation, windows, sub-words and unknown tokens."""
        tokens, notes = self.tokens, []
        if tokens.cut:
            notes.append(f"{tokens.cut} tokens beyond the limit of {self.prepared.tokenized.limit} were truncated")
        if tokens.windows is not None:
            notes.append(f"{len(tokens)} tokens were encoded in {len(tokens.windows.cut(len(tokens)))} windows")
        if self._first_only and (later := int((~tokens.starts_word).sum())):
            notes.append(f"{later} sub-words after the first of a word were left out (subwords=first)")
        if self._first_only and (marks := len(self._lone_marks)):
            words = f"{marks} word{'s' * (marks > 1)}"
            notes.append(f"only the space mark of {words} was kept; use subwords=all to keep the text")
        if tokens.unknown:
            notes.append(f"{tokens.unknown} words or sub-words are unknown to the model")
        return [f"{label}: {note}" for note in notes]


#: Maximum number of players for exact values (1,024 coalitions).
MOST_EXACT = 10

#: Turns coalitions (one per row, True for its players) into their values.
Game: TypeAlias = Callable[[NDArray[np.bool_]], Vector]


class Shapley(NamedTuple):
    """Shapley values, one per player."""

    values: Vector
    error: Vector | None
    """Standard errors; None if the values are exact."""
    total: float
    """Value of all players minus value of the empty coalition."""


def shapley_values(players: int, game: Game, *, samples: int = 25, seed: int = 12345) -> Shapley:
    """Compute exact values for few players, else means over `samples` random orders (at least 2).

    >>> shapley_values(2, lambda rows: rows.sum(axis=1) * 2.0).values.tolist()
    [2.0, 2.0]
    """
    return _exact_values(players, game) if players <= MOST_EXACT else _sample_values(players, game, samples, seed)


def _exact_values(players: int, game: Game) -> Shapley:
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


def _sample_values(players: int, game: Game, samples: int, seed: int) -> Shapley:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(players) for _ in range(samples)]
    rows = np.zeros((samples, players + 1, players), dtype=np.bool_)
    for sample, order in enumerate(orders):
        for position, player in enumerate(order):
            rows[sample, position + 1 :, player] = True
    distinct, back = np.unique(rows.reshape(-1, players), axis=0, return_inverse=True)
    worth = game(distinct)[back.reshape(samples, players + 1)]
    added = np.empty((samples, players))
    for sample, order in enumerate(orders):
        added[sample, order] = np.diff(worth[sample])
    error = added.std(axis=0, ddof=1) / math.sqrt(samples)
    return Shapley(added.mean(axis=0), error, float(worth[0, -1]) - float(worth[0, 0]))


#: Maximum number of words for Shapley values; each sampled order scores as many texts.
MOST_WORDS = 200


def without_words(text: str, words: Sequence[WordSpan], kept: NDArray[np.bool_]) -> str:
    """Remove words from a text; kept words have the white space before them, and are never joined.

    >>> without_words("A cat sat.", split_words("A cat sat."), np.array([True, False, True, True]))
    'A sat.'
    """
    result, end, kept_end = "", 0, 0
    for word, keep in zip(words, kept.tolist(), strict=True):
        if keep:
            gap = text[end : word.start]
            removed = text[kept_end:end]
            if not gap and result[-1:].isalnum() and word.text[0].isalnum() and any(map(str.isspace, removed)):
                gap = " "  # "a (big" without the bracket
            result += gap + word.text
            kept_end = word.end
        end = word.end
    return result.strip()


def variants(prepared: Prepared, index: int, side: Side, texts: Sequence[str]) -> Corpus:
    """Make a corpus with copies of a segment, one per text, which replaces the hypothesis or the other text.

    Idf tables are those of the run; they are not counted again.
    """
    tables: dict[Hashable, Mapping[str, Any]] = {
        (entry.metric.encoding, entry.metric.against): entry.tokenized.memo for entry in prepared.compared.values()
    }
    whole = WholeCorpus(prepared.corpus.reference_count, tables)
    corpus = replace(prepared.corpus.take([index] * len(texts)), idf_documents={}, whole=whole)
    if side == "hypothesis":
        return replace(corpus, systems=dict.fromkeys(corpus.systems, texts))
    return replace(corpus, references=[(text,) for text in texts])


def explained_metric(prepared: Prepared) -> Metric:
    """The metric of an explanation: the first recipe, with windows if it reads long texts in windows."""
    metric = prepared.recipes[0].metric
    return metric if isinstance(metric, CompositeMetric) else prepared.metrics[0].metric


@dataclass(frozen=True, eq=False)
class MaskedText:
    """Scores a segment with words of one text left out."""

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
        """The component to explain."""
        return self.options.component_of(explained_metric(self.prepared))

    def score(self, kept: NDArray[np.bool_]) -> Vector:
        """Score the text for each row of kept words; the complete text is scored unchanged, with its white space."""
        texts = [self.text if row.all() else without_words(self.text, self.words, row) for row in kept]
        metric = explained_metric(self.prepared)
        if getattr(metric, "unknown", "") == "error":
            metric = metric.with_options(unknown="score")  # a variant may have only unknown words
        corpus = variants(self.prepared, self.index, self.options.side, texts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NlgaugeWarning)  # warnings about variants do not concern the user
            run = replace(self.prepared.options, alignments=False, progress=False, empty="zero")
            (score,) = run_metrics([metric], corpus, run)
        return np.array(score.segments[self.component])

    def leave_one_out(self) -> Attribution:
        """Score of the text minus score without each word."""
        kept = ~np.eye(len(self.words) + 1, len(self.words), k=-1, dtype=np.bool_)
        scores = self.score(kept)
        values = tuple((scores[0] - scores[1:]).tolist())
        return Attribution("leave-one-out", self.component, self.options.side, values, 0.0, None)

    def lime(self) -> tuple[Attribution, float]:
        """Coefficients of a linear surrogate of the score, and its R2."""
        options, count = self.options, len(self.words)
        surrogate = lime_values(count, self.score, neighbours=options.neighbours, seed=options.seed)
        values = tuple(surrogate.values.tolist())
        return Attribution("lime", self.component, options.side, values, 0.0, None), surrogate.fit

    def shapley(self) -> Attribution:
        """Shapley values of the words, which sum to the score minus that of the empty text."""
        options, count = self.options, len(self.words)
        if count > MOST_WORDS:
            msg = f"Shapley values are limited to texts of {MOST_WORDS} words, got {count}; use leave-one-out"
            raise InputError(msg)
        values, error, total = shapley_values(count, self.score, samples=options.samples, seed=options.seed)
        errors = None if error is None else tuple(error.tolist())
        return Attribution("shapley", self.component, options.side, tuple(values.tolist()), 0.0, total, errors)
