"""Made metrics that follow people less and less, and PERM-BOTH by its definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.permutation import swap_signs

Array = NDArray[np.float64]


def made_scores(metrics: int = 3, rows: int = 120, seed: int = 0) -> tuple[Array, Array]:
    """Metrics that follow people less and less."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=rows)
    noise = rng.normal(size=(metrics, rows)) * np.linspace(0.5, 2, metrics)[:, None]
    return 3 + 7 * (human + noise), human


def clustered_scores(seed: int, documents: int = 30, rows: int = 10) -> tuple[Array, Array, NDArray[np.intp]]:
    """Two metrics that follow people equally well, where rows of a document are alike; and the document of each row.

    Of the variance 1.25 of people's scores, and of either metric's error, 1 is the document's. So the correlation of
    the population is 1.25 / sqrt(1.25 * 2.5).
    """
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(documents), rows)
    human = rng.normal(size=documents)[of] + 0.5 * rng.normal(size=of.size)
    errors = rng.normal(size=(2, documents))[:, of] + 0.5 * rng.normal(size=(2, of.size))
    return human + errors, human, of


def signs_of(rows: int, draws: int, seed: int = 12345) -> Array:
    """Signs of all draws, rows x draws."""
    return np.concatenate(list(swap_signs(rows, draws, seed)))


def naive_p(a: Array, b: Array, statistic: Callable[[Array], float], signs: Array) -> float:
    """p of "the first is higher", draw by draw; a draw without a value speaks for chance."""
    z = [(scores - scores.mean()) / scores.std() for scores in (a, b)]
    delta = statistic(z[0]) - statistic(z[1])
    reached = 0
    for swap in signs.T.reshape(-1, *a.shape) < 0:
        swapped = [np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1])]
        reached += not statistic(swapped[0]) - statistic(swapped[1]) < delta - 1e-12
    return reached / signs.shape[1]
