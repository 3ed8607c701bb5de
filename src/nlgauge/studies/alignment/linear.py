"""Linear tools for two spaces: equal widths, nearest neighbours, and distances between languages.

widths      the wider space along as many of its principal directions as the other has (PCA)
neighbours  CSLS(x, y) = 2 cos(x, y) - r(x) - r(y)        r: mean cosine with the k nearest of the other side
            (Conneau et al. 2018). A hub, near to everything, has a large r and wins less often. Rows are unit
            vectors.
distances   between mean vectors of languages (Zhao et al. 2021, section 6). A re-mapping that only shrinks all
            vectors would bring means together too, so each distance is also given in units of the spread within
            languages: the root mean square distance of a vector to its own language's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError
from nlgauge.vectors.network_maps import Reduction
from nlgauge.vectors.remap import Operation, Side, principal_directions

Matrix = NDArray[np.float64]


def same_width(source: ArrayLike, target: ArrayLike) -> tuple[Matrix, Matrix, dict[Side, Reduction]]:
    """Both sides at the smaller width, and what brought the wider one there; nothing if they are alike."""
    x, z = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    if x.ndim != 2 or z.ndim != 2 or x.shape[1] == z.shape[1]:
        return x, z, {}  # what is no matrix is refused where it is used
    side: Side = "source" if x.shape[1] > z.shape[1] else "target"
    wide, width = (x, z.shape[1]) if side == "source" else (z, x.shape[1])
    if not np.isfinite(wide).all():
        msg = f"the {side} vectors are not finite"
        raise InputError(msg)
    with one_blas_thread:
        mean = wide.mean(axis=0).astype(np.float32)
        step = Reduction(mean, principal_directions(wide, count=width).astype(np.float32))
        reduced = (wide - step.mean) @ step.directions
    return (reduced, z, {side: step}) if side == "source" else (x, reduced, {side: step})


def reduction_steps(reductions: dict[Side, Reduction]) -> tuple[Operation, ...]:
    """The same as steps of a re-mapping, which come before all others."""
    return tuple(
        Operation(kind, array.astype(np.float64), target_only=side == "target")
        for side, step in reductions.items()
        for kind, array in (("shift", -step.mean[None]), ("linear", step.directions))
    )


#: Neighbours that r looks at, as in MUSE.
NEIGHBOURS = 10

#: Rows whose similarities with the whole other side are held at once.
_PORTION = 2048


class Pairs(NamedTuple):
    """Rows of two clouds that belong together."""

    source: NDArray[np.intp]
    target: NDArray[np.intp]

    def __len__(self) -> int:  # pairs, not sides
        return len(self.source)


def csls(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """CSLS of all pairs from their cosines, a row per source word."""
    rows, columns = (_mean_of_nearest(side) for side in (cosines, cosines.T))
    found: NDArray[np.float32] = 2 * cosines - rows[:, None] - columns[None, :]
    return found


def csls_pairs(source: NDArray[np.float32], target: NDArray[np.float32]) -> tuple[Pairs, float]:
    """Words that are each other's first by CSLS, and the mean of their cosines."""
    cosines = source @ target.T
    pairs = mutual_pairs(csls(cosines))
    mean = float(cosines[pairs.source, pairs.target].mean(dtype=np.float64)) if len(pairs) else 0.0
    return pairs, mean


def mutual_pairs(similarity: NDArray[np.float32]) -> Pairs:
    """Words that are each other's first."""
    forward, backward = similarity.argmax(axis=1), similarity.argmax(axis=0)
    kept = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    return Pairs(kept, forward[kept])


def induction_precision(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    gold: Pairs,
    *,
    by: Literal["cosine", "csls"] = "csls",
) -> float:
    """Lexicon induction, P@1: the share of source words with gold whose nearest target word is one of theirs."""
    if not len(gold):
        msg = "lexicon induction needs gold pairs, got none"
        raise InputError(msg)
    asked, where = np.unique(gold.source, return_inverse=True)
    answers = _nearest(source[asked], target, by, everything=source)
    return float(np.bincount(where, weights=answers[where] == gold.target).clip(max=1).mean())


def _nearest(
    asked: NDArray[np.float32],
    target: NDArray[np.float32],
    by: str,
    *,
    everything: NDArray[np.float32] | None = None,
) -> NDArray[np.intp]:
    """The nearest target row of each row asked about; hubs are told by all source words."""
    hubness = np.zeros(len(target), dtype=np.float32)
    if by == "csls":
        source = asked if everything is None else everything
        parts = [slice(start, start + _PORTION) for start in range(0, len(target), _PORTION)]
        hubness = np.concatenate([_mean_of_nearest(target[part] @ source.T) for part in parts])
    # A row's own r is the same for all its candidates, so it cannot change which is first.
    parts = [slice(start, start + _PORTION) for start in range(0, len(asked), _PORTION)]
    none = np.empty(0, dtype=np.intp)
    factor = np.float32(2 if by == "csls" else 1)
    return np.concatenate([none, *((factor * (asked[part] @ target.T) - hubness).argmax(axis=1) for part in parts)])


def _mean_of_nearest(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean of each row's highest cosines."""
    k = min(NEIGHBOURS, cosines.shape[1])
    highest = np.partition(cosines, cosines.shape[1] - k, axis=1)[:, -k:]
    mean: NDArray[np.float32] = highest.mean(axis=1, dtype=np.float32)
    return mean


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


class CentroidChange(NamedTuple):
    """The same languages before and after a re-mapping or normalisation."""

    before: LanguageCentroids
    after: LanguageCentroids


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
