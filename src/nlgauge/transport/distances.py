"""Distances between the points of two clouds: numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["squared_distances"]


def squared_distances(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distances between rows, never below 0."""
    square: NDArray[np.float64] = x @ y.T
    square *= -2
    square += np.einsum("ij,ij->i", x, x)[:, None]
    square += np.einsum("ij,ij->i", y, y)[None, :]
    return np.maximum(square, 0.0, out=square)
