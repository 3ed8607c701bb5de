"""Explanations as plain data (words of both texts, links, contributions and notes), and their options."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Flag, Int, Text
from nlgauge.core.metric import Metric
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import Table
from nlgauge.text.words import WORD_RULES, WordSpan
from nlgauge.vectors.cloud import Alignment, Flow, PointSpans

#: How to combine the errors of sub-words: the worst match, the mean, or the first.
PIECES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "mean": lambda values: sum(values) / len(values),
    "first": lambda values: values[0],
}


@dataclass(frozen=True, eq=False)
class WordView:
    """Mapping of points (tokens or n-grams) to words.

    The value of a point is divided equally among its tokens, and that of a token among the words that it covers, by
    characters: a sub-word may extend beyond the end of a word, and an n-gram covers several words. Sums over points
    equal sums over words, except for points without a position in the text, such as [CLS].
    """

    words: tuple[WordSpan, ...]
    shares: tuple[dict[int, float], ...]
    """Words of each point, with the share of each; shares sum to 1, or there are none."""

    @classmethod
    def of(cls, words: Sequence[WordSpan], points: Sequence[PointSpans]) -> WordView:
        """Map points to words by their positions in the text."""
        ends = [word.end for word in words]
        return cls(tuple(words), tuple(_shares(words, ends, spans) for spans in points))

    def spread(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Sum the values of points by word; also return the sum of points without a word."""
        sums, rest = np.zeros(len(self.words)), 0.0
        for value, shares in zip(values.tolist(), self.shares, strict=True):
            for word, share in shares.items():
                sums[word] += share * value
            rest += 0.0 if shares else value
        return sums, rest

    def reduce(self, errors: NDArray[np.float64], counted: NDArray[np.bool_], rule: str) -> list[float | None]:
        """Combine the errors of the counted points of each word by a rule; None for words without one."""
        of_word: list[list[float]] = [[] for _ in self.words]
        for error, counts, shares in zip(errors.tolist(), counted.tolist(), self.shares, strict=True):
            if counts:
                for word in shares:
                    of_word[word].append(error)
        reduce = PIECES[rule]
        return [reduce(values) if values else None for values in of_word]


def _shares(words: Sequence[WordSpan], ends: Sequence[int], spans: PointSpans) -> dict[int, float]:
    shares: dict[int, float] = {}
    placed = [overlaps for span in spans if (overlaps := _overlaps(words, ends, span))]
    for overlaps in placed:
        total = sum(overlaps.values())
        for word, size in overlaps.items():
            shares[word] = shares.get(word, 0.0) + size / total / len(placed)
    return shares


def _overlaps(words: Sequence[WordSpan], ends: Sequence[int], span: tuple[int, int]) -> dict[int, int]:
    """Words that a span covers, with the number of characters; words must be in order."""
    start, end = span
    overlaps = {}
    for number in range(bisect_right(ends, start), len(words)):
        word = words[number]
        if word.start >= end:
            break
        overlaps[number] = min(end, word.end) - max(start, word.start)
    return overlaps


def original_spans(text: str, spans: Sequence[PointSpans]) -> tuple[PointSpans, ...]:
    """Convert spans in `text.lower()`, which may be longer (dotted capital I), to spans in `text`."""
    lowered = [len(char.lower()) for char in text]
    if all(size == 1 for size in lowered):
        return tuple(spans)
    origin = [position for position, size in enumerate(lowered) for _ in range(size)]
    return tuple(tuple((origin[start], origin[end - 1] + 1) for start, end in point) for point in spans)


Side: TypeAlias = Literal["hypothesis", "reference"]
SIDES: tuple[Side, Side] = ("hypothesis", "reference")

#: How several references give one score: the best, the mean, or all references used together.
ReferenceRule: TypeAlias = Literal["best", "mean", "together"]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(OptionSet):
    """What to compute, and how to split words."""

    called: ClassVar[str] = "options of an explanation"

    words: str = option(
        "words",
        Choice(*WORD_RULES),
        help="how to split words: at spaces and punctuation (words), or at spaces (blanks)",
        hidden=True,
    )
    pieces: str = option(
        "max",
        Choice(*PIECES),
        help="how to combine the scores of sub-words: worst match (max), mean or first",
        hidden=True,
    )
    shapley: bool | None = option(
        None,
        Flag(),
        help="compute Shapley values of words",
        unset="only for metrics that do not add up word scores, such as bleu",
    )
    leave_one_out: bool = option(False, Flag(), help="compute how much the score drops without each word")
    lime: bool = option(False, Flag(), help="compute LIME: coefficients of a linear surrogate of the score")
    side: Side = option(
        "hypothesis",
        Choice("hypothesis", "reference"),
        help="text whose words are left out (reference: also the source)",
    )
    component: str | None = option(
        None, Text("a component"), help="component to explain", unset="the main component", hidden=True
    )
    samples: int = option(
        25, Int(2), help="number of sampled word orders, for texts of more than ten words", hidden=True, limit=1000
    )
    neighbours: int = option(
        500, Int(2), help="number of texts with random words left out, for LIME", hidden=True, limit=5000
    )
    seed: int = seed_option()
    beside: bool = option(False, Flag(), help="show the other alignment as well, greedy or transport")
    matrix: bool = option(False, Flag(), help="show the similarity or cost of all word pairs", hidden=True)

    def component_of(self, metric: Metric) -> str:
        """The component to explain."""
        if self.component is None:
            return metric.main
        if self.component not in metric.components:
            msg = f"{metric.name} has no component {self.component!r}; it has {', '.join(metric.components)}"
            raise RecipeError(msg)
        return self.component


