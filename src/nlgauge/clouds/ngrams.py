"""n-grams of points: idf-weighted averages over windows of kept tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import PointSpans

__all__ = ["ngram_labels", "ngram_spans", "ngrams"]


def ngrams(
    points: NDArray[np.float32], weights: NDArray[np.float64], n: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Windows of n points, stride 1; fewer than n points make one window of all of them.

    The vector of a window is its points' average by weight (MoverScore's equation 1, up to the scale that
    normalisation takes away), its weight the sum (equation 2). A window without weight has no direction and
    stands at the origin, where it moves nothing.
    """
    if n == 1:
        return points, weights
    size = min(n, len(points))
    starts = np.arange(len(points) - size + 1)
    window = starts[:, None] + np.arange(size)[None, :]
    total = weights[window].sum(axis=1)
    share = weights[window] / np.where(total > 0, total, 1.0)[:, None]
    vectors = np.einsum("wk,wkd->wd", share, points[window]).astype(np.float32)
    return vectors, total


def ngram_labels(words: Sequence[str], n: int) -> tuple[str, ...]:
    """What the windows of `ngrams` stand for.

    >>> ngram_labels(["a", "black", "cat"], 2)
    ('a black', 'black cat')
    """
    size = min(n, len(words))
    return tuple(" ".join(words[start : start + size]) for start in range(len(words) - size + 1))


def ngram_spans(spans: Sequence[PointSpans], n: int) -> tuple[PointSpans, ...]:
    """Where the windows of `ngrams` stand: the places of their tokens, which may not be neighbours in the text."""
    size = min(n, len(spans))
    windows = (spans[start : start + size] for start in range(len(spans) - size + 1))
    return tuple(tuple(span for point in window for span in point) for window in windows)
