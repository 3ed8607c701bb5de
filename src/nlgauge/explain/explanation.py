"""What an explanation holds: words of both texts, what matched what, and what each word contributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.errors import InputError
from nlgauge.explain.sentence import in_words
from nlgauge.explain.word_view import WordView
from nlgauge.files.html import html_table
from nlgauge.recipes.signature import Signature

__all__ = ["Attribution", "Explanation", "Link", "ReferenceRule", "SeveralReferences", "Side", "Word"]

Side: TypeAlias = Literal["hypothesis", "reference"]

#: How one score is made of several references: that of the best, the mean, or by reading all of them at once.
ReferenceRule: TypeAlias = Literal["best", "mean", "together"]

_FORMAT = "nlgauge-explanation/1"


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
class Explanation:
    """Why one hypothesis got its score.

    `links` is the alignment of the metric itself; `beside` is the other kind on the same vectors, where it was asked
    for: the transport beside greedy matches, or the greedy matches beside a transport.
    """

    metric: str
    hypothesis: str
    reference: str
    """The text that the hypothesis is compared with: the best reference, or the source."""
    against: Literal["reference", "source"]
    scores: Mapping[str, float]
    """By component."""
    main: str
    higher_is_better: bool
    signature: Signature
    hypothesis_words: tuple[Word, ...]
    reference_words: tuple[Word, ...]
    links: tuple[Link, ...] = ()
    beside: tuple[Link, ...] = ()
    attributions: tuple[Attribution, ...] = ()
    notes: tuple[str, ...] = ()
    """What was removed, fell back, or cannot be explained."""
    references: SeveralReferences | None = None
    """None for a single one."""
    alignment: Alignment | Flow | None = field(default=None)
    """Of tokens, as the metric made it; not in `to_dict`."""
    views: tuple[WordView, WordView] | None = field(default=None)
    """How tokens of hypothesis and reference belong to words; not in `to_dict`."""

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
        return self.hypothesis_words if side == "hypothesis" else self.reference_words

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

    def to_dict(self, *, matrix: bool = False) -> dict[str, Any]:
        """Plain values, ready for JSON or a page: words with their places, links, contributions, notes."""
        record: dict[str, Any] = {
            "format": _FORMAT,
            "metric": self.metric,
            "against": self.against,
            "score": self.score,
            "main": self.main,
            "higher_is_better": self.higher_is_better,
            "scores": dict(self.scores),
            "signature": str(self.signature),
            "sentence": self.sentence,
            "hypothesis": {"text": self.hypothesis, "words": [word._asdict() for word in self.hypothesis_words]},
            "reference": {"text": self.reference, "words": [word._asdict() for word in self.reference_words]},
            "links": [link._asdict() for link in self.links],
            "beside": [link._asdict() for link in self.beside],
            "attributions": [_plain(one) for one in self.attributions],
            "notes": list(self.notes),
            "references": None if self.references is None else _plain_references(self.references),
        }
        if matrix:
            found = self.matrix()
            record["matrix"] = None if found is None else [[_number(x) for x in row] for row in found.tolist()]
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Explanation:
        """An explanation from what `to_dict` made of it; without the alignment of tokens, which is not in there."""
        try:
            if record["format"] != _FORMAT:
                msg = f"format of an explanation must be {_FORMAT!r}, got {record['format']!r}"
                raise InputError(msg)
            return cls(
                **{name: record[name] for name in ("metric", "against", "scores", "main", "higher_is_better")},
                hypothesis=record["hypothesis"]["text"],
                reference=record["reference"]["text"],
                signature=Signature.parse(record["signature"]),
                hypothesis_words=tuple(Word(**word) for word in record["hypothesis"]["words"]),
                reference_words=tuple(Word(**word) for word in record["reference"]["words"]),
                links=tuple(Link(**link) for link in record["links"]),
                beside=tuple(Link(**link) for link in record["beside"]),
                attributions=tuple(_attribution(one) for one in record["attributions"]),
                notes=tuple(record["notes"]),
                references=_references(record["references"]),
            )
        except (KeyError, TypeError) as error:
            msg = f"the dict is not one of Explanation.to_dict(): {error!r}"
            raise InputError(msg) from error

    def __repr__(self) -> str:
        found = ", ".join(f"{name}={value:.4f}" for name, value in self.scores.items())
        return (
            f"<explanation of {self.metric}: {found}; {len(self.links)} links, {len(self.attributions)} attributions>"
        )

    def _repr_html_(self) -> str:
        columns = ["text", "word", "weight", "similarity", "cost", "removed"]
        columns += [f"{one.kind} {one.of}" for one in self.attributions]
        rows: list[list[str | float | None]] = []
        for side in ("hypothesis", "reference"):
            label = self.against if side == "reference" else side
            for number, word in enumerate(self.words(side)):
                values = [one.values[number] if one.side == side else None for one in self.attributions]
                rows.append([label, word.text, word.weight, word.similarity, word.cost, word.removed, *values])
        return html_table(columns, rows, caption=self.sentence, notes=[*self.notes, f"signature: {self.signature}"])


def _error(word: Word) -> float:
    if word.similarity is not None:
        return 1 - word.similarity
    return 0.0 if word.cost is None else word.cost


def _plain(one: Attribution) -> dict[str, Any]:
    record = one._asdict() | {"values": list(one.values)}
    return record | {"error": None if one.error is None else list(one.error)}


def _attribution(record: Mapping[str, Any]) -> Attribution:
    error = record["error"]
    named = {**record, "values": tuple(record["values"]), "error": None if error is None else tuple(error)}
    return Attribution(**named)


def _plain_references(found: SeveralReferences) -> dict[str, Any]:
    return found._asdict() | {"scores": list(found.scores)}


def _references(record: Mapping[str, Any] | None) -> SeveralReferences | None:
    return None if record is None else SeveralReferences(**{**record, "scores": tuple(record["scores"])})


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
