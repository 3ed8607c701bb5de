"""The one representation that metrics compare: weighted points with labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgauge.text import IdfTable, Tokens

__all__ = ["Cloud", "LabelledCloud", "idf_weights", "unit_rows"]


@dataclass(frozen=True, eq=False)
class Cloud:
    """A text as weighted points."""

    points: NDArray[np.float32]
    weights: NDArray[np.float64]
    tokens: Tokens
    """Where the points come from: point i stands for token i."""
    zero_weight: bool = False
    """Whether idf left no weight, so that uniform weights stand in."""


@dataclass(frozen=True, eq=False)
class LabelledCloud:
    """A text as weighted points that need not be tokens: words, n-grams, the whole text."""

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    labels: tuple[str, ...]
    """What each point stands for."""
    zero_weight: bool = False

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def empty(cls) -> LabelledCloud:
        """The cloud of a text without a token."""
        return cls(np.empty((0, 1)), np.empty(0), ())


def unit_rows(vectors: NDArray[np.float32], *, floor: float = 0.0) -> NDArray[np.float32]:
    """Rows scaled to length 1, so that a product of two is their cosine.

    `floor` is added to each length where a row may be all zeros, which then stays at the origin.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) + np.float32(floor)
    unit: NDArray[np.float32] = vectors / lengths[:, None]
    return unit


def idf_weights(tokens: Tokens, table: IdfTable | None) -> tuple[NDArray[np.float64], bool]:
    """Weight of each token: its idf, or 1 without a table; special tokens weigh 0 without one.

    Where idf leaves nothing (a corpus of one document gives every token it holds 0) the weights fall back
    to uniform, and the second value says so.
    """
    uniform = np.where(tokens.is_special, 0.0, 1.0)
    if table is None:
        return uniform, False
    weights = table.weights[tokens.ids]
    if weights.sum() > 0:
        return weights, False
    return uniform, True