class Word(NamedTuple):
    """A word of a text, with its match."""

    text: str
    start: int
    """Position of its first character."""
    end: int
    weight: float
    """Its share of the weight of all tokens of the text."""
    similarity: float | None
    """Similarity to its match, if tokens are matched."""
    cost: float | None
    """Cost of moving a unit of its mass, if mass is moved."""
    removed: str
    """Why the word is not counted; empty if it is."""


class WordedText(NamedTuple):
    """A text with its words."""

    text: str
    words: tuple[Word, ...] = ()


class Link(NamedTuple):
    """A link from a word to a word of the other text; None is a special token such as [CLS]."""

    kind: Literal["forward", "backward", "flow"]
    """forward: the best match of a hypothesis word; backward: that of a reference word; flow: mass that moves."""
    hypothesis: int | None
    reference: int | None
    weight: float
    """Matched share of the weight of the text, or mass that moves."""
    similarity: float | None
    cost: float | None


class Attribution(NamedTuple):
    """Contribution of each word of a text to a number."""

    kind: Literal["linear", "shapley", "leave-one-out", "lime"]
    """linear: its summand; shapley: its Shapley value; leave-one-out: the score drop without the word; lime: its
    coefficient in a linear surrogate of the score."""
    of: str
    """precision, recall, cost, or a component of the score."""
    side: Side
    values: tuple[float, ...]
    """One per word."""
    rest: float
    """Contribution of special tokens, which are not words."""
    total: float | None
    """Sum of all: the number itself, or score minus score of the empty text; None for leave-one-out and lime."""
    error: tuple[float, ...] | None = None
    """Standard error of each value, if it was sampled."""


class MemberShare(NamedTuple):
    """What a member adds to the score of a learned metric."""

    member: str
    """Its recipe."""
    score: float
    """Its main component for this pair."""
    contribution: float
    """Its summand; a weight times its score, standardised."""


