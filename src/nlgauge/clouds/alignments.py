"""How two texts were matched: token by token, or by the mass that moved between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Alignment", "Flow"]


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
    token that can be matched but does not count (special tokens).
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


@dataclass(frozen=True, eq=False)
class Flow(_Record):
    """Which mass moved where, and at what cost, for one hypothesis and one reference.

    Rows are the points of the hypothesis (tokens, words, n-grams), columns those of the reference. `flow` sums
    to 1, its rows to `hypothesis_weight`, its columns to `reference_weight`; the transport's cost is the sum of
    `flow * cost`.
    """

    reference_index: int
    hypothesis_tokens: tuple[str, ...]
    reference_tokens: tuple[str, ...]
    hypothesis_weight: NDArray[np.float64]
    reference_weight: NDArray[np.float64]
    flow: NDArray[np.float64]
    cost: NDArray[np.float64]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
