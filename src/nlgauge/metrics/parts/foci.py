"""Foci of a text: what it keeps talking about, where it mentions that, and which sentences this ties together
(Zhao, Strube, Eger, "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023).

A *focus* is a noun, known by its lemma, or an entity: nouns whose word vectors are close. Its *mentions* are found in
the text and in a model's tokens. Sentences that share a focus are adjacent, the nearer they stand the more:

    A_ij = 1 / (j - i)   unweighted        A_ij = a / (j - i)   weighted, a foci shared        for i < j, else 0

A `FocusTable` has a vector for each focus of a text, a `FocusPair` what two such tables have in common.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.text.annotation import AnnotatedText
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.cloud import ORIGIN, Flow, PointSpans, unit_rows
from nlgauge.vectors.transport import check_size, squared_distances

#: How a mention is known: by the lemma that the annotator gave to a noun, or by its spelling (D6.2).
MENTIONS = ("lemma", "surface")

#: A focus is known by the lemmas of its nouns.
Entity: TypeAlias = tuple[str, ...]

#: Rows of the matrix of cosines that are looked at together, so that a long text needs no square of its words.
_BLOCK = 512


class Mention(NamedTuple):
    """A noun where it stands in a text."""

    lemma: str
    """In lower case."""
    sentence: int
    start: int
    end: int
    """Its characters: first, and the one after the last."""


def find_mentions(text: AnnotatedText, rule: str) -> list[Mention]:
    """The mentions of a text's nouns, in order.

    `surface` is the released code's rule: what stands between blanks is a mention if it is spelt as the lemma of one
    of the text's nouns. Plurals and words with a comma behind them are lost, verbs spelt as a noun are found.
    """
    if rule == "lemma":
        return [
            Mention(word.lemma.lower(), sentence, word.start, word.end)
            for sentence, word in text.nouns()
            if word.end > word.start
        ]
    lemmas = {word.lemma.lower() for _, word in text.nouns()}
    starts = [sentence.start for sentence in text.sentences]
    return [
        Mention(spelt, max(bisect_right(starts, found.start()) - 1, 0), found.start(), found.end())
        for found in re.finditer(r"\S+", text.text)
        if (spelt := found[0].lower()) in lemmas
    ]


@dataclass(frozen=True, eq=False)
class TokenPlaces:
    """The tokens of a text that stand somewhere in it, in order; special ones do not."""

    rows: NDArray[np.intp]
    """Their rows among all tokens."""
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, tokens: Tokens) -> TokenPlaces:
        """Found by their places in the text."""
        places = tokens.offsets
        rows = np.flatnonzero(~tokens.is_special & (places[:, 1] > places[:, 0]))
        return cls(rows, places[rows, 0], places[rows, 1])

    def of_mentions(self, mentions: Sequence[Mention]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For each mention its first token and the one after its last, counted in `rows`.

        Both are the same where a mention has no token: it was cut off, or a table of word vectors lacks it.
        """
        spans = np.array([(one.start, one.end) for one in mentions], dtype=np.int32).reshape(-1, 2)
        first = np.searchsorted(self.ends, spans[:, 0], side="right")
        stop = np.searchsorted(self.starts, spans[:, 1], side="left")
        return first, np.maximum(first, stop)

    def of_sentences(self, text: AnnotatedText) -> NDArray[np.intp]:
        """The number of each token's sentence: the last one that starts before it ends."""
        starts = np.array([sentence.start for sentence in text.sentences], dtype=np.int32)
        return np.maximum(np.searchsorted(starts, self.ends - 1, side="right") - 1, 0)


