"""Distances between the points of two clouds: numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["squared_distances"]


def squared_distances(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distances between rows, never below 0."""
    square = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None, :] - 2 * (x @ y.T)
    clipped: NDArray[np.float64] = np.maximum(square, 0.0)
    return clipped
