"""Centroid: the cosine of the mean token vectors of two texts.

m(x) = sum_i w_i x_i / sum_i w_i        special tokens weigh nothing; with weigh=squared-length longer vectors more
score = m(x).m(y) / (|m(x)| |m(y)|)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import nlgauge
from nlgauge.core.kinds import Choice, Int

__all__ = ["Centroid"]


@dataclass(frozen=True, kw_only=True)
class Centroid(nlgauge.VectorMetric[NDArray[np.float64]]):
    """Cosine of mean token vectors of one layer."""

    name: ClassVar[str] = "centroid"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"

    layer: int = nlgauge.option(0, Int(0), help="layer whose vectors are averaged", short="l")
    weigh: str = nlgauge.option(
        "equal", Choice("equal", "squared-length"), help="what a token's vector counts", short="wg"
    )

    def layers(self, encoder: nlgauge.Encoder) -> tuple[int, ...]:
        return (self.layer,)

    def represent(self, text: nlgauge.TextView, state: nlgauge.State) -> NDArray[np.float64]:
        vectors = text.layers[self.layer].astype(np.float64)
        weights = text.select(None, specials_weigh=False).weights
        if self.weigh == "squared-length":
            weights = weights * (vectors**2).sum(axis=1)
        mean = weights @ vectors / weights.sum()
        unit: NDArray[np.float64] = mean / np.linalg.norm(mean)
        return unit

    def compare(
        self, x: NDArray[np.float64], y: NDArray[np.float64], state: nlgauge.State, *, align: bool
    ) -> nlgauge.Pair:
        return nlgauge.Pair([float(x @ y)])
