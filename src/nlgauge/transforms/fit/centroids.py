"""How far languages sit from each other: distances between their mean vectors (Zhao et al. 2021, section 6).

A re-mapping that only shrinks all vectors would bring means together too, so each distance is also given in units of
the spread within languages: the root mean square distance of a vector to its own language's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError

__all__ = ["CentroidChange", "LanguageCentroids", "centroid_change", "language_centroids"]


class LanguageCentroids(NamedTuple):
    """Mean vectors of languages, and how they lie to each other."""

    languages: tuple[str, ...]
    counts: tuple[int, ...]
    distance: NDArray[np.float64]
    """Euclidean, between the means of each two languages."""
    cosine: NDArray[np.float64]
    """Between the means of each two languages; 0 where a mean is at the origin."""
    spread: float
    """Root mean square distance of a vector to its language's mean, languages weighted alike."""

    @property
    def relative(self) -> NDArray[np.float64]:
        """Distances in units of the spread."""
        return self.distance / self.spread if self.spread > 0 else np.full_like(self.distance, np.nan)

    @property
    def gap(self) -> float:
        """Mean relative distance between two different languages."""
        count = len(self.languages)
        return float(self.relative.sum() / (count * (count - 1)))

    def to(self, hub: str) -> dict[str, float]:
        """Relative distance of each other language to this one."""
        if hub not in self.languages:
            msg = f"no vectors of language {hub!r}; there are: {', '.join(self.languages)}"
            raise InputError(msg)
        row = self.relative[self.languages.index(hub)]
        return {
            language: float(value) for language, value in zip(self.languages, row, strict=True) if language != hub
        }


class CentroidChange(NamedTuple):
    """The same languages before and after a re-mapping or normalisation."""

    before: LanguageCentroids
    after: LanguageCentroids

    @property
    def gap_ratio(self) -> float:
        """What is left of the gap; below 1 is nearer, above 1 farther."""
        return self.after.gap / self.before.gap if self.before.gap > 0 else float("nan")


def language_centroids(vectors: Mapping[str, ArrayLike]) -> LanguageCentroids:
    """From a matrix of vectors per language (of tokens or of sentences).

    >>> language_centroids({"de": [[1.0, 0.0], [3.0, 0.0]], "en": [[0.0, 2.0], [0.0, 4.0]]}).distance[0, 1].round(4)
    np.float64(3.6056)
    """
    if len(vectors) < 2:
        msg = f"distances between languages need at least two, got {', '.join(vectors) or 'none'}"
        raise InputError(msg)
    rows = {language: np.asarray(matrix, dtype=np.float64) for language, matrix in vectors.items()}
    widths = {matrix.shape[1:] for matrix in rows.values()}
    for language, matrix in rows.items():
        if matrix.ndim != 2 or not len(matrix) or len(widths) > 1:
            msg = f"expected matrices of one width with at least a row, got shape {matrix.shape} for {language!r}"
            raise InputError(msg)
    means = np.stack([matrix.mean(axis=0) for matrix in rows.values()])
    squares = [((matrix - mean) ** 2).sum(axis=1).mean() for matrix, mean in zip(rows.values(), means, strict=True)]
    lengths = np.linalg.norm(means, axis=1)
    unit = means / np.where(lengths > 0, lengths, 1.0)[:, None]
    distance = np.linalg.norm(means[:, None] - means[None, :], axis=2)
    counts = tuple(len(matrix) for matrix in rows.values())
    return LanguageCentroids(tuple(rows), counts, distance, unit @ unit.T, float(np.sqrt(np.mean(squares))))


def centroid_change(before: Mapping[str, ArrayLike], after: Mapping[str, ArrayLike]) -> CentroidChange:
    """The report before and after; both must be of the same languages in the same order."""
    if tuple(before) != tuple(after):
        msg = f"before and after must be of the same languages, got {', '.join(before)} and {', '.join(after)}"
        raise InputError(msg)
    return CentroidChange(language_centroids(before), language_centroids(after))
