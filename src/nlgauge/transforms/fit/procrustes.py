"""The linear algebra of re-mapping, on paired rows: rotations, least squares, mismatch directions."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import DataWarning, InputError, RecipeError

__all__ = ["least_squares", "mismatch_directions", "principal_directions", "procrustes", "row_pairs"]


def row_pairs(source: ArrayLike, target: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both sides as float64 matrices of one shape, or an error that says what is wrong with them."""
    x, z = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    if x.ndim != 2 or x.shape != z.shape or x.size == 0:
        msg = f"expected two matrices of one shape with a pair of words per row, got {x.shape} and {z.shape}"
        raise InputError(msg)
    for name, rows in (("source", x), ("target", z)):
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if bad.size:
            msg = f"row {bad[0]} of the {name} vectors is not finite ({bad.size} such rows)"
            raise InputError(msg)
    return x, z


def procrustes(source: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """Orthogonal W with the least |X W - Z| (Schönemann 1966; D8.11)."""
    x, z = row_pairs(source, target)
    if len(x) < x.shape[1]:
        msg = (
            f"{len(x)} pairs do not determine a rotation of {x.shape[1]} dimensions: directions that no pair "
            f"shows are turned anyhow; use at least {x.shape[1]} pairs"
        )
        warnings.warn(msg, DataWarning, stacklevel=2)
    u, _, vt = np.linalg.svd(z.T @ x)
    rotation: NDArray[np.float64] = vt.T @ u.T
    return rotation


def least_squares(source: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """W with the least |X W - Z|, no constraint; of several, the one of least size."""
    x, z = row_pairs(source, target)
    return np.asarray(np.linalg.lstsq(x, z, rcond=None)[0], dtype=np.float64)


def mismatch_directions(source: ArrayLike, target: ArrayLike, *, count: int = 1) -> NDArray[np.float64]:
    """The first right singular vectors of X - Z as rows: where the two languages differ most (D8.8).

    A singular vector has no sign; here its largest entry is positive, so that equal input gives equal bytes.
    """
    x, z = row_pairs(source, target)
    most = min(x.shape)
    if not 1 <= count <= most:
        msg = f"directions must be 1 to {most} for {len(x)} pairs of width {x.shape[1]}, got {count!r}"
        raise RecipeError(msg)
    # From the d x d matrix of products: half a million pairs need no half a million singular vectors.
    difference = x - z
    values, vectors = np.linalg.eigh(difference.T @ difference)
    rows: NDArray[np.float64] = vectors[:, np.argsort(-values, kind="stable")[:count]].T
    return _signed(rows)


def principal_directions(rows: ArrayLike, *, count: int) -> NDArray[np.float64]:
    """The directions in which rows differ most from their mean, as `count` orthonormal columns (PCA)."""
    x = np.asarray(rows, dtype=np.float64)
    if not 1 <= count <= min(x.shape):
        msg = f"{x.shape[0]} rows of width {x.shape[1]} have no {count} principal directions; give more rows"
        raise InputError(msg)
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    return _signed(vectors[:, np.argsort(-values, kind="stable")[:count]].T).T


def _signed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with their largest entry positive."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    signed: NDArray[np.float64] = rows * np.sign(largest)
    return signed
