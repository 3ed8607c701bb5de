"""RCSLS: a linear map fitted to the criterion by which translations are retrieved (Joulin et al. 2018).

For unit rows x_i and z_i that are translations, with the k nearest neighbours N among all rows of a side,

    L(W) = 1/n sum over i of   -2 x_i W z_i'  +  1/k sum of x_i W z' over z in N(x_i W)
                               +  1/k sum of x W z_i' over x whose x W is in N(z_i)

so that a translation is near and hubs are far (Equation 7). W is not orthogonal: after each step of the subgradient
its singular values are cut at 1, the convex relaxation of rotations. The start is the rotation of Procrustes. A step
that raises L is taken back and the rate halved, as in the released code.

Static vectors repeat in parallel text: equal pairs of rows count once, and the most frequent ones are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError

#: As in the released code: neighbours, iterations and first rate; the paper's lexicons have 5,000 words.
NEIGHBOURS, ITERATIONS, RATE, MOST_PAIRS = 10, 10, 1.0, 5000

#: Rows of a side among which neighbours are sought.
_MOST_ROWS = 10_000

#: The rate at which the search ends.
_LEAST_RATE = 1e-4

Matrix = NDArray[np.float64]


class _Space(NamedTuple):
    """Unit rows: the pairs, and the rows of each side among which neighbours are sought."""

    source: Matrix
    target: Matrix
    sources: Matrix
    targets: Matrix


def relaxed_csls(source: ArrayLike, target: ArrayLike, *, start: ArrayLike, iterations: int = ITERATIONS) -> Matrix:
    """Fit W to rows that are translations, from a start such as the rotation of Procrustes."""
    x, z = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    with one_blas_thread:
        space = _space(x, z)
        map_, rate = np.asarray(start, dtype=np.float64), RATE
        loss, gradient = loss_and_gradient(map_, space)
        for _ in range(iterations):
            if rate < _LEAST_RATE:
                break
            candidate = cut_singular_values(map_ - rate * gradient)
            value, slope = loss_and_gradient(candidate, space)
            if value < loss:
                map_, loss, gradient = candidate, value, slope
            else:
                rate /= 2
    return map_


def loss_and_gradient(map_: Matrix, space: _Space) -> tuple[float, Matrix]:
    """The loss and its subgradient, for the neighbours under this map."""
    x, z = space.source, space.target
    near_targets = _mean_of_nearest(x @ map_, space.targets, space.targets)
    near_sources = _mean_of_nearest(z, space.sources @ map_, space.sources)
    mapped = x @ map_
    value = (mapped * (near_targets - 2 * z)).sum() + ((near_sources @ map_) * z).sum()
    gradient = x.T @ (near_targets - 2 * z) + near_sources.T @ z
    return float(value / len(x)), gradient / len(x)


def cut_singular_values(matrix: Matrix) -> Matrix:
    """The nearest matrix whose singular values are at most 1.

    >>> cut_singular_values(np.diag([3.0, 0.5])).tolist()
    [[1.0, 0.0], [0.0, 0.5]]
    """
    u, values, vt = np.linalg.svd(matrix)
    nearest: Matrix = (u * np.minimum(values, 1.0)) @ vt
    return nearest


def _space(x: Matrix, z: Matrix) -> _Space:
    """Unit rows of the most frequent pairs of different words, and of both sides."""
    length = [np.linalg.norm(rows, axis=1) for rows in (x, z)]
    full = (length[0] > 0) & (length[1] > 0)
    if full.sum() < 2:
        msg = f"{full.sum()} of {len(x)} pairs have a vector on both sides; provide more translated words"
        raise InputError(msg)
    x, z = (rows[full] / norms[full, None] for rows, norms in zip((x, z), length, strict=True))
    pairs = _most_frequent(np.hstack([x, z]), MOST_PAIRS)
    sources, targets = (_most_frequent(rows, _MOST_ROWS) for rows in (x, z))
    return _Space(x[pairs], z[pairs], x[sources], z[targets])


def _most_frequent(rows: Matrix, most: int) -> NDArray[np.intp]:
    """The first place of each different row, the most frequent ones only."""
    keys = [row.tobytes() for row in rows]
    first: dict[bytes, int] = {}
    counts: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
        counts[key] = counts.get(key, 0) + 1
    frequent = sorted(first, key=lambda key: (-counts[key], first[key]))[:most]
    return np.array(sorted(first[key] for key in frequent))


def _mean_of_nearest(rows: Matrix, others: Matrix, vectors: Matrix) -> Matrix:
    """For each row the mean of the `vectors` whose `others` have the largest products with it."""
    k = min(NEIGHBOURS, len(others))
    means = np.empty((len(rows), vectors.shape[1]))
    for begin in range(0, len(rows), 1024):
        products = rows[begin : begin + 1024] @ others.T
        nearest = np.argpartition(-products, k - 1, axis=1)[:, :k]
        means[begin : begin + 1024] = vectors[nearest].mean(axis=1)
    return means
