"""Sentence mover's distance: MoverScore with the whole text as one n-gram.

What it computes
----------------

    SMD(x, y) = ||E(x_1^l) - E(y_1^l)||,   E(x_1^l) = sum_k idf(x_k) E(x_k)

Each text is one point, so there is nothing to optimise.

Worked example
--------------

Profile `v1` without idf: with m the mean of a text's token vectors, scaled to unit length, the cost is
||m_x - m_y||^2 = 2 - 2 cos(m_x, m_y) and the score 1 - cost.

    >>> import numpy as np
    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> x, y = np.mean([[1, 0], [0.6, 0.8]], axis=0), np.mean([[0.8, 0.6], [0, 1], [0.6, 0.8]], axis=0)
    >>> round(float(2 * x @ y / np.linalg.norm(x) / np.linalg.norm(y) - 1), 4)
    0.6739
    >>> toy_scores("smd:idf=none", "a cat", "the dog cat", vectors=vectors)
    {'score': [0.6739]}

Profiles and deviations
-----------------------

The profiles are MoverScore's. `web`, the authors' web service, has its own formula (D5.8): with the mean m of a
text's token vectors,

    SMD_web(x, y) = -|| m_x / ||m_x||_2  -  m_y / ||m_y||_2 ||_1      highest 0

Relations
---------

- `moverscore:n=sentence` computes the same number under the profiles other than `web`.
- `sentsim:combine=smd` has the distance between plain means (its equation 9) as a part.

Citation
--------

Section 3 of Zhao, Peyrard, Liu, Gao, Meyer, Eger: "MoverScore: Text Generation Evaluating with Contextualized
Embeddings and Earth Mover Distance", EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice
from nlgauge.core.metric import Profile, profile_option
from nlgauge.core.options import option
from nlgauge.metrics import moverscore
from nlgauge.metrics.moverscore import MoverScore, WordMover
from nlgauge.vectors.cloud import Cloud
from nlgauge.vectors.transport import EXACT

PROFILES = moverscore.PROFILES | {
    "web": Profile(**(vars(moverscore.PROFILES["web"]) | {"score": "-cost", "taxicab": True}))
}


class TextMover(WordMover):
    """One point per text: m = E(x_1^l), scaled to unit length unless the profile is `paper`."""

    def costs(self, x: Cloud, y: Cloud) -> NDArray[np.float64]:
        """||m_x - m_y||, squared under `v1`; SMD_web without its sign."""
        if not hasattr(self.published, "taxicab"):
            return super().costs(x, y)
        m_x, m_y = x.points[:, None], y.points[None]
        taxicab: NDArray[np.float64] = np.abs(m_x - m_y).sum(axis=-1)
        return taxicab

    def lengths(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """||m||."""
        if not hasattr(self.published, "taxicab"):
            return super().lengths(points)
        taxicab: NDArray[np.float64] = np.abs(points).sum(axis=1)
        return taxicab


@dataclass(frozen=True, kw_only=True)
class SMD(MoverScore):
    """Distance between two texts, each represented by one vector."""

    name: ClassVar[str] = "smd"
    title: ClassVar[str] = "SMD"
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES

    profile: str = profile_option("v1", PROFILES)
    n: int | str = option(
        "sentence", Choice("sentence"), help="always sentence: the whole text is one n-gram", in_profile=False
    )
    solver: str = option(EXACT, Choice(EXACT), help="always exact", optional=True)

    @cached_property
    def words(self) -> TextMover:
        """One point per text, and the distance between two of them."""
        return TextMover.of(self)
