"""The one representation that most metrics compare: weighted points with labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.transport import squared_distances

__all__ = ["Cloud", "PointSpans", "unit_rows"]

#: Where a point stands in its text: the spans of its tokens, first character and the one after the last of each.
#: None of them for what stands nowhere, such as [CLS].
PointSpans: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Cloud:
    """A text as weighted points: tokens, words, n-grams, or the whole text as one."""

    points: NDArray[Any]
    weights: NDArray[np.float64]
    name_points: Callable[[], tuple[str, ...]]
    """Names what each point stands for; asked only where somebody wants to see it."""
    zero_weight: bool = False
    """Whether idf left no weight, so that uniform weights stand in."""
    locate_points: Callable[[], tuple[PointSpans, ...]] | None = None
    """Finds where each point stands in the text; asked only where somebody wants to see it."""

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each point stands for."""
        return self.name_points()

    @cached_property
    def spans(self) -> tuple[PointSpans, ...]:
        """Where each point stands in the text; empty where nobody knows."""
        return () if self.locate_points is None else self.locate_points()

    def distances(self, other: Cloud, *, squared: bool) -> NDArray[np.float64]:
        """Euclidean distances of all points to all of the other's."""
        found = squared_distances(self.points, other.points)
        return found if squared else np.sqrt(found)


def unit_rows(vectors: NDArray[np.float32], *, floor: float = 0.0) -> NDArray[np.float32]:
    """Rows scaled to length 1, so that a product of two is their cosine; a row of zeros stays at the origin.

    `floor` is added to each length, as released codes do.
    """
    lengths = (np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) + np.float32(floor))[:, None]
    # Dividing by 1 where there is nothing to divide by: a masked division is not vectorised.
    lengths[lengths == 0] = 1
    unit: NDArray[np.float32] = vectors / lengths
    return unit
