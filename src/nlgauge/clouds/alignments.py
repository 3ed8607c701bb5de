"""How two texts were matched: token by token, or by the mass that moved between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import PointSpans
from nlgauge.files.html import HtmlCell, html_table

__all__ = ["ORIGIN", "Alignment", "Flow", "alignment_from_dict"]

#: What a point is called that stands for nothing in a text, but that something of the other text can move to.
ORIGIN = "(origin)"


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

    def _repr_html_(self) -> str:
        """A row per part of the flow, the largest first."""
        moved = sorted(np.argwhere(self.flow > 0).tolist(), key=lambda at: -self.flow[tuple(at)])
        rows: list[list[HtmlCell]] = [
            [self.hypothesis_tokens[i], self.reference_tokens[j], float(self.flow[i, j]), float(self.cost[i, j])]
            for i, j in moved
        ]
        return html_table(["hypothesis", "reference", "flow", "cost"], rows)


def _plain(value: object) -> object:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def alignment_from_dict(record: Mapping[str, Any] | None) -> Alignment | Flow | None:
    """`to_dict` backwards; None stays None."""
    if record is None:
        return None
    values: dict[str, Any] = {}
    for name, value in record.items():
        if name == "reference_index":
            values[name] = int(value)
        elif name.endswith("_tokens"):
            values[name] = tuple(value)
        elif name.endswith("_spans"):
            values[name] = tuple(tuple((int(start), int(end)) for start, end in point) for point in value)
        else:
            values[name] = np.array(value, dtype=np.int64 if name.endswith("_match") else np.float64)
    return Flow(**values) if "flow" in record else Alignment(**values)
