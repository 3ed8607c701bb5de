"""Weighted points with labels, which most metrics compare, and how the points of two texts were matched.

A `Cloud` is one text. A `TokenCloud` chooses among the tokens of a text: stop words, punctuation, sub-words and idf
decide which tokens count and how much, while the vectors of the tokens and the distances between those of two texts
stay the same. Both are computed once, for all tokens, and each recipe takes the rows and columns it keeps. A recipe
that runs alone does the same, so its bits do not depend on the other recipes of a run.

An `Alignment` is a match token by token, a `Flow` the mass that moved between two clouds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nlgauge.io.table import HtmlCell, html_table
from nlgauge.vectors.greedy import GreedyMatch
from nlgauge.vectors.transport import squared_distances

#: Where a point stands in its text: the spans of its tokens, first character and the one after the last of each.
#: None of them for what stands nowhere, such as [CLS].
PointSpans: TypeAlias = tuple[tuple[int, int], ...]

F = TypeVar("F", np.float32, np.float64)

#: What a point is called that stands for nothing in a text, but that something of the other text can move to.
ORIGIN = "(origin)"

#: Texts whose distances a text remembers: as many as there are systems, and not as many as there are texts.
_MOST_REMEMBERED = 64

#: Distances of two texts that are worth remembering; those of longer texts would fill the memory.
_MOST_DISTANCES = 2**22


class PointNames(Protocol):
    """Says what points stand for; asked only where somebody wants to see it."""

    def labels(self) -> tuple[str, ...]:
        """What each point stands for, in words."""

    def spans(self) -> tuple[PointSpans, ...]:
        """Where each point stands in the text."""

    def ngrams(self, n: int) -> PointNames:
        """The same for n-grams of the points."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """A text as weighted points: tokens, words, n-grams, or the whole text as one."""

    points: NDArray[Any]
    weights: NDArray[np.float64]
    zero_weight: bool = False
    """Whether idf left no weight, so that uniform weights stand in."""
    names: PointNames | None = None

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each point stands for."""
        return () if self.names is None else self.names.labels()

    @cached_property
    def spans(self) -> tuple[PointSpans, ...]:
        """Where each point stands in the text; empty where nobody knows."""
        return () if self.names is None else self.names.spans()

    def distances(self, other: Cloud, *, squared: bool) -> NDArray[np.float64]:
        """Euclidean distances of all points to all of the other's."""
        found = squared_distances(self.points, other.points)
        return found if squared else np.sqrt(found)

    @property
    def vectors(self) -> NDArray[Any]:
        """The points in the precision they were computed in."""
        return self.points

    def ngrams(self, points: NDArray[Any], weights: NDArray[np.float64], n: int) -> Cloud:
        """A cloud of n-grams of these points, which are named after them."""
        return Cloud(points, weights, self.zero_weight, None if self.names is None else self.names.ngrams(n))

    def unit(self, *, floor: float) -> Cloud:
        """The same cloud with points of length 1 (`unit_rows`)."""
        return replace(self, points=unit_rows(self.vectors, floor=floor).astype(np.float64))

    def times_weights(self) -> Cloud:
        """The same cloud with each point multiplied by its weight."""
        points = (self.vectors * self.weights[:, None].astype(np.float32)).astype(np.float64)
        return Cloud(points, self.weights, self.zero_weight, self.names)


def unit_rows(vectors: NDArray[F], *, floor: float = 0.0, pairwise: bool = False) -> NDArray[F]:
    """Rows scaled to length 1, so that a product of two is their cosine; a row of zeros stays at the origin.

    `floor` is added to each length, as released codes do. `pairwise` adds squares up as `np.linalg.norm` does, slower
    and with smaller rounding errors.
    """
    lengths = np.linalg.norm(vectors, axis=1) if pairwise else np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths = (lengths + np.float32(floor))[:, None]
    # Dividing by 1 where there is nothing to divide by: a masked division is not vectorised.
    lengths[lengths == 0] = 1
    unit: NDArray[F] = vectors / lengths
    return unit


class TokenPoints:
    """A point for every token of a text (or for every word), with its distances to those of other texts."""

    def __init__(self, points: NDArray[np.float32]) -> None:
        self.points = points
        # Weak, because a text that is compared with itself must not keep itself alive.
        self._distances: WeakKeyDictionary[TokenPoints, dict[bool, NDArray[np.float64]]] = WeakKeyDictionary()

    def distances(self, other: TokenPoints, *, squared: bool) -> NDArray[np.float64]:
        """Distances of all points to all of the other's, computed once."""
        if other not in self._distances and len(self._distances) >= _MOST_REMEMBERED:
            self._distances.clear()
        known = self._distances.setdefault(other, {})
        if squared not in known:
            found = squared_distances(self.points.astype(np.float64), other.points.astype(np.float64))
            known[squared] = found if squared else np.sqrt(found)
        return known[squared]


