"""MoverScore (Zhao et al., "MoverScore: Text Generation Evaluating with Contextualized Embeddings and Earth
Mover Distance", EMNLP 2019).

A text becomes the cloud of its n-grams; the score is what it costs to move one cloud onto the other:

    E(x_i^n) = sum_k idf(x_k) E(x_k)   over the n-gram         (equation 1)
    f(x_i^n) ~ sum_k idf(x_k)                                   (equation 2)
    WMD(x^n, y^n) = min_F <C, F>,  C_ij = ||E(x_i^n) - E(y_j^n)||

Paper and released code disagree (D5.1 to D5.8), and so do the two released versions. A profile names one
consistent set:

    profile  vector of a token                vector of an n-gram   cost       score       kept tokens      idf
    v1       min + mean + max of the last 5   average by idf, of    squared    1 - cost    first pieces,    each
             layers, each of unit length      unit length                                  no ASCII punct.  side's
    v2       last layer                       unit length; n = 1    Euclidean  1/(1+cost)  as v1            as v1
    paper    min + mean + max of the last 5   sum by idf            Euclidean  cost        all              as v1
    web      as v1                            as v1                 squared    1 - cost    all              none

`v1` is `moverscore.py`, which the authors name as the reproducible version; `v2` is `moverscore_v2.py`, the
default of their README, whose `n_gram` does nothing: another n than 1 shows here as `v2*`. `web` is the web
service. `paper` is a distance. Special tokens are kept in all of them; an idf computed from texts gives them
0. Any other choice of a field but n shows as `v1*`.

Where this file differs from the released code on purpose: weights sum to exactly 1 (the code adds 1e-5 to
the sum, and moves the missing mass at the highest cost); a text that idf leaves without weight gets uniform
weights (the code scores 1 or an artefact, issue 7 of its repository).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import Cloud, unit_rows
from nlgauge.clouds.ngrams import ngrams
from nlgauge.clouds.token_cloud import TokenCloud, TokenPoints
from nlgauge.corpus.views import TextView
from nlgauge.metrics.parts.ngram_options import NGramMetric, NGramProfile
from nlgauge.recipes.kinds import Whole
from nlgauge.recipes.metric import Pair, State
from nlgauge.recipes.options import option
from nlgauge.recipes.profile import ProfileName
from nlgauge.transport import Plan

__all__ = ["MoverScore"]

PROFILES = {
    "v1": NGramProfile("pmeans", "both", "first", "drop-ascii", True, True, True, "1-cost"),
    "v2": NGramProfile("last", "both", "first", "drop-ascii", False, True, False, "1/(1+cost)"),
    "paper": NGramProfile("pmeans", "both", "all", "keep", False, False, False, "cost"),
    "web": NGramProfile("pmeans", "none", "all", "keep", True, True, True, "1-cost"),
}

#: What becomes of the cost.
_SCORES: dict[str, Callable[[float], float]] = {
    "cost": lambda cost: cost,
    "-cost": lambda cost: -cost,
    "1-cost": lambda cost: 1 - cost,
    "1/(1+cost)": lambda cost: 1 / (1 + cost),
}


@dataclass(frozen=True, kw_only=True)
class MoverScore(NGramMetric):
    """Exact transport between clouds of n-grams, layers joined by power means."""

    name: ClassVar[str] = "moverscore"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    profiles: ClassVar[Mapping[str, NGramProfile]] = PROFILES
    citation: ClassVar[str] = """\
@inproceedings{zhao-etal-2019-moverscore,
  title     = {{M}over{S}core: Text Generation Evaluating with Contextualized Embeddings and Earth Mover Distance},
  author    = {Zhao, Wei and Peyrard, Maxime and Liu, Fei and Gao, Yang and Meyer, Christian M. and Eger, Steffen},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year      = {2019},
  url       = {https://aclanthology.org/D19-1053}
}"""

    profile: str = option("v1", ProfileName(*PROFILES), help="where paper and code disagree", short="p")
    n: int | str = option(
        1, Whole(1, also=["sentence"]), help="tokens per n-gram; sentence: one point per text", in_profile=False
    )

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # the profile decides
        """Whether this profile's score is a similarity."""
        return bool(self.published.score != "cost")

    @property
    def deviates(self) -> bool:
        """The released v2 ignores its n, so another one than 1 is not v2."""
        return super().deviates or (self.profile == "v2" and self.n != 1)

    def represent(self, text: TextView, state: State) -> Cloud | None:
        rows, f, zero = text.select(self.token_filter(state), specials_weigh=True)
        if not len(rows) or text.tokens.empty:
            return None
        key, by_word = self.vectors_key(state), self.subwords == "average"
        if self.n == 1 and self.published.unit_points:  # its distances are shared with recipes that keep other tokens
            points = text.encoded.derived(
                ("points", key),
                lambda: TokenPoints(
                    unit_rows(self.token_vectors(text, state), floor=1e-6), text.words(by_word=by_word)
                ),
            )
            return TokenCloud(points, rows, f, zero)
        vectors = text.encoded.derived(("vectors", key), lambda: self.token_vectors(text, state))
        size = len(rows) if self.n == "sentence" else int(self.n)
        x, f = ngrams(vectors[rows], f, size)  # equation 1 up to its scale, and equation 2
        x = unit_rows(x, floor=1e-6) if self.published.unit_points else x * f[:, None].astype(np.float32)
        words = text.words(by_word=by_word)
        return Cloud(x.astype(np.float64), f, lambda: _ngram_labels([words[row] for row in rows], size), zero)

    def cost(self, x: Cloud, y: Cloud) -> NDArray[np.float64]:
        return x.distances(y, squared=self.published.squared)  # C_ij = ||E(x_i) - E(y_j)||

    def value(self, x: Cloud, y: Cloud, costs: NDArray[np.float64], plan: Plan) -> Pair:
        return Pair([_SCORES[self.published.score](plan.cost)])  # WMD = min_F <C, F>

    def value_of_empty(self, cloud: Cloud | None) -> float:
        if self.published.score not in {"cost", "-cost"} or cloud is None:
            return 0.0
        distance = np.linalg.norm(cloud.points, axis=1) @ cloud.weights / cloud.weights.sum()
        return _SCORES[self.published.score](float(distance))


def _ngram_labels(words: Sequence[str], size: int) -> tuple[str, ...]:
    size = min(size, len(words))
    return tuple(" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
