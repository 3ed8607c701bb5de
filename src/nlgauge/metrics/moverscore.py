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

Of long texts the cost can be had by a bound, or by entropic transport, instead of the exact plan (`solver`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Int
from nlgauge.core.metric import Pair
from nlgauge.core.options import option
from nlgauge.core.profiles import profile_option
from nlgauge.core.tokens import TextView, token_spans
from nlgauge.core.vector_metric import State
from nlgauge.metrics.parts.ngram_options import SCORES, NGramMetric, NGramProfile
from nlgauge.metrics.parts.transport_metric import Alone, Problem
from nlgauge.vectors.cloud import Cloud, PointSpans, TokenCloud, TokenPoints, unit_rows
from nlgauge.vectors.points import ngram_labels, ngram_spans, ngrams

PROFILES = {
    "v1": NGramProfile("pmeans both first drop-ascii", unit="layers points", squared=True, score="1-cost"),
    "v2": NGramProfile("last both first drop-ascii", unit="points", squared=False, score="1/(1+cost)", fixed_n=1),
    "paper": NGramProfile("pmeans both all keep", unit="", squared=False, score="cost"),
    "web": NGramProfile("pmeans none all keep", unit="layers points", squared=True, score="1-cost"),
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

    profile: str = profile_option("v1", PROFILES)
    n: int | str = option(
        1, Int(1, also=["sentence"]), help="tokens per n-gram; sentence: one point per text", in_profile=False
    )

    def represent(self, text: TextView, state: State) -> Cloud | None:
        rows, f, zero = text.select(self.token_filter(state), specials_weigh=True)
        if not len(rows) or text.tokens.empty:
            return None
        key, by_word = self.vectors_key(state), self.subwords == "average"
        if self.n == 1 and self.published.unit_points:  # its distances are shared with recipes that keep other tokens
            points = text.encoded.derived(
                ("points", key),
                lambda: TokenPoints(
                    unit_rows(self.token_vectors(text, state), floor=1e-6),
                    text.words(by_word=by_word),
                    partial(token_spans, text.tokens, by_word=by_word),
                ),
            )
            return TokenCloud(points, rows, f, zero)
        vectors = text.encoded.derived(("vectors", key), lambda: self.token_vectors(text, state))
        size = len(rows) if self.n == "sentence" else int(self.n)
        x, f = ngrams(vectors[rows], f, size)  # equation 1 up to its scale, and equation 2
        x = unit_rows(x, floor=1e-6) if self.published.unit_points else x * f[:, None].astype(np.float32)
        words, tokens = text.words(by_word=by_word), text.tokens  # no more of the text is kept alive

        def locate() -> tuple[PointSpans, ...]:
            spans = token_spans(tokens, by_word=by_word)
            return ngram_spans([spans[row] for row in rows], size)

        return Cloud(x.astype(np.float64), f, lambda: ngram_labels([words[row] for row in rows], size), zero, locate)

    def cost(self, x: Cloud, y: Cloud) -> NDArray[np.float64]:
        return x.distances(y, squared=self.published.squared)  # C_ij = ||E(x_i) - E(y_j)||

    def value(self, problem: Problem | Alone) -> Pair:
        turned = SCORES[self.published.score]
        if isinstance(problem, Problem):
            return Pair([turned(problem.cost)], converged=problem.converged)  # WMD = min_F <C, F>
        is_distance = self.published.score in {"cost", "-cost"}
        return Pair([turned(problem.to_origin(lambda x: np.linalg.norm(x, axis=1))) if is_distance else 0.0])
