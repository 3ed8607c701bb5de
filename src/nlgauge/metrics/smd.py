"""Sentence mover's distance (Zhao et al. 2019, section 3): MoverScore with the whole text as one n-gram.

    SMD(x, y) = ||E(x_1^l) - E(y_1^l)||,   E(x_1^l) = sum_k idf(x_k) E(x_k)

There is one point on each side, so there is nothing to optimise. The profiles are MoverScore's; `web`, the
authors' web service, has a formula of its own (D5.8): with the mean m of a text's token vectors,

    SMD_web(x, y) = -|| m_x / ||m_x||_2  -  m_y / ||m_y||_2 ||_1      highest 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import LabelledCloud
from nlgauge.errors import RecipeError
from nlgauge.metrics.moverscore import MoverScore, parse_n
from nlgauge.metrics.parts.transport_metric import Moved
from nlgauge.recipes.metric import option
from nlgauge.transport import Plan

__all__ = ["SMD"]


@dataclass(frozen=True, kw_only=True)
class SMD(MoverScore):
    """One point per text, and the distance between two of them."""

    name: ClassVar[str] = "smd"
    n: int | str = option("sentence", parse=parse_n, help="sentence: the whole text is one n-gram")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n != "sentence":
            msg = f"n of smd is 'sentence', got {self.n!r}; for n-grams use moverscore"
            raise RecipeError(msg)

    def costs(self, hypothesis: LabelledCloud, reference: LabelledCloud) -> NDArray[np.float64]:
        if self.profile == "web":
            taxicab: NDArray[np.float64] = np.abs(hypothesis.points[:, None] - reference.points[None]).sum(axis=-1)
            return taxicab
        return super().costs(hypothesis, reference)

    def moved(
        self, hypothesis: LabelledCloud, reference: LabelledCloud, costs: NDArray[np.float64], plan: Plan
    ) -> Moved:
        if self.profile == "web":
            return Moved([-plan.cost])
        return super().moved(hypothesis, reference, costs, plan)

    def value_of_empty(self, cloud: LabelledCloud) -> float:
        if self.profile == "web" and len(cloud):
            return -float(np.abs(cloud.points).sum(axis=1) @ cloud.weights / cloud.weights.sum())
        return super().value_of_empty(cloud)
