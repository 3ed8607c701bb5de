"""Clouds that choose among the tokens of a text, so that recipes share what does not depend on the choice.

Stop words, punctuation, sub-words and idf decide which tokens count and how much; the vectors of the tokens and the
distances between those of two texts stay the same. Both are computed once, for all tokens, and each recipe takes the
rows and columns it keeps. A recipe alone does the same, so its bits do not depend on the company it runs in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import Cloud, PointSpans
from nlgauge.transport import squared_distances

__all__ = ["TokenCloud", "TokenPoints"]

#: Texts whose distances a text remembers: as many as there are systems, and not as many as there are texts.
_MOST_REMEMBERED = 64


#: Distances of two texts that are worth remembering; those of longer texts would fill the memory.
_MOST_DISTANCES = 2**22


class TokenPoints:
    """A point for every token of a text (or for every word), with its distances to those of other texts."""

    def __init__(
        self,
        points: NDArray[np.float32],
        labels: tuple[str, ...],
        locate: Callable[[], tuple[PointSpans, ...]] | None = None,
    ) -> None:
        self.points = points
        self.labels = labels
        self.locate = locate
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
    """Some of a text's points, with weights. Points and labels are made only where somebody asks for them."""

    def __init__(
        self, whole: TokenPoints, rows: NDArray[np.intp], weights: NDArray[np.float64], zero_weight: bool
    ) -> None:
        self.__dict__.update(whole=whole, rows=rows, weights=weights, zero_weight=zero_weight)

    whole: TokenPoints
    rows: NDArray[np.intp]

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """The chosen points."""
        chosen: NDArray[np.float64] = self.whole.points[self.rows].astype(np.float64)
        return chosen

    @property
    def name_points(self) -> Callable[[], tuple[str, ...]]:
        """Names the chosen points."""
        return lambda: tuple(self.whole.labels[row] for row in self.rows)

    @cached_property
    def spans(self) -> tuple[PointSpans, ...]:
        """Where the chosen points stand in the text; empty where nobody knows."""
        whole = () if self.whole.locate is None else self.whole.locate()
        return tuple(whole[row] for row in self.rows) if whole else ()

    def distances(self, other: Cloud, *, squared: bool) -> NDArray[np.float64]:
        """Distances of the chosen points to the other's."""
        if not isinstance(other, TokenCloud) or len(self.whole.points) * len(other.whole.points) > _MOST_DISTANCES:
            return super().distances(other, squared=squared)
        found: NDArray[np.float64] = self.whole.distances(other.whole, squared=squared)[
            self.rows[:, None], other.rows
        ]
        return found
