"""Centroid: the cosine of the mean token vectors of two texts.

m(x) = sum_i w_i x_i / sum_i w_i        special tokens weigh nothing; with weigh=squared-length longer vectors more
score = m(x).m(y) / (|m(x)| |m(y)|)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.plugin import Choice, Encoder, Int, Pair, State, TextView, VectorMetric, option

__all__ = ["Centroid"]


@dataclass(frozen=True, kw_only=True)
class Centroid(VectorMetric[NDArray[np.float64]]):
    """Cosine of mean token vectors of one layer."""

    name: ClassVar[str] = "centroid"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"

    layer: int = option(0, Int(0), help="layer whose vectors are averaged")
    weigh: str = option("equal", Choice("equal", "squared-length"), help="what a token's vector counts")

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return (self.layer,)

    def represent(self, text: TextView, state: State) -> NDArray[np.float64]:
        vectors = text.layers[self.layer].astype(np.float64)
        weights = text.select(None, specials_weigh=False).weights
        if self.weigh == "squared-length":
            weights = weights * (vectors**2).sum(axis=1)
        mean = weights @ vectors / weights.sum()
        unit: NDArray[np.float64] = mean / np.linalg.norm(mean)
        return unit

    def compare(self, x: NDArray[np.float64], y: NDArray[np.float64], state: State, *, align: bool) -> Pair:
        return Pair([float(x @ y)])
