"""Made metrics that follow people less and less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
