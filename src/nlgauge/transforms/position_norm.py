"""NORM as published (Zhao et al. 2021, Eq. 4): statistics of a batch of texts at each position of a token.

A text's vectors then depend on its batch mates and their order, a batch of one is all zeros, and in the released code
the zeros of padding count as vectors (D9.4). It is here to reproduce published figures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["POSITION_BATCH", "POSITION_NORM", "PositionNorm", "position_norm"]

#: What a recipe and its signature call it.
POSITION_NORM = "position-norm"

#: Texts that it looks at together, one after the other.
POSITION_BATCH = 8

_EPSILON = 1e-9


class PositionNorm:
    """The transform of that name; nothing of it is fitted, so it needs no digest."""

    label = POSITION_NORM
    digest = POSITION_NORM


def position_norm(batch: Sequence[ArrayLike], *, padding: bool = True) -> list[NDArray[np.float32]]:
    """NORM as published: each position's vectors, over the texts of a batch, to mean 0 and variance 1.

    `padding` counts a missing position of a shorter text as a vector of zeros, as the released code does.
    """
    texts = [np.asarray(text, dtype=np.float64) for text in batch]
    if not texts:
        return []
    longest = max(len(text) for text in texts)
    padded = np.zeros((len(texts), longest, texts[0].shape[1]))
    there = np.zeros((len(texts), longest, 1))
    for row, text in enumerate(texts):
        padded[row, : len(text)] = text
        there[row, : len(text)] = 1
    counted = np.ones_like(there) if padding else there
    count = counted.sum(axis=0)
    mean = padded.sum(axis=0) / count
    variance = (((padded - mean) * counted) ** 2).sum(axis=0) / count
    scaled = (padded - mean) / np.sqrt(variance + _EPSILON)
    return [scaled[row, : len(text)].astype(np.float32) for row, text in enumerate(texts)]
