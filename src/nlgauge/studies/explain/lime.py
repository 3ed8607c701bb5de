"""LIME: contributions of words as coefficients of a linear surrogate around one text.

Ribeiro, Singh and Guestrin (2016): leave words out at random, score what remains, and fit a ridge regression of the
score on which words were kept. Texts near the original weigh more, by an exponential kernel on the cosine distance
between the vector of kept words z and that of the whole text:

    d(z) = 100 (1 - cos(z, 1))        weight(z) = sqrt(exp(-d^2 / 25^2))
    beta = argmin sum_z weight(z) (v(z) - beta_0 - beta z)^2 + |beta|^2

These are the defaults of the `lime` package for texts, all words as features. How many words are left out is uniform
from 1 to all, then which ones. We remove a word where the package puts UNKWORDZ, because a score of a text with that
word is a score of another text. The coefficients do not sum to the score; `fit` is how linear it is around the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: Width of the kernel, in hundredths of the cosine distance, and weight of the ridge, as in the package `lime`.
WIDTH, RIDGE = 25.0, 1.0


class Lime(NamedTuple):
    """A linear surrogate."""

    values: Vector
    """Coefficient of each word."""
    intercept: float
    fit: float
    """Weighted coefficient of determination (R2); nan if the score is the same for all neighbours."""


def draw_neighbours(words: int, *, count: int, seed: int = 12345) -> NDArray[np.bool_]:
    """Draw which words are kept: a row per neighbour, the first one with all words."""
    rng = np.random.default_rng(seed)
    kept = np.ones((count, words), dtype=np.bool_)
    for row, removed in zip(kept[1:], rng.integers(1, words + 1, size=count - 1).tolist(), strict=True):
        row[rng.permutation(words)[:removed]] = False
    return kept


def kernel_weights(kept: NDArray[np.bool_]) -> Vector:
    """Weight of each neighbour by its distance from the whole text.

    >>> kernel_weights(np.array([[True, True, True, True], [True, False, False, False]])).round(4).tolist()
    [1.0, 0.1353]
    """
    cosine = np.sqrt(kept.sum(axis=1) / kept.shape[1])  # 0 for the empty text
    return np.asarray(np.exp(-(((100 * (1 - cosine)) / WIDTH) ** 2) / 2))


def fit_surrogate(kept: NDArray[np.bool_], scores: Vector) -> Lime:
    """Fit the ridge regression of scores on kept words; the intercept is not shrunk."""
    weights = kernel_weights(kept)
    design = kept.astype(np.float64)
    share = weights / weights.sum()
    centred, target = design - share @ design, scores - share @ scores
    gram = centred.T @ (weights[:, None] * centred) + RIDGE * np.eye(kept.shape[1])
    values = np.linalg.solve(gram, centred.T @ (weights * target))
    spread = float(weights @ target**2)
    rest = float(weights @ (target - centred @ values) ** 2)
    fit = 1 - rest / spread if spread > 1e-18 else float("nan")
    return Lime(values, float(share @ scores - share @ design @ values), fit)


def lime_values(
    words: int, game: Callable[[NDArray[np.bool_]], Vector], *, neighbours: int = 500, seed: int = 12345
) -> Lime:
    """Explain a game, which scores rows of kept words; equal rows are scored once.

    >>> result = lime_values(3, lambda rows: rows @ np.array([0.5, 0.25, -0.25]), neighbours=4000)
    >>> result.values.round(2).tolist(), round(result.fit, 3)
    ([0.5, 0.25, -0.25], 1.0)
    """
    kept = draw_neighbours(words, count=neighbours, seed=seed)
    distinct, back = np.unique(kept, axis=0, return_inverse=True)
    return fit_surrogate(kept, game(distinct)[back.reshape(-1)])