def sums_of_runs(
    vectors: NDArray[np.float32], first: NDArray[np.intp], stop: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Sums of the rows of each run; no run is empty.

    >>> sums_of_runs(np.eye(3, dtype=np.float32), np.array([0, 1]), np.array([2, 3])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    if not len(first):
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    sizes = stop - first
    begins = np.cumsum(sizes) - sizes
    rows = np.arange(int(sizes.sum())) - np.repeat(begins - first, sizes)
    found: NDArray[np.float32] = np.add.reduceat(vectors[rows], begins, axis=0)
    return found


def noun_sentences(text: AnnotatedText) -> dict[str, tuple[int, ...]]:
    """Numbers of the sentences in which each noun is mentioned, by its lemma in lower case; one for each mention.

    Lemmas are in order of their first mention.
    """
    found: dict[str, list[int]] = {}
    for sentence, word in text.nouns():
        found.setdefault(word.lemma.lower(), []).append(sentence)
    return {lemma: tuple(numbers) for lemma, numbers in found.items()}


def merge_entities(
    lemmas: Iterable[str], vectors: Callable[[str], NDArray[np.float32] | None], threshold: float
) -> dict[str, tuple[str, ...]]:
    """The entity of each lemma: all lemmas that a chain of cosines above the threshold leads to, sorted.

    A lemma without a vector is an entity of its own. Entities are tuples, since the released code's "-" between
    members can be a letter of one of them ("well-being").

    >>> known = {"car": np.float32([1, 0]), "bus": np.float32([1, 0.1]), "sky": np.float32([0, 1])}
    >>> merge_entities(["car", "sky", "bus", "it"], known.get, 0.8)
    {'car': ('bus', 'car'), 'sky': ('sky',), 'bus': ('bus', 'car'), 'it': ('it',)}
    """
    names = list(dict.fromkeys(lemmas))
    entities: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    table = {name: vector for name in names if (vector := vectors(name)) is not None}
    if len(table) < 2:
        return entities
    known, unit = list(table), unit_rows(np.stack(list(table.values())))
    close = [unit[start : start + _BLOCK] @ unit.T > threshold for start in range(0, len(known), _BLOCK)]
    members: dict[int, list[str]] = {}
    for name, label in zip(known, _components(close).tolist(), strict=True):
        members.setdefault(label, []).append(name)
    for group in members.values():
        entities |= dict.fromkeys(group, tuple(sorted(group)))
    return entities


def _components(close: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """For each point the lowest number that a chain of close ones leads to; `close` has rows of points in blocks."""
    size = close[0].shape[1]
    labels = np.arange(size, dtype=np.int32)
    while True:
        lowest = np.concatenate([np.where(block, labels, size).min(axis=1) for block in close]).astype(np.int32)
        lowest = np.minimum(labels, lowest)
        lowest = lowest[lowest]  # a point's label is a point that may have found a lower one
        if np.array_equal(lowest, labels):
            return labels
        labels = lowest


def focus_sentences(
    nouns: Mapping[str, Sequence[int]], entities: Mapping[str, tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Sentences of each entity's mentions, in order: those of all its members.

    >>> focus_sentences({"car": (0, 2), "bus": (1,)}, {"car": ("bus", "car"), "bus": ("bus", "car")})
    {('bus', 'car'): (0, 1, 2)}
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for lemma, numbers in nouns.items():
        found.setdefault(entities[lemma], []).extend(numbers)
    return {entity: tuple(sorted(numbers)) for entity, numbers in found.items()}


def adjacency(foci_sentences: Mapping[Any, Sequence[int]], sentences: int, *, weighted: bool) -> NDArray[np.float64]:
    """How sentences are tied together by their foci: above the diagonal, 0 below and on it.

    >>> adjacency({"cat": (0, 0, 2), "mat": (0, 1, 2)}, 3, weighted=False)
    array([[0. , 1. , 0.5],
           [0. , 0. , 1. ],
           [0. , 0. , 0. ]])
    >>> adjacency({"cat": (0, 0, 2), "mat": (0, 1, 2)}, 3, weighted=True)[0]
    array([0., 1., 1.])
    """
    check_size(sentences, sentences, what="a graph of sentences", instead="split the document")
    shared: NDArray[np.float64] = np.zeros((sentences, sentences))
    for numbers in foci_sentences.values():
        places = sorted(set(numbers))
        if len(places) > 1:
            shared[np.ix_(places, places)] += 1
    shared = np.triu(shared, k=1)
    if not weighted:
        shared = np.minimum(shared, 1)
    number = np.arange(sentences)
    apart = np.maximum(number[None, :] - number[:, None], 1)
    shared /= apart
    return shared


@dataclass(frozen=True, eq=False)
class FocusTable:
    """The foci of a text, a row each."""

    rows: Mapping[Entity, int]
    vectors: NDArray[np.float32]
    """F: sums over the mentions of each focus."""
    mentions: Sequence[Mention]
    focus_of: NDArray[np.intp]
    """The row of each mention."""

    @classmethod
    def of(
        cls,
        mentions: Sequence[Mention],
        vectors: NDArray[np.float32],
        entities: Mapping[str, Entity],
        *,
        least: int,
    ) -> FocusTable:
        """F_v = sum over the mentions of v (equation 1), for what is mentioned at least so often."""
        counts: dict[Entity, int] = {}
        for one in mentions:
            counts[entities[one.lemma]] = counts.get(entities[one.lemma], 0) + 1
        rows = {entity: row for row, entity in enumerate(key for key, count in counts.items() if count >= least)}
        kept = [at for at, one in enumerate(mentions) if entities[one.lemma] in rows]
        focus_of = np.array([rows[entities[mentions[at].lemma]] for at in kept], dtype=np.intp)
        order = np.array(kept, dtype=np.intp)[np.argsort(focus_of, kind="stable")]
        stop = np.cumsum(np.bincount(focus_of, minlength=len(rows)))
        first = np.concatenate([[0], stop[:-1]])[: len(rows)]
        return cls(rows, sums_of_runs(vectors[order], first, stop), [mentions[at] for at in kept], focus_of)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of_counts(cls, lemmas: Sequence[str], *, least: int) -> FocusTable:
        """Nouns whose mentions all have the same vector, of one number."""
        counts = {(lemma,): count for lemma, count in Counter(lemmas).items() if count >= least}
        vectors = np.array([*counts.values()], dtype=np.float32).reshape(-1, 1)
        return cls({entity: row for row, entity in enumerate(counts)}, vectors, (), np.zeros(0, dtype=np.intp))

    @cached_property
    def squared_lengths(self) -> NDArray[np.float64]:
        """Squared distances to the origin."""
        return _squares(self.vectors.astype(np.float64))

    @property
    def labels(self) -> tuple[str, ...]:
        """The foci in words."""
        return tuple(" / ".join(entity) for entity in self.rows)

    @property
    def spans(self) -> tuple[PointSpans, ...]:
        """Where each focus is mentioned."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.rows]
        for row, one in zip(self.focus_of.tolist(), self.mentions, strict=True):
            found[row].append((one.start, one.end))
        return tuple(map(tuple, found))


@dataclass(frozen=True, eq=False)
class FocusPair:
    """The foci of a hypothesis beside those of a reference."""

    x: FocusTable
    y: FocusTable
    x_rows: NDArray[np.intp]
    y_rows: NDArray[np.intp]
    """Rows of the foci that both have."""
    squared: bool
    """Whether distances are squared."""

    @classmethod
    def of(cls, x: FocusTable, y: FocusTable, *, squared: bool) -> FocusPair:
        """Found by equal foci: an entity matches one of the same nouns only."""
        common = [(row, y.rows[entity]) for entity, row in x.rows.items() if entity in y.rows]
        rows = np.array(common, dtype=np.intp).reshape(-1, 2)
        return cls(x, y, rows[:, 0], rows[:, 1], squared)

    def __len__(self) -> int:
        return len(self.x_rows)

    def values(self, *, unmatched: str) -> tuple[float, float, float]:
        """P, R and (P + R) / 2 (equation 2, D6.12): the sum over foci divided by how many there are of them.

        `unmatched`: where one side lacks a focus it is `ignored`, and nothing in common gives 0; or it is at the
        `origin` there, and the sum is divided by the number of foci of either side (D6.4).
        """
        total = float(self.apart.sum())
        if unmatched == "origin":
            alone = self.alone
            count = len(self) + len(alone)
            value = (total + float(alone.sum())) / count if count else 0.0
            return value, value, value
        p, r = (total / len(side) if len(self) else 0.0 for side in (self.x, self.y))
        return p, r, (p + r) / 2

    @cached_property
    def apart(self) -> NDArray[np.float64]:
        """Distance between the vectors of each common focus."""
        difference = self.x.vectors[self.x_rows].astype(np.float64) - self.y.vectors[self.y_rows]
        return self._distances(_squares(difference))

    @property
    def alone(self) -> NDArray[np.float64]:
        """Distance to the origin of each focus that one side lacks: those of the hypothesis first."""
        return np.concatenate([self._distances(table.squared_lengths[rows]) for table, rows in self._rows_alone])

    @property
    def _rows_alone(self) -> list[tuple[FocusTable, NDArray[np.intp]]]:
        sides = ((self.x, self.x_rows), (self.y, self.y_rows))
        return [(table, _others(len(table), rows)) for table, rows in sides]

    def _distances(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return squares if self.squared else np.sqrt(squares)

    def flow(self, *, unmatched: str) -> Flow | None:
        """What was matched, each focus with an equal share, so that the sum of `flow * cost` is P.

        Where a focus that one side lacks is at the origin there, it moves to a point that stands nowhere in the text.
        None where nothing was matched.
        """
        with_origin, parts = unmatched == "origin", len(self.x)
        if not len(self) and not (with_origin and (len(self.x) or len(self.y))):
            return None
        x, y = (
            _with_origin(table) if with_origin else table.vectors.astype(np.float64) for table in (self.x, self.y)
        )
        mass = np.zeros((len(x), len(y)))
        mass[self.x_rows, self.y_rows] = 1
        if with_origin:
            (_, x_alone), (_, y_alone) = self._rows_alone
            mass[x_alone, -1] = mass[-1, y_alone] = 1
            parts = len(self) + len(x_alone) + len(y_alone)
        flow = mass / parts
        nowhere: tuple[PointSpans, ...] = ((),) if with_origin else ()
        origin = (ORIGIN,) if with_origin else ()
        return Flow(
            reference_index=0,
            hypothesis_tokens=self.x.labels + origin,
            reference_tokens=self.y.labels + origin,
            hypothesis_weight=flow.sum(axis=1),
            reference_weight=flow.sum(axis=0),
            flow=flow,
            cost=self._distances(squared_distances(x, y)),
            hypothesis_spans=self.x.spans + nowhere,
            reference_spans=self.y.spans + nowhere,
        )


def _others(size: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    left = np.ones(size, dtype=np.bool_)
    left[rows] = False
    return np.flatnonzero(left)


def _squares(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors)
    return found


def _with_origin(table: FocusTable) -> NDArray[np.float64]:
    return np.vstack([table.vectors.astype(np.float64), np.zeros((1, table.vectors.shape[1]))])
