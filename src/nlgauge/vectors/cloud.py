"""Clouds of weighted, labelled points, which most metrics compare, and matches between them.

A `Cloud` represents one text. A `TokenCloud` selects tokens of a text: stop words, punctuation, sub-words and idf
determine which tokens count and how much, but do not change vectors and distances. Both are computed once for all
tokens, and each recipe uses a subset of rows and columns. A single recipe does the same, so its bits do not depend on
other recipes of a run.

An `Alignment` is a token-by-token match, a `Flow` the mass moved between two clouds.
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

#: The spans (start, end) of a point's tokens in its text; empty for tokens without a span, such as [CLS].
PointSpans: TypeAlias = tuple[tuple[int, int], ...]

F = TypeVar("F", np.float32, np.float64)

#: Label of a point at the origin, to which mass of the other text can move.
ORIGIN = "(origin)"

#: Number of other texts whose distances are cached per text: enough for all systems of a segment.
_MOST_REMEMBERED = 64

#: Largest number of cached distances of two texts; those of longer texts would fill the memory.
_MOST_DISTANCES = 2**22


class PointNames(Protocol):
    """Labels and spans of points, computed on request."""

    def labels(self) -> tuple[str, ...]:
        """The label of each point."""

    def spans(self) -> tuple[PointSpans, ...]:
        """The spans of each point in the text."""

    def ngrams(self, n: int) -> PointNames:
        """Labels and spans of n-grams of the points."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """A text as weighted points: tokens, words, n-grams, or the whole text as one."""

    points: NDArray[Any]
    weights: NDArray[np.float64]
    zero_weight: bool = False
    """Whether all idf weights were 0, so uniform weights are used instead."""
    names: PointNames | None = None

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each point."""
        return () if self.names is None else self.names.labels()

    @cached_property
    def spans(self) -> tuple[PointSpans, ...]:
        """The spans of each point in the text; empty if unknown."""
        return () if self.names is None else self.names.spans()

    def distances(self, other: Cloud, *, squared: bool) -> NDArray[np.float64]:
        """Euclidean distances of all points to all points of another cloud."""
        squares = squared_distances(self.points, other.points)
        return squares if squared else np.sqrt(squares)

    @property
    def vectors(self) -> NDArray[Any]:
        """The points in their original precision."""
        return self.points

    def ngrams(self, points: NDArray[Any], weights: NDArray[np.float64], n: int) -> Cloud:
        """A cloud of n-grams of these points, with labels derived from them."""
        return Cloud(points, weights, self.zero_weight, None if self.names is None else self.names.ngrams(n))

    def unit(self, *, floor: float) -> Cloud:
        """The same cloud with points of length 1 (`unit_rows`)."""
        return replace(self, points=unit_rows(self.vectors, floor=floor).astype(np.float64))

    def times_weights(self) -> Cloud:
        """The same cloud with each point multiplied by its weight."""
        points = (self.vectors * self.weights[:, None].astype(np.float32)).astype(np.float64)
        return Cloud(points, self.weights, self.zero_weight, self.names)


def unit_rows(vectors: NDArray[F], *, floor: float = 0.0, pairwise: bool = False) -> NDArray[F]:
    """Scale rows to length 1, so the product of two is their cosine; rows of zeros stay.

    `floor` is added to each length, as in released code. `pairwise` sums squares like `np.linalg.norm`, slower and
    with smaller rounding errors.
    """
    lengths = np.linalg.norm(vectors, axis=1) if pairwise else np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths = (lengths + np.float32(floor))[:, None]
    # Divide by 1 instead of 0, because a masked division is not vectorised.
    lengths[lengths == 0] = 1
    unit: NDArray[F] = vectors / lengths
    return unit


class TokenPoints:
    """The points of all tokens (or words) of a text, with cached distances to those of other texts."""

    def __init__(self, points: NDArray[np.float32]) -> None:
        self.points = points
        # Weak, so a text that is compared with itself does not keep itself alive.
        self._distances: WeakKeyDictionary[TokenPoints, dict[bool, NDArray[np.float64]]] = WeakKeyDictionary()

    def distances(self, other: TokenPoints, *, squared: bool) -> NDArray[np.float64]:
        """Distances of all points to all points of another text, computed once."""
        if other not in self._distances and len(self._distances) >= _MOST_REMEMBERED:
            self._distances.clear()
        cache = self._distances.setdefault(other, {})
        if squared not in cache:
            squares = squared_distances(self.points.astype(np.float64), other.points.astype(np.float64))
            cache[squared] = squares if squared else np.sqrt(squares)
        return cache[squared]


class TokenCloud(Cloud):
    """A subset of a text's points, with weights. The points are copied on request."""

    whole: TokenPoints
    rows: NDArray[np.intp]

    def __init__(
        self, whole: TokenPoints, rows: NDArray[np.intp], weights: NDArray[np.float64], **attributes: Any
    ) -> None:
        self.__dict__.update(whole=whole, rows=rows, weights=weights, **attributes)

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
        """Distances of the chosen points to those of another cloud."""
        if not isinstance(other, TokenCloud) or len(self.whole.points) * len(other.whole.points) > _MOST_DISTANCES:
            return super().distances(other, squared=squared)
        distances: NDArray[np.float64] = self.whole.distances(other.whole, squared=squared)[
            self.rows[:, None], other.rows
        ]
        return distances


class _Record:
    """A dataclass of arrays and plain values that can be converted to JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else _plain(value)
            for name, value in self.__dict__.items()
        }


@dataclass(frozen=True, eq=False)
class Alignment(_Record):
    """The token matches of one hypothesis and one reference, with similarities.

    `hypothesis_match[i]` is the index of the reference token matched with hypothesis token `i`, and
    `hypothesis_similarity[i]` their similarity; the `reference_*` arrays have the other direction. A token of weight
    0 can be matched but does not count (special tokens). `hypothesis_spans[i]` are the token's spans in characters of
    the text; a special token has none.
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
    """Similarity of all tokens to all tokens; not in `to_dict`, because it is large."""

    @classmethod
    def of(cls, x: Cloud, y: Cloud, match: GreedyMatch) -> Alignment:
        """Create an alignment from a greedy match of two clouds of unit vectors."""
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
        """A table of the hypothesis tokens that count, with their matches."""
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
    """The mass moved between the points of one hypothesis and one reference, with costs.

    Rows are the points of the hypothesis (tokens, words, n-grams), columns those of the reference. `flow` sums
    to 1, its rows to `hypothesis_weight`, its columns to `reference_weight`; the cost of transport is the sum of
    `flow * cost`. `hypothesis_spans[i]` has a span of characters for each token of the point.
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
        """Create a flow from a plan between two texts; the weights are those that the plan moves."""
        weights = flow.sum(axis=1), flow.sum(axis=0)
        return cls(0, x.labels, y.labels, *weights, flow, cost, x.spans, y.spans)

    def _repr_html_(self) -> str:
        """A table of the flow's parts, the largest first."""
        moved = sorted(np.argwhere(self.flow > 0).tolist(), key=lambda cell: -self.flow[tuple(cell)])
        rows: list[list[HtmlCell]] = [
            [self.hypothesis_tokens[i], self.reference_tokens[j], float(self.flow[i, j]), float(self.cost[i, j])]
            for i, j in moved
        ]
        return html_table(["hypothesis", "reference", "flow", "cost"], rows)


def _plain(value: object) -> object:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
