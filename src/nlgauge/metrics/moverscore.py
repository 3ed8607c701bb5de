"""MoverScore: the cost of moving the n-grams of one text onto those of the other.

What it computes
----------------

A text becomes a cloud of its n-grams, and the score is the cost of the optimal transport between two clouds:

    E(x_i^n) = sum_k idf(x_k) E(x_k)   over the n-gram         (equation 1)
    f(x_i^n) ~ sum_k idf(x_k)                                   (equation 2)
    WMD(x^n, y^n) = min_F <C, F>,  C_ij = ||E(x_i^n) - E(y_j^n)||

These are the paper's equations. The default is profile `v1` with n = 1 and exact transport: C is squared and the
score is 1 - WMD. Step by step, for one text:

    1. Scale the rows of each of the last five layers to unit length. Join them per token: the smallest, the mean and
       the largest value in each dimension, side by side (power means; three times the width).
    2. Keep special tokens, and the first piece of each word, without its other pieces. Drop every token whose surface
       is one character of Python's string.punctuation.
    3. Weigh each by its own idf = log((N + 1) / (df + 1)), counted on the N hypotheses for a hypothesis and on the N
       references for a reference; special tokens get 0.
    4. Make n-grams of neighbours among the tokens that are left (fewer than n make one): E by the weighted mean,
       which equals equation 1 up to its scale, f by the sum. Scale E to unit length, for n = 1 as well.

f is divided by its sum over the text. Without idf every kept token weighs the same, special ones too. A text without
tokens scores 0; under `paper` its cost is the mean length of the other text's vectors. For long texts, `solver` can
replace the exact plan by a bound or by entropic transport.

Worked example
--------------

Profile `v1` without idf: vectors have unit length, the cost is squared and the score is 1 - cost. For "a cat"
(rows, mass 1/2 each) and "the dog cat" (columns, mass 1/3 each)

             the   dog   cat
        a    .40  2.00   .80           F moves 1/3 from a to the, 1/6 from a to cat,
        cat  .08   .40   .00                   1/3 from cat to dog, 1/6 from cat to cat

so WMD = .4/3 + .8/6 + .4/3 + 0 = .4, and the score is .6.

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> toy_scores("moverscore:idf=none", "a cat", "the dog cat", vectors=vectors)
    {'score': [0.6]}

Profiles and deviations
-----------------------

Paper and released code disagree (D5.1 to D5.8), and so do the two released versions. A profile is one consistent set:

    profile  vector of a token                vector of an n-gram   cost       score       kept tokens      idf
    v1       min + mean + max of the last 5   average by idf, of    squared    1 - cost    first pieces,    each
             layers, each of unit length      unit length                                  no ASCII punct.  side's
    v2       last layer                       unit length; n = 1    Euclidean  1/(1+cost)  as v1            as v1
    paper    min + mean + max of the last 5   sum by idf            Euclidean  cost        all              as v1
    web      as v1                            as v1                 squared    1 - cost    all              none

`v1` is `moverscore.py`, which the authors call the reproducible version; `v2` is `moverscore_v2.py`, the default of
their README, in which `n_gram` has no effect: another n than 1 is shown as `v2*`. `web` is the authors' web
service. `paper` is a distance. Any other choice of a field but n is shown as `v1*`.

Differences to the released code: weights sum to exactly 1 (the code adds 1e-5 to the sum, and moves the missing
mass at the highest cost); a text that idf leaves without weight gets uniform weights (the code gives 1 or an
artefact).

Relations
---------

- With n = 1, no idf and one layer it is the word mover's distance on contextual vectors.
- SMD is the case n = sentence: one point per text. XMoverScore compares with the source instead of a reference.
- BERTScore lets each token choose its best match; here the plan must use up all mass of both sides.
- BERTScore correlates better on WMT17 with mpnet (.738; MoverScore .723, with n = 2 .728). With MiniLM,
  `moverscore:n=2,idf=none` has .674 and BERTScore .666. See docs/findings.md.

Citation
--------

Zhao, Peyrard, Liu, Gao, Meyer, Eger: "MoverScore: Text Generation Evaluating with Contextualized Embeddings and Earth
Mover Distance", EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int, NumberList, Pattern
from nlgauge.core.metric import Pair
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.profiles import Profile, profile_option
from nlgauge.core.resources import StopwordList, idf_option
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import Representation, State
from nlgauge.encoders.base import Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.citations import cite
from nlgauge.metrics.parts.transport_metric import Problem, TransportMetric, mean_length
from nlgauge.vectors.cloud import Cloud, TokenPoints, unit_rows
from nlgauge.vectors.points import (
    PUNCTUATION,
    SPECIALS,
    SUBWORDS,
    TokenFilter,
    barycentre_of_layers,
    kde_routing_of_layers,
    ngrams,
    power_means,
)
from nlgauge.vectors.transport import trim_flow

#: Beside options: whether the vectors of each layer and of each n-gram are scaled to length 1 (else an n-gram is the
#: sum of equation 1), whether the cost is a squared distance, what becomes of it (a key of `SCORES`), and the n that
#: the released code has whatever it is told.
PROFILES = {
    "v1": Profile(
        aggregation="pmeans", idf="both", subwords="first", punctuation="drop-ascii",
        unit_layers=True, unit_points=True, squared=True, score="1-cost",
    ),
    "v2": Profile(
        aggregation="last", idf="both", subwords="first", punctuation="drop-ascii",
        unit_layers=False, unit_points=True, squared=False, score="1/(1+cost)", fixed_n=1,
    ),
    "paper": Profile(
        aggregation="pmeans", idf="both", subwords="all", punctuation="keep",
        unit_layers=False, unit_points=False, squared=False, score="cost",
    ),
    "web": Profile(
        aggregation="pmeans", idf="none", subwords="all", punctuation="keep",
        unit_layers=True, unit_points=True, squared=True, score="1-cost",
    ),
}  # fmt: skip

#: What becomes of the cost.
SCORES: dict[str, Callable[[float], float]] = {
    "cost": lambda cost: cost,
    "-cost": lambda cost: -cost,
    "1-cost": lambda cost: 1 - cost,
    "1/(1+cost)": lambda cost: 1 / (1 + cost),
}

#: Layers that power means, routing and barycentre look at.
_LAYERS = 5

#: Which aggregation an option belongs to.
_OWNERS = {"exponents": "pmeans", "routing_step": "kde-routing", "routing_epsilon": "kde-routing"}

_AGGREGATIONS = "pmeans, kde-routing, barycentre, last, two-thirds (layer 8 of 12), or layer-N"


@dataclass(frozen=True, kw_only=True)
class NGramMetric(TransportMetric[Representation]):
    """What becomes a point, its vector, and what it costs to move it."""

    aggregation: str = option(
        BY_PROFILE,
        Pattern(r"pmeans|kde-routing|barycentre|last|two-thirds|layer-\d+", _AGGREGATIONS),
        help="how layers become one vector per token",
        short="ag",
    )
    exponents: str = option(
        "-inf+1+inf",
        NumberList(finite=False),
        help="exponents of the power means (-inf the smallest, 1 the mean, inf the largest)",
        short="ex",
    )
    routing_step: float = option(
        1.0, Float(1e-6, 1e6), help="how fast layers near the routed vector gain (alpha, D5.11)", short="rst"
    )
    routing_epsilon: float = option(
        0.05, Float(1e-12, 1e6), help="change of the agreement below which routing stops (D5.11)", short="rep"
    )
    idf: str = idf_option(BY_PROFILE)
    subwords: str = option(BY_PROFILE, Choice(*SUBWORDS), help="pieces of a word that are kept", short="sw")
    punctuation: str = option(BY_PROFILE, Choice(*PUNCTUATION), help="whether punctuation is dropped", short="pu")
    stopwords: str = option("none", StopwordList(), help="words that are dropped", short="st")
    specials: str = option(
        "keep", Choice(*SPECIALS), help="special tokens such as [CLS]: keep is as published", short="sp"
    )

    @property
    def unused(self) -> Mapping[str, str]:
        """Exponents belong to power means, step and epsilon to routing."""
        if self.aggregation is BY_PROFILE:
            return super().unused
        return dict(super().unused) | {
            name: f"belongs to aggregation={owner}, and the aggregation is {self.aggregation}"
            for name, owner in _OWNERS.items()
            if owner != self.aggregation
        }

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # the profile decides
        """Whether this profile's score is a similarity."""
        return bool(self.published.score != "cost")

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        top, kind = encoder.layers, self.aggregation
        if kind.startswith("layer-"):
            layer = int(kind.removeprefix("layer-"))
            if layer > top:
                msg = f"aggregation must name a layer from 0 to {top} for model {encoder.model!r}, got {kind}"
                raise RecipeError(msg)
            return (layer,)
        if kind in {"last", "two-thirds"}:
            return (top if kind == "last" else round(top * 2 / 3),)
        return tuple(range(min(top, max(1, top - _LAYERS + 1)), top + 1))  # static vectors have layer 0 only

    def cloud(self, text: TextView, state: State, n: int | str) -> Cloud | None:
        """The n-grams of a text; None where no token is left."""
        keep = TokenFilter(self.subwords, self.punctuation, state["stopwords"].words, self.specials)
        kept, by_word = text.select(keep, specials_weigh=True), self.subwords == "average"
        if not len(kept.rows) or text.tokens.empty:
            return None
        # All that a token's vector depends on beside the text: recipes that agree on it share the vectors.
        own = tuple(getattr(self, name) for name in _OWNERS if name not in self.unused)
        key = (state.layers, self.aggregation, own, self.published.unit_layers, by_word)
        if n == 1 and self.published.unit_points:  # its distances are shared with recipes that keep other tokens
            points = text.encoded.derived(
                ("points", key), lambda: TokenPoints(unit_rows(self.token_vectors(text, state), floor=1e-6))
            )
            return text.cloud(points, kept, by_word=by_word)
        e = text.encoded.derived(("vectors", key), lambda: self.token_vectors(text, state))
        size = len(kept.rows) if n == "sentence" else int(n)
        x, f = ngrams(e[kept.rows], kept.weights, size)  # equation 1 up to its scale, and equation 2
        x = unit_rows(x, floor=1e-6) if self.published.unit_points else x * f[:, None].astype(np.float32)
        return text.cloud(x.astype(np.float64), kept, n=size, weights=f, by_word=by_word)

    def token_vectors(self, text: TextView, state: State) -> NDArray[np.float32]:
        """One vector per token, or per word where pieces are averaged."""
        layers = [text.layers[layer] for layer in state.layers]
        if self.aggregation == "kde-routing" or self.published.unit_layers:
            layers = [unit_rows(layer) for layer in layers]
        if len(layers) == 1:
            vectors = layers[0]
        elif self.aggregation == "barycentre":
            vectors = barycentre_of_layers(layers, np.ones(len(layers[0]))).points.astype(np.float32)
        elif self.aggregation == "kde-routing":
            vectors = kde_routing_of_layers(layers, step=self.routing_step, epsilon=self.routing_epsilon)
        else:
            vectors = power_means(layers, [float(power) for power in self.exponents.split("+")])
        return text.tokens.average_pieces(vectors) if self.subwords == "average" else vectors

    def move(self, x: Cloud | None, y: Cloud | None, *, align: bool, trim: float = 0.0) -> Pair:
        """What it costs to move one cloud onto the other, as a score; `trim` is a share of the flow."""
        score = SCORES[self.published.score]
        if x is None or y is None:
            is_distance = self.published.score in {"cost", "-cost"}
            return Pair([score(mean_length(y if x is None else x, self.lengths)) if is_distance else 0.0])
        wmd = Problem(x, y, self.costs, self.solver)  # WMD = min_F <C, F>
        cost = trim_flow(wmd.plan.flow, wmd.costs, share=trim).cost if trim else wmd.cost
        return Pair([score(cost)], wmd.flow() if align else None, wmd.converged)

    def costs(self, x: Cloud, y: Cloud) -> NDArray[np.float64]:
        """C_ij = ||E(x_i) - E(y_j)||"""
        return x.distances(y, squared=self.published.squared)

    def lengths(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances to the origin."""
        lengths: NDArray[np.float64] = np.linalg.norm(points, axis=1)
        return lengths


@dataclass(frozen=True, kw_only=True)
class MoverScore(NGramMetric[Cloud]):
    """Exact transport between clouds of n-grams, layers joined by power means."""

    name: ClassVar[str] = "moverscore"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES
    citation: ClassVar[str] = cite("zhao-etal-2019-moverscore")

    profile: str = profile_option("v1", PROFILES)
    n: int | str = option(
        1, Int(1, also=["sentence"]), help="tokens per n-gram; sentence: one point per text", in_profile=False
    )

    @property
    def deviates(self) -> bool:
        """Another n than a profile obeys makes it another one."""
        return super().deviates or self.n != getattr(self.published, "fixed_n", self.n)

    def represent(self, text: TextView, state: State) -> Cloud | None:
        return self.cloud(text, state, self.n)

    def compare(self, x: Cloud | None, y: Cloud | None, state: State, *, align: bool) -> Pair:
        return self.move(x, y, align=align)
