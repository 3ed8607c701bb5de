"""Explanations as plain data: words of both texts, links, contributions and notes; and their options."""

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

#: What stands for a word of several pieces: the worst matched one, the mean, or the first.
PIECES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "mean": lambda values: sum(values) / len(values),
    "first": lambda values: values[0],
}


@dataclass(frozen=True, eq=False)
class WordView:
    """Which words each point stands for.

    A point divides what it has equally among its tokens, and a token among the words that it covers, by characters:
    a piece may reach over the end of a word, and an n-gram stands for several. Sums over points are sums over words,
    but for points that stand nowhere in the text, such as [CLS].
    """

    words: tuple[WordSpan, ...]
    shares: tuple[dict[int, float], ...]
    """For each point the words it stands for, and the share of each; the shares sum to 1, or there are none."""

    @classmethod
    def of(cls, words: Sequence[WordSpan], points: Sequence[PointSpans]) -> WordView:
        """The words of a text, and where its points stand."""
        ends = [word.end for word in words]
        return cls(tuple(words), tuple(_shares(words, ends, spans) for spans in points))

    def spread(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Values of points as sums over words, and the sum of what belongs to no word."""
        sums, rest = np.zeros(len(self.words)), 0.0
        for value, shares in zip(values.tolist(), self.shares, strict=True):
            for word, share in shares.items():
                sums[word] += share * value
            rest += 0.0 if shares else value
        return sums, rest

    def reduce(self, errors: NDArray[np.float64], counted: NDArray[np.bool_], rule: str) -> list[float | None]:
        """For each word what stands for its pieces, of those that count; None where none does."""
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
    """Words that a span covers, with the number of characters; words are in order, so the first is searched for."""
    start, end = span
    overlaps = {}
    for number in range(bisect_right(ends, start), len(words)):
        word = words[number]
        if word.start >= end:
            break
        overlaps[number] = min(end, word.end) - max(start, word.start)
    return overlaps


def lowered_spans(text: str, spans: Sequence[PointSpans]) -> tuple[PointSpans, ...]:
    """Places in `text` of spans that were found in `text.lower()`, which may be longer (as of a dotted capital I)."""
    lowered = [len(char.lower()) for char in text]
    if all(size == 1 for size in lowered):
        return tuple(spans)
    origin = [place for place, size in enumerate(lowered) for _ in range(size)]
    return tuple(tuple((origin[start], origin[end - 1] + 1) for start, end in point) for point in spans)


Side: TypeAlias = Literal["hypothesis", "reference"]
SIDES: tuple[Side, Side] = ("hypothesis", "reference")

#: How one score is made of several references: that of the best, the mean, or by reading all of them at once.
ReferenceRule: TypeAlias = Literal["best", "mean", "together"]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(OptionSet):
    """What is computed, and how words are made."""

    called: ClassVar[str] = "options of an explanation"

    words: str = option(
        "words",
        Choice(*WORD_RULES),
        help="words end at blanks and punctuation (words), or at blanks only",
        hidden=True,
    )
    pieces: str = option(
        "max",
        Choice(*PIECES),
        help="score of a word of several pieces: that of the worst matched piece (max), the mean, or the first",
        hidden=True,
    )
    shapley: bool | None = option(None, Flag(), help="Shapley values", unset="where the score is no sum over words")
    leave_one_out: bool = option(False, Flag(), help="what the score loses without each word")
    side: Side = option(
        "hypothesis",
        Choice("hypothesis", "reference"),
        help="text whose words are left out; the reference may be the source",
    )
    component: str | None = option(
        None, Text("a component"), help="component to explain", unset="the main one", hidden=True
    )
    samples: int = option(
        25, Int(2), help="orders of words to sample, for texts of more than ten words", hidden=True, limit=1000
    )
    seed: int = seed_option()
    beside: bool = option(False, Flag(), help="the other kind of alignment too, greedy or transport")
    matrix: bool = option(False, Flag(), help="similarity, or cost, of each word to each word", hidden=True)

    def component_of(self, metric: Metric) -> str:
        """The component that words are left out for."""
        if self.component is None:
            return metric.main
        if self.component not in metric.components:
            msg = f"{metric.name} has no component {self.component!r}; it has {', '.join(metric.components)}"
            raise RecipeError(msg)
        return self.component


class Word(NamedTuple):
    """A word of a text."""

    text: str
    start: int
    """Place of its first character."""
    end: int
    weight: float
    """Its share of what all tokens of the text weigh."""
    similarity: float | None
    """To what it was matched with, where tokens are matched."""
    cost: float | None
    """Of moving a unit of its mass, where mass is moved."""
    removed: str
    """Why it does not count; empty where it does."""


class WordedText(NamedTuple):
    """A text with its words."""

    text: str
    words: tuple[Word, ...] = ()


class Link(NamedTuple):
    """A word beside a word of the other text; None is a special token such as [CLS]."""

    kind: Literal["forward", "backward", "flow"]
    """forward: the best match of a hypothesis word; backward: that of a reference word; flow: mass that moves."""
    hypothesis: int | None
    reference: int | None
    weight: float
    """Share of the weight of the text that is matched, or mass that moves."""
    similarity: float | None
    cost: float | None


class Attribution(NamedTuple):
    """What each word of a text has to do with a number."""

    kind: Literal["linear", "shapley", "leave-one-out"]
    """linear: its summand; shapley: its Shapley value; leave-one-out: what the score loses without it."""
    of: str
    """precision, recall, cost, or a component of the score."""
    side: Side
    values: tuple[float, ...]
    """One per word."""
    rest: float
    """What special tokens contribute, which are no words."""
    total: float | None
    """What all sum to: the number itself, or score minus score of the empty text; None for leave-one-out."""
    error: tuple[float, ...] | None = None
    """Standard error of each value, where it was sampled."""


class SeveralReferences(NamedTuple):
    """How the score comes from several references, of which one is shown."""

    rule: ReferenceRule
    number: int
    """How many there are."""
    shown: int
    """From 0."""
    scores: tuple[float, ...]
    """The main component against each alone; none where the score is that of the reference shown, or unknown."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Why one hypothesis got its score.

    `links` is the alignment of the metric itself; `beside` is the other kind on the same vectors, where it was asked
    for: the transport beside greedy matches, or the greedy matches beside a transport.
    """

    format = "nlgauge-explanation-1"
    computed = ("score", "sentence")
    unwritten = ("alignment", "views")
    optional = ("matrix",)

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
    """What was removed, fell back, or cannot be explained."""
    references: SeveralReferences | None = None
    """None for a single one."""
    matrix: NDArray[np.float64] | None = None
    """Similarity, or cost, of each word to each word of the other text, where it was asked for (`matrix=True`)."""
    alignment: Alignment | Flow | None = None
    """Of tokens, as the metric made it; not in JSON."""
    views: tuple[WordView, WordView] | None = None
    """How tokens of hypothesis and reference belong to words; not in JSON."""

    @property
    def score(self) -> float:
        """The main component."""
        return self.scores[self.main]

    @property
    def sentence(self) -> str:
        """The explanation in words."""
        from nlgauge.studies.explain.rendering import describe

        return describe(self)

    def words(self, side: Side) -> tuple[Word, ...]:
        """The words of a text."""
        return self.hypothesis.words if side == "hypothesis" else self.reference.words

    def label(self, side: Side) -> str:
        """What a text is called: the reference may be the source."""
        return self.against if side == "reference" else side

    def attribution(
        self, *, of: str | None = None, side: Side = "hypothesis", kind: str | None = None
    ) -> Attribution:
        """The first attribution of that kind; an error names those there are."""
        for part in self.attributions:
            if part.side == side and of in (None, part.of) and kind in (None, part.kind):
                return part
        there = ", ".join(f"{part.kind} {part.of} ({part.side})" for part in self.attributions) or "none"
        asked = " ".join(text for text in (kind, of) if text) or "attribution"
        msg = f"this explanation has no {asked} of the {side}; there are: {there}"
        raise InputError(msg)

    def error_scores(self, side: Side = "hypothesis") -> NDArray[np.float64]:
        """How likely each word is an error, by its match: 1 - similarity, or cost; 0 where it does not count."""
        if self.alignment is None:
            msg = f"{self.metric} has no alignment of this pair, so no errors by match; use leave-one-out or shapley"
            raise InputError(msg)
        return np.array([error_of(word) or 0.0 for word in self.words(side)])

    def word_matrix(self) -> NDArray[np.float64] | None:
        """Similarity, or cost, of each word to each word of the other text: that of their nearest tokens.

        NaN where a word has no token; None where the metric compares no tokens.
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
        """Text and Markdown have the sentence and both texts above the tables; `colour` is for text."""
        if form not in ("text", "markdown"):
            return super().render(form, decimals=decimals)
        from nlgauge.studies.explain.rendering import render_markdown, render_text

        width = self.decimals if decimals is None else decimals
        return render_text(self, width, colour=colour) if form == "text" else render_markdown(self, width)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per word: as text and Markdown a table for each of the two texts, else one for both."""
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
        """The signature of all of them, which were scored together; None without any."""
        return self.explanations[0].signature if self.explanations else None

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """Text and Markdown have one explanation below the other."""
        if form not in ("text", "markdown"):
            return super().render(form, decimals=decimals)
        return "\n".join(explanation.render(form, decimals=decimals) for explanation in self)

    def tables(self, form: str = "text") -> list[Table]:
        """The tables of each."""
        return [table for explanation in self for table in explanation.tables(form)]


def error_of(match: Word | Link) -> float | None:
    """How badly a word was matched: 1 - similarity, or cost; None where it was not."""
    return match.cost if match.similarity is None else 1 - match.similarity