class SeveralReferences(NamedTuple):
    """How several references give the score, and which reference is shown."""

    rule: ReferenceRule
    number: int
    """Number of references."""
    shown: int
    """Index of the reference shown, from 0."""
    scores: tuple[float, ...]
    """Main component against each reference; empty if the score is that of the reference shown, or unknown."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Explanation of the score of one hypothesis.

    `links` is the alignment of the metric; `beside` is the other kind on the same vectors, if requested: transport
    instead of greedy matches, or greedy matches instead of transport.
    """

    format = "nlgauge-explanation-1"
    computed = ("score", "sentence")
    unwritten = ("alignment", "views")
    optional = ("matrix", "members")

    metric: str
    against: Literal["reference", "source"]
    main: str
    higher_is_better: bool
    scores: Mapping[str, float]
    """By component."""
    signature: Signature
    hypothesis: WordedText
    reference: WordedText
    """The text that the hypothesis is compared with: the best reference, or the source."""
    links: tuple[Link, ...] = ()
    beside: tuple[Link, ...] = ()
    attributions: tuple[Attribution, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes on removed tokens, fallbacks, and parts that cannot be explained."""
    references: SeveralReferences | None = None
    """None for a single reference."""
    members: tuple[MemberShare, ...] | None = None
    """Contributions of the members of a learned metric; with its intercept, they sum to the score."""
    matrix: NDArray[np.float64] | None = None
    """Similarity or cost of all word pairs, if requested (`matrix=True`)."""
    alignment: Alignment | Flow | None = None
    """Token alignment of the metric; not in JSON."""
    views: tuple[WordView, WordView] | None = None
    """Mapping of tokens to words, for hypothesis and reference; not in JSON."""

    @property
    def score(self) -> float:
        """The main component."""
        return self.scores[self.main]

    @property
    def sentence(self) -> str:
        """The explanation as a sentence."""
        from nlgauge.studies.explain.rendering import describe

        return describe(self)

    def words(self, side: Side) -> tuple[Word, ...]:
        """The words of a text."""
        return self.hypothesis.words if side == "hypothesis" else self.reference.words

    def label(self, side: Side) -> str:
        """Name of a text: the reference may be the source."""
        return self.against if side == "reference" else side

    def attribution(
        self, *, of: str | None = None, side: Side = "hypothesis", kind: str | None = None
    ) -> Attribution:
        """The first attribution of a kind; if there is none, the error lists those available."""
        for part in self.attributions:
            if part.side == side and of in (None, part.of) and kind in (None, part.kind):
                return part
        available = ", ".join(f"{part.kind} {part.of} ({part.side})" for part in self.attributions) or "none"
        wanted = " ".join(text for text in (kind, of) if text) or "attribution"
        msg = f"this explanation has no {wanted} of the {side}; available: {available}"
        raise InputError(msg)

    def error_scores(self, side: Side = "hypothesis") -> NDArray[np.float64]:
        """Error score of each word by its match: 1 - similarity, or cost; 0 for words that are not counted."""
        if self.alignment is None:
            msg = f"{self.metric} does not align words of this pair; use method leave-one-out, shapley or lime"
            raise NoAlignmentError(msg)
        return np.array([error_of(word) or 0.0 for word in self.words(side)])

    def word_matrix(self) -> NDArray[np.float64] | None:
        """Similarity or cost of all word pairs: that of their nearest tokens.

        NaN for words without a token; None if the metric does not compare tokens.
        """
        if self.matrix is not None or self.alignment is None or self.views is None:
            return self.matrix
        greedy = isinstance(self.alignment, Alignment)
        values = self.alignment.similarity if isinstance(self.alignment, Alignment) else self.alignment.cost
        if values is None:
            return None
        rows, columns = self.views
        matrix = np.full((len(rows.words), len(columns.words)), np.nan)
        best = np.fmax if greedy else np.fmin
        for point, of_row in enumerate(rows.shares):
            for other, of_column in enumerate(columns.shares):
                for i in of_row:
                    for j in of_column:
                        matrix[i, j] = best(matrix[i, j], values[point, other])
        return matrix

    def render(self, form: str = "text", *, decimals: int | None = None, colour: bool = False) -> str:
        """Text and Markdown have the sentence and both texts above the tables; `colour` only affects text."""
        if form not in ("text", "markdown"):
            return super().render(form, decimals=decimals)
        from nlgauge.studies.explain.rendering import render_markdown, render_text

        width = self.decimals if decimals is None else decimals
        return render_text(self, width, colour=colour) if form == "text" else render_markdown(self, width)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per word: in text and Markdown a table for each text, else one table for both."""
        from nlgauge.studies.explain.rendering import joint_table, word_tables

        return word_tables(self) if form in ("text", "markdown") else [joint_table(self)]

    def figure(self, *, kind: Literal["flow", "heat-map"] = "flow", title: str = "") -> Any:
        """Two lines of words with their links, or a heat map of all words; the title is the metric with its score."""
        from nlgauge.studies.explain.rendering import draw

        return draw(self, kind, title or f"{self.metric}: {self.main} {self.score:.3f}")

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}={value:.4f}" for name, value in self.scores.items())
        counts = f"{len(self.links)} links, {len(self.attributions)} attributions"
        return f"<explanation of {self.metric}: {scores}; {counts}>"


@dataclass(frozen=True, eq=False)
class Explanations(Result, Sequence[Explanation]):
    """Explanations of several pairs, in their order."""

    format = "nlgauge-explanations-1"

    explanations: tuple[Explanation, ...]

    @overload
    def __getitem__(self, index: int) -> Explanation: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Explanation]: ...

    def __getitem__(self, index: int | slice) -> Explanation | Sequence[Explanation]:
        return self.explanations[index]

    def __len__(self) -> int:
        return len(self.explanations)

    @property
    def signature(self) -> Signature | None:
        """The signature, which all explanations share; None if there are no explanations."""
        return self.explanations[0].signature if self.explanations else None

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """Text and Markdown contain all explanations, one after the other."""
        if form not in ("text", "markdown"):
            return super().render(form, decimals=decimals)
        return "\n".join(explanation.render(form, decimals=decimals) for explanation in self)

    def tables(self, form: str = "text") -> list[Table]:
        """The tables of all explanations."""
        return [table for explanation in self for table in explanation.tables(form)]


class NoAlignmentError(InputError):
    """A metric that does not align words was asked for the match of a word."""


def error_of(match: Word | Link) -> float | None:
    """Error of a match: 1 - similarity, or cost; None if the word was not matched."""
    return match.cost if match.similarity is None else 1 - match.similarity
