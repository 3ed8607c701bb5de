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
