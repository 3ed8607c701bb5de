"""Explanations as plain data: words of both texts, links, contributions, notes; and an explanation as a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.records import to_plain
from nlgauge.core.result import Result
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.table import Table
from nlgauge.studies.explain.word_level import WordView
from nlgauge.text.annotation import AnnotatedText, Annotator
from nlgauge.vectors.cloud import ORIGIN, Alignment, Flow


def annotate_each(annotator: Annotator, texts: Sequence[str]) -> dict[str, AnnotatedText | None]:
    """By distinct text; None for one that the annotator refuses. Where it refuses all of them, it says why."""
    distinct = list(dict.fromkeys(texts))
    found = dict(zip(distinct, _annotations(annotator, distinct), strict=True))
    if distinct and all(one is None for one in found.values()):
        annotator.annotate(distinct[:1])
    return found


def _annotations(annotator: Annotator, texts: Sequence[str]) -> list[AnnotatedText | None]:
    """In one go, because annotators work in batches; what holds a refused text is halved until that stands alone."""
    try:
        return list(annotator.annotate(texts))
    except InputError:
        if len(texts) < 2:
            return [None] * len(texts)
        middle = len(texts) // 2
        return [*_annotations(annotator, texts[:middle]), *_annotations(annotator, texts[middle:])]


#: Words that a sentence names.
_MOST_NAMED = 3

#: Costs below this are written as 0.000.
_NO_COST = 5e-4

#: Of all weight, what a word must have to be named; and of a cost, what a move must cost.
_LEAST_SHARE = 0.02


def in_words(explanation: Explanation) -> str:
    """What the score is, and what did most for or against it."""
    parts = [_head(explanation), _of_references(explanation)]
    if bare := _nothing_left(explanation):
        parts.append(bare)  # that special tokens move to special tokens says nothing of the texts
    elif any(link.kind == "flow" for link in explanation.links):
        parts.append(_costly_moves(explanation))
    else:
        parts += [_weak_matches(explanation, "forward"), _weak_matches(explanation, "backward")]
    parts += [_strongest(explanation, one) for one in explanation.attributions if one.kind != "linear"]
    return " ".join(part for part in parts if part)


def _head(explanation: Explanation) -> str:
    rest = [f"{name} {value:.3f}" for name, value in explanation.scores.items() if name != explanation.main]
    more = f" ({', '.join(rest)})" if rest else ""
    better = "" if explanation.higher_is_better else ", lower is better"
    name = "" if explanation.main in ("score", explanation.metric) else f" {explanation.main}"
    return f"{explanation.metric}{name} is {explanation.score:.3f}{more}{better}."


def _of_references(explanation: Explanation) -> str:
    """Where the score is not that of the reference shown: how it was made, and what each reference gives."""
    found = explanation.references
    if found is None or found.rule == "best":
        return ""
    each = _listed([f"{value:.3f}" for value in found.scores])
    if found.rule == "mean":
        values, own = (f" ({each})", f", with {found.scores[found.shown]:.3f}") if each else ("", "")
        return f"That is the mean over {found.number} references{values}; shown here is the best of them{own}."
    alone = f"; against each alone it is {each}" if each else ""
    count = "both" if found.number == 2 else f"all {found.number}"
    return f"It reads {count} references at once{alone}; shown here is the first."


def _nothing_left(explanation: Explanation) -> str:
    """Texts of which no word counts, so that special tokens stand for them."""
    sides: tuple[Side, Side] = ("hypothesis", "reference")
    bare = [side for side in sides if all(word.removed for word in explanation.words(side))]
    if not explanation.links or not bare:
        return ""
    names = [explanation.against if side == "reference" else side for side in bare]
    reasons = dict.fromkeys(word.removed for side in bare for word in explanation.words(side))
    whose = "either text" if len(bare) == 2 else f"the {names[0]}"
    return (
        f"No word of {whose} counts ({', '.join(reasons)}): special tokens such as [CLS] "
        f"stand for {'both' if len(bare) == 2 else 'it'}, so the score says little of the texts."
    )


def _costly_moves(explanation: Explanation) -> str:
    moves = [link for link in explanation.links if link.kind == "flow" and link.cost is not None]
    total = sum(link.weight * (link.cost or 0.0) for link in moves)
    if total < _NO_COST:
        return "Nothing has to move: the words that count are the same." if moves else ""
    costliest = sorted(moves, key=lambda link: -link.weight * (link.cost or 0.0))[:_MOST_NAMED]
    named = [
        f"{_pair(explanation, link)} {link.weight * (link.cost or 0.0) / total:.0%}"
        for link in costliest
        if link.weight * (link.cost or 0.0) > _LEAST_SHARE * total
    ]
    return f"Costliest moves, by their share of the cost {total:.3f}: {', '.join(named)}." if named else ""


def _weak_matches(explanation: Explanation, kind: str) -> str:
    matches = _word_matches(explanation, kind)
    if not matches:
        return ""
    if all(match.similarity > 1 - 1e-3 for match in matches):
        return "Every word has an exact match." if kind == "forward" else ""
    mean = sum(match.weight * match.similarity for match in matches) / sum(match.weight for match in matches)
    below = [match for match in matches if match.similarity <= mean]
    named = [match for match in below if match.weight >= _LEAST_SHARE] or below
    weakest = sorted(named, key=lambda match: match.similarity)[:_MOST_NAMED]
    whose = "hypothesis" if kind == "forward" else explanation.against
    texts = [f"{match.word} to {' and '.join(match.partners)} {match.similarity:.2f}" for match in weakest]
    return f"Weakest matches of the {whose}: {', '.join(texts)}."


class _WordMatch(NamedTuple):
    """A word with all that its pieces were matched with."""

    word: str
    partners: tuple[str, ...]
    """Words of the other text, heaviest link first; of equal weight the most similar."""
    weight: float
    similarity: float
    """Mean over its pieces, by weight."""


def _word_matches(explanation: Explanation, kind: str) -> list[_WordMatch]:
    """Each word once: pieces of one word may have matches in several words, but a reader sees one word."""
    side: Side = "hypothesis" if kind == "forward" else "reference"
    other: Side = "reference" if kind == "forward" else "hypothesis"
    by_word: dict[int | None, list[Link]] = {}
    for link in explanation.links:
        if link.kind == kind and link.similarity is not None and link.weight > 0:
            by_word.setdefault(getattr(link, side), []).append(link)
    matches = []
    for number, links in by_word.items():
        weight = sum(link.weight for link in links)
        similarity = sum(link.weight * (link.similarity or 0.0) for link in links) / weight
        ordered = sorted(links, key=lambda link: (-link.weight, -(link.similarity or 0.0)))
        # Two places of one word, such as 'the', are one name.
        partners = tuple(dict.fromkeys(_named(explanation, other, getattr(link, other)) for link in ordered))
        matches.append(_WordMatch(_named(explanation, side, number), partners, weight, similarity))
    return matches


def _pair(explanation: Explanation, link: Link) -> str:
    hypothesis = _named(explanation, "hypothesis", link.hypothesis)
    return f"{hypothesis} to {_named(explanation, 'reference', link.reference)}"


def _named(explanation: Explanation, side: Side, number: int | None) -> str:
    if number is not None:
        return f"'{explanation.words(side)[number].text}'"
    points = () if explanation.alignment is None else getattr(explanation.alignment, f"{side}_tokens")
    return "nothing" if ORIGIN in points[-1:] else "a special token"


def _strongest(explanation: Explanation, one: Attribution) -> str:
    words = explanation.words(one.side)
    up = [number for number in sorted(range(len(words)), key=lambda n: -one.values[n]) if one.values[number] > 0]
    down = [number for number in sorted(range(len(words)), key=lambda n: one.values[n]) if one.values[number] < 0]
    name = "the score" if one.of == "score" else one.of
    texts: list[str] = []
    for verb, chosen in (("raise", up), ("lower", down)):
        if chosen:
            named = _listed(
                [f"'{words[number].text}' ({one.values[number]:+.3f})" for number in chosen[:_MOST_NAMED]]
            )
            most = " most" if len(chosen) > _MOST_NAMED else ""
            texts.append(f"{named} {verb}{'s' if len(chosen) == 1 else ''} {'it' if texts else name}{most}")
    how = {"shapley": "By Shapley values", "leave-one-out": "Judged by leaving out one word at a time"}[one.kind]
    return f"{how}, {', and '.join(texts)}." if texts else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


Side: TypeAlias = Literal["hypothesis", "reference"]

#: How one score is made of several references: that of the best, the mean, or by reading all of them at once.
ReferenceRule: TypeAlias = Literal["best", "mean", "together"]


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
        return in_words(self)

    def words(self, side: Side) -> tuple[Word, ...]:
        """The words of a text."""
        return self.hypothesis.words if side == "hypothesis" else self.reference.words

    def attribution(
        self, *, of: str | None = None, side: Side = "hypothesis", kind: str | None = None
    ) -> Attribution:
        """The first attribution of that kind; an error names those there are."""
        for one in self.attributions:
            if one.side == side and of in (None, one.of) and kind in (None, one.kind):
                return one
        there = ", ".join(f"{one.kind} {one.of} ({one.side})" for one in self.attributions) or "none"
        asked = " ".join(text for text in (kind, of) if text) or "attribution"
        msg = f"this explanation has no {asked} of the {side}; there are: {there}"
        raise InputError(msg)

    def error_scores(self, side: Side = "hypothesis") -> NDArray[np.float64]:
        """How likely each word is an error, by its match: 1 - similarity, or cost; 0 where it does not count."""
        if self.alignment is None:
            msg = f"{self.metric} has no alignment of this pair, so no errors by match; use leave-one-out or shapley"
            raise InputError(msg)
        return np.array([_error(word) for word in self.words(side)])

    def matrix(self) -> NDArray[np.float64] | None:
        """Similarity, or cost, of each word to each word of the other text: that of their nearest tokens.

        NaN where a word has no token; None where the metric compares no tokens.
        """
        if self.alignment is None or self.views is None:
            return None
        greedy = isinstance(self.alignment, Alignment)
        values = self.alignment.similarity if isinstance(self.alignment, Alignment) else self.alignment.cost
        if values is None:
            return None
        rows, columns = self.views
        found = np.full((len(rows.words), len(columns.words)), np.nan)
        best = np.fmax if greedy else np.fmin
        for point, of_row in enumerate(rows.shares):
            for other, of_column in enumerate(columns.shares):
                for i in of_row:
                    for j in of_column:
                        found[i, j] = best(found[i, j], values[point, other])
        return found

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """That of the fields, and of the matrix."""
        schema = super().schema()
        schema["properties"]["matrix"] = {"type": ["array", "null"]}
        return schema

    def to_dict(self, *, matrix: bool = False) -> dict[str, Any]:
        """Plain values, ready for JSON or a page; with `matrix` also how near each word is to each other word."""
        return super().to_dict() | ({"matrix": to_plain(self.matrix())} if matrix else {})

    def render(self, form: str = "text", *, decimals: int | None = None, colour: bool = False) -> str:
        """Text and Markdown have the sentence and both texts above the tables; `colour` is for text."""
        if form not in ("text", "markdown"):
            return super().render(form, decimals=decimals)
        from nlgauge.studies.explain.explanation_tables import markdown_of, text_of

        width = self.decimals if decimals is None else decimals
        return text_of(self, width, colour=colour) if form == "text" else markdown_of(self, width)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per word: as text and Markdown a table for each of the two texts, else one for both."""
        from nlgauge.studies.explain.explanation_tables import joint_table, word_tables

        return word_tables(self) if form in ("text", "markdown") else [joint_table(self)]

    def figure(self, *, kind: Literal["flow", "heat-map"] = "flow", title: str = "") -> Any:
        """Two lines of words with their links, or a heat map of all words; the title is the metric with its score."""
        from nlgauge.studies.explain.explanation_figure import draw_flow, draw_heat_map

        return (draw_flow if kind == "flow" else draw_heat_map)(self, title=title)

    def __repr__(self) -> str:
        found = ", ".join(f"{name}={value:.4f}" for name, value in self.scores.items())
        return (
            f"<explanation of {self.metric}: {found}; {len(self.links)} links, {len(self.attributions)} attributions>"
        )


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

    def to_dict(self, *, matrix: bool = False) -> dict[str, Any]:
        """Plain values; `matrix` as of one explanation."""
        return {"format": self.format, "explanations": [row.to_dict(matrix=matrix) for row in self]}

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """Text and Markdown have one explanation below the other."""
        if form not in ("text", "markdown"):
            return super().render(form, decimals=decimals)
        return "\n".join(explanation.render(form, decimals=decimals) for explanation in self)

    def tables(self, form: str = "text") -> list[Table]:
        """The tables of each."""
        return [table for explanation in self for table in explanation.tables(form)]


def _error(word: Word) -> float:
    if word.similarity is not None:
        return 1 - word.similarity
    return 0.0 if word.cost is None else word.cost
