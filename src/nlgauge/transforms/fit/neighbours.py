"""Nearest neighbours between two clouds of word vectors, and the pairs that follow from them.

    CSLS(x, y) = 2 cos(x, y) - r(x) - r(y)        r: mean cosine with the k nearest of the other side

(Conneau et al. 2018). A hub, near to everything, has a large r and wins less often. Rows are unit vectors.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError

__all__ = ["Pairs", "csls", "csls_pairs", "induction_precision", "mutual_pairs", "semantic_criterion"]

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


def csls(cosines: NDArray[np.float32], *, neighbours: int = NEIGHBOURS) -> NDArray[np.float32]:
    """CSLS of all pairs from their cosines, a row per source word."""
    rows, columns = (_mean_of_nearest(side, neighbours) for side in (cosines, cosines.T))
    found: NDArray[np.float32] = 2 * cosines - rows[:, None] - columns[None, :]
    return found


def csls_pairs(
    source: NDArray[np.float32], target: NDArray[np.float32], *, neighbours: int = NEIGHBOURS
) -> tuple[Pairs, float]:
    """Words that are each other's first by CSLS, and the mean of their cosines."""
    cosines = source @ target.T
    pairs = mutual_pairs(csls(cosines, neighbours=neighbours))
    mean = float(cosines[pairs.source, pairs.target].mean(dtype=np.float64)) if len(pairs) else 0.0
    return pairs, mean


def mutual_pairs(similarity: NDArray[np.float32]) -> Pairs:
    """Words that are each other's first."""
    forward, backward = similarity.argmax(axis=1), similarity.argmax(axis=0)
    kept = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    return Pairs(kept, forward[kept])


def semantic_criterion(
    source: NDArray[np.float32], target: NDArray[np.float32], *, most: int = 10_000, neighbours: int = NEIGHBOURS
) -> float:
    """Mean cosine of each of the first `most` source words with its translation by CSLS: no gold is needed.

    The validation criterion of MUSE, which the dissertation's chapter 10 adopts ("semantic"). Words are expected in
    the order of their frequency.
    """
    best = _nearest(source[:most], target, "csls", neighbours)
    return float((source[:most] * target[best]).sum(axis=1).mean(dtype=np.float64))


def induction_precision(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    gold: Pairs,
    *,
    by: Literal["cosine", "csls"] = "csls",
    neighbours: int = NEIGHBOURS,
) -> float:
    """Lexicon induction, P@1: the share of source words with gold whose nearest target word is one of theirs."""
    if not len(gold):
        msg = "lexicon induction needs gold pairs, got none"
        raise InputError(msg)
    asked, where = np.unique(gold.source, return_inverse=True)
    answers = _nearest(source[asked], target, by, neighbours, everything=source)
    return float(np.bincount(where, weights=answers[where] == gold.target).clip(max=1).mean())


def _nearest(
    asked: NDArray[np.float32],
    target: NDArray[np.float32],
    by: str,
    neighbours: int,
    *,
    everything: NDArray[np.float32] | None = None,
) -> NDArray[np.intp]:
    """The nearest target row of each row asked about; hubs are told by all source words."""
    hubness = np.zeros(len(target), dtype=np.float32)
    if by == "csls":
        source = asked if everything is None else everything
        parts = [slice(start, start + _PORTION) for start in range(0, len(target), _PORTION)]
        hubness = np.concatenate([_mean_of_nearest(target[part] @ source.T, neighbours) for part in parts])
    # A row's own r is the same for all its candidates, so it cannot change which is first.
    parts = [slice(start, start + _PORTION) for start in range(0, len(asked), _PORTION)]
    none = np.empty(0, dtype=np.intp)
    factor = np.float32(2 if by == "csls" else 1)
    return np.concatenate([none, *((factor * (asked[part] @ target.T) - hubness).argmax(axis=1) for part in parts)])


def _mean_of_nearest(cosines: NDArray[np.float32], neighbours: int) -> NDArray[np.float32]:
    """Mean of each row's highest cosines."""
    k = min(neighbours, cosines.shape[1])
    highest = np.partition(cosines, cosines.shape[1] - k, axis=1)[:, -k:]
    mean: NDArray[np.float32] = highest.mean(axis=1, dtype=np.float32)
    return mean