class TokenCloud(Cloud):
    """Some of a text's points, with weights. They are copied only where somebody asks for them."""

    whole: TokenPoints
    rows: NDArray[np.intp]

    def __init__(
        self, whole: TokenPoints, rows: NDArray[np.intp], weights: NDArray[np.float64], **about: Any
    ) -> None:
        self.__dict__.update(whole=whole, rows=rows, weights=weights, **about)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """The chosen points."""
        return self.vectors.astype(np.float64)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The chosen points in single precision."""
        chosen: NDArray[np.float32] = self.whole.points[self.rows]
        return chosen

    def distances(self, other: Cloud, *, squared: bool) -> NDArray[np.float64]:
        """Distances of the chosen points to the other's."""
        if not isinstance(other, TokenCloud) or len(self.whole.points) * len(other.whole.points) > _MOST_DISTANCES:
            return super().distances(other, squared=squared)
        found: NDArray[np.float64] = self.whole.distances(other.whole, squared=squared)[
            self.rows[:, None], other.rows
        ]
        return found


class _Record:
    """A dataclass of arrays and plain values that can become JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else _plain(value)
            for name, value in self.__dict__.items()
        }


@dataclass(frozen=True, eq=False)
class Alignment(_Record):
    """Which token matched which, and how closely, for one hypothesis and one reference.

    `hypothesis_match[i]` is the position of the reference token that hypothesis token `i` took, at
    `hypothesis_similarity[i]`; the `reference_*` arrays hold the other direction. A weight of 0 marks a
    token that can be matched but does not count (special tokens). `hypothesis_spans[i]` says where in the text the
    token stands, as spans of characters; there are none for a special token.
    """

    reference_index: int
    hypothesis_tokens: tuple[str, ...]
    reference_tokens: tuple[str, ...]
    hypothesis_match: NDArray[np.int64]
    reference_match: NDArray[np.int64]
    hypothesis_similarity: NDArray[np.float64]
    reference_similarity: NDArray[np.float64]
    hypothesis_weight: NDArray[np.float64]
    reference_weight: NDArray[np.float64]
    hypothesis_spans: tuple[PointSpans, ...] = ()
    reference_spans: tuple[PointSpans, ...] = ()
    similarity: NDArray[np.float32] | None = None
    """Of every token to every other; left out of `to_dict`, because it is large."""

    @classmethod
    def of(cls, x: Cloud, y: Cloud, match: GreedyMatch) -> Alignment:
        """A greedy match of two clouds of unit vectors."""
        return cls(
            reference_index=0,
            hypothesis_tokens=x.labels,
            reference_tokens=y.labels,
            hypothesis_match=match.row_partner,
            reference_match=match.column_partner,
            hypothesis_similarity=match.row_best.astype(np.float64),
            reference_similarity=match.column_best.astype(np.float64),
            hypothesis_weight=x.weights,
            reference_weight=y.weights,
            hypothesis_spans=x.spans,
            reference_spans=y.spans,
            similarity=x.points @ y.points.T,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON."""
        record = super().to_dict()
        del record["similarity"]
        return record

    def _repr_html_(self) -> str:
        """A row per token of the hypothesis, with the token it took; those that do not count are left out."""
        rows: list[list[HtmlCell]] = [
            [token, self.reference_tokens[match], float(similarity), float(weight)]
            for token, match, similarity, weight in zip(
                self.hypothesis_tokens,
                self.hypothesis_match.tolist(),
                self.hypothesis_similarity,
                self.hypothesis_weight,
                strict=True,
            )
            if weight > 0
        ]
        return html_table(["hypothesis", "reference", "similarity", "weight"], rows)


@dataclass(frozen=True, eq=False)
class Flow(_Record):
    """Which mass moved where, and at what cost, for one hypothesis and one reference.

    Rows are the points of the hypothesis (tokens, words, n-grams), columns those of the reference. `flow` sums
    to 1, its rows to `hypothesis_weight`, its columns to `reference_weight`; the transport's cost is the sum of
    `flow * cost`. `hypothesis_spans[i]` says where in the text the point stands: a span of characters per token.
    """

    reference_index: int
    hypothesis_tokens: tuple[str, ...]
    reference_tokens: tuple[str, ...]
    hypothesis_weight: NDArray[np.float64]
    reference_weight: NDArray[np.float64]
    flow: NDArray[np.float64]
    cost: NDArray[np.float64]
    hypothesis_spans: tuple[PointSpans, ...] = ()
    reference_spans: tuple[PointSpans, ...] = ()

    @classmethod
    def of(cls, x: Cloud, y: Cloud, flow: NDArray[np.float64], cost: NDArray[np.float64]) -> Flow:
        """The plan between the points of two texts; their weights are those that the plan moves."""
        weights = flow.sum(axis=1), flow.sum(axis=0)
        return cls(0, x.labels, y.labels, *weights, flow, cost, x.spans, y.spans)

    def _repr_html_(self) -> str:
        """A row per part of the flow, the largest first."""
        moved = sorted(np.argwhere(self.flow > 0).tolist(), key=lambda cell: -self.flow[tuple(cell)])
        rows: list[list[HtmlCell]] = [
            [self.hypothesis_tokens[i], self.reference_tokens[j], float(self.flow[i, j]), float(self.cost[i, j])]
            for i, j in moved
        ]
        return html_table(["hypothesis", "reference", "flow", "cost"], rows)


def _plain(value: object) -> object:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
