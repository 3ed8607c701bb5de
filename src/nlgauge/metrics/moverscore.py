"""MoverScore: the cost of moving the n-grams of one text onto those of the other.

What it computes
----------------

A text is a cloud of n-gram vectors. The score is the cost of the optimal transport between two clouds:

    E(x_i^n) = sum_k idf(x_k) E(x_k)   over the n-gram         (equation 1)
    f(x_i^n) ~ sum_k idf(x_k)                                   (equation 2)
    WMD(x^n, y^n) = min_F <C, F>,  C_ij = ||E(x_i^n) - E(y_j^n)||

These are the paper's equations. The default is profile `v1` with n = 1 and exact transport: C is squared and the
score is 1 - WMD. Step by step, for one text:

    1. Scale the rows of each of the last five layers to unit length. Combine them per token: concatenate the minimum,
       the mean and the maximum of each dimension (power means; three times the width).
    2. Keep special tokens and the first piece of each word; drop the other pieces. Drop every token whose surface is
       one character of Python's string.punctuation. Both rules apply to each token separately.
    3. Weight each token by its own idf = log((N + 1) / (df + 1)), counted on the N hypotheses for a hypothesis and on
       the N references for a reference. Special tokens get 0.
    4. Form n-grams of neighbours among the remaining tokens; fewer than n tokens form one n-gram. E is the weighted
       mean, which equals equation 1 up to scale; f is the sum. Scale E to unit length, also for n = 1: divide it by
       its length plus 1e-6, as in the released code.

f is divided by its sum over the text. Without idf all kept tokens have the same weight, special tokens included. A
text without tokens scores 0; under `paper` its cost is the mean length of the other text's vectors. For long texts,
`solver` can replace the exact plan by a lower bound or by entropic transport.

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

`v1` is `moverscore.py`, which the authors call the reproducible version. `v2` is `moverscore_v2.py`, the default of
their README. There `n_gram` has no effect, so any n other than 1 is shown as `v2*`. `web` is the authors' web
service. `paper` is a distance. A profile with a changed option other than n is shown with a star: `v1*`.

Differences from the released code: weights sum to exactly 1 (the code adds 1e-5 to the sum, and moves the missing
mass at the highest cost); if idf gives all tokens of a text weight 0, the weights are uniform (the code gives 1 or an
artefact).

Relations
---------

- With n = 1, no idf and one layer it is the word mover's distance on contextual vectors.
- SMD is the case n = sentence: one point per text. XMoverScore compares with the source instead of a reference.
- In BERTScore each token takes its best match; here the plan must use up all mass of both texts.
- BERTScore correlates better on WMT17 with mpnet (.738; MoverScore .723, with n = 2 .728). With MiniLM,
  `moverscore:n=2,idf=none` has .674 and BERTScore .666. See docs/findings.

Citation
--------

Zhao, Peyrard, Liu, Gao, Meyer, Eger: "MoverScore: Text Generation Evaluating with Contextualized Embeddings and Earth
Mover Distance", EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Int, Pattern
from nlgauge.core.metric import Pair, Profile, profile_option
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.resources import StopwordList, idf_option
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State, VectorMetric
from nlgauge.encoders.base import Encoder
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.layers import (
    exponents_option,
    punctuation_option,
    routing_of,
    routing_option,
    subwords_option,
    unused_by,
)
from nlgauge.metrics.parts.transport import Problem, mean_length, multiref_option, solver_option
from nlgauge.vectors.cloud import Cloud
from nlgauge.vectors.points import AGGREGATIONS, SPECIALS, Aggregation, TokenFilter
from nlgauge.vectors.transport import trim_flow

if TYPE_CHECKING:
    from typing_extensions import Self

#: Besides options: whether the vectors of each layer (`unit_layers`) and of each n-gram (`unit_points`) are scaled to
#: length 1 (else an n-gram is the sum of equation 1), whether the cost is a squared distance, the function from cost
#: to score (a key of `SCORES`), and the n that the released code always uses (`fixed_n`).
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

#: Added to the length of a vector before dividing by it, as in the released code.
_FLOOR = 1e-6

#: Functions from cost to score.
SCORES: dict[str, Callable[[float], float]] = {
    "cost": lambda cost: cost,
    "-cost": lambda cost: -cost,
    "1-cost": lambda cost: 1 - cost,
    "1/(1+cost)": lambda cost: 1 / (1 + cost),
}


@dataclass(frozen=True)
class WordMover:
    """Clouds of n-grams and the transport between them, shared by MoverScore and XMoverScore."""

    n: int | str
    aggregation: Aggregation
    keep: TokenFilter
    solver: str
    published: Any
    """Conventions of the profile."""

    @classmethod
    def of(cls, recipe: Any) -> Self:
        """Build it from the options of a recipe and its profile."""
        routing, unit = routing_of(recipe), recipe.published.unit_layers
        aggregation = Aggregation(recipe.aggregation, recipe.exponents, routing, unit)
        keep = TokenFilter(recipe.subwords, recipe.punctuation, specials=recipe.specials)
        return cls(recipe.n, aggregation, keep, recipe.solver, recipe.published)

    def cloud(self, text: TextView, state: State) -> Cloud | None:
        """The n-grams of a text; None if no token is left."""
        selection = text.select(replace(self.keep, stopwords=state["stopwords"].words), specials_weigh=True)
        if not len(selection.rows) or text.tokens.empty:
            return None
        by_word = self.keep.subwords == "average"
        unit, unigrams = self.published.unit_points, self.n == 1
        # E(x_k) of every token or word; unigrams are scaled at once, so only the scaled vectors stay in memory
        e = text.token_points(self.aggregation, state.layers, by_word, floor=_FLOOR if unit and unigrams else None)
        tokens = text.cloud(e, selection, by_word=by_word)
        x = tokens if unigrams else self.ngrams(tokens)
        if not unit:
            return x.times_weights()
        return x if unigrams else x.unit(floor=_FLOOR)

    def ngrams(self, tokens: Cloud) -> Cloud:
        """Form n-grams of neighbouring tokens; fewer than n form one. An n-gram of weight 0 is the zero vector."""
        e, idf = tokens.vectors, tokens.weights
        n = len(idf) if self.n == "sentence" else min(int(self.n), len(idf))
        k = np.arange(len(idf) - n + 1)[:, None] + np.arange(n)  # the tokens of each n-gram
        f = idf[k].sum(axis=1)  # equation 2
        share = idf[k] / np.where(f > 0, f, 1.0)[:, None]
        x = np.einsum("wk,wkd->wd", share, e[k]).astype(np.float32)  # equation 1, divided by f
        return tokens.ngrams(x, f, n)

    def costs(self, x: Cloud, y: Cloud) -> NDArray[np.float64]:
        """C_ij = ||E(x_i^n) - E(y_j^n)||, or its square."""
        return x.distances(y, squared=self.published.squared)

    def move(self, x: Cloud | None, y: Cloud | None, *, align: bool, trim: float = 0.0) -> Pair:
        """The score from the cost min_F <C, F>; `trim` is the share of the smallest masses of F to drop."""
        score = SCORES[self.published.score]
        if x is None or y is None:
            is_distance = self.published.score in {"cost", "-cost"}
            return Pair([score(mean_length(y if x is None else x, self.lengths)) if is_distance else 0.0])
        problem = Problem(x, y, self.costs, self.solver)
        wmd = trim_flow(problem.plan.flow, problem.costs, share=trim).cost if trim else problem.cost
        return Pair([score(wmd)], problem.flow() if align else None, problem.converged)

    def lengths(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances to the origin."""
        lengths: NDArray[np.float64] = np.linalg.norm(points, axis=1)
        return lengths


@dataclass(frozen=True, kw_only=True)
class MoverScore(VectorMetric[Cloud]):
    """Optimal transport between clouds of n-gram vectors; layers are combined by power means."""

    name: ClassVar[str] = "moverscore"
    title: ClassVar[str] = "MoverScore"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    empty_value: ClassVar[float | None] = None
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES
    citation: ClassVar[str] = cite("zhao-etal-2019-moverscore")

    profile: str = profile_option("v1", PROFILES)
    n: int | str = option(
        1,
        Int(1, also=["sentence"]),
        help="tokens per n-gram; sentence: the whole text is one n-gram",
        in_profile=False,
    )
    aggregation: str = option(
        BY_PROFILE,
        Pattern(*AGGREGATIONS),
        help="how to combine layers into one vector per token",
    )
    exponents: str = exponents_option()
    routing_step: float = routing_option("step")
    routing_epsilon: float = routing_option("epsilon")
    routing_kernel: str = routing_option("kernel")
    routing_denominator: str = routing_option("denominator")
    idf: str = idf_option(BY_PROFILE)
    subwords: str = subwords_option()
    punctuation: str = punctuation_option()
    stopwords: str = option("none", StopwordList(), help="words to drop")
    specials: str = option(
        "keep", Choice(*SPECIALS), help="whether to keep special tokens such as [CLS] (published: keep)"
    )
    solver: str = solver_option()
    multiref: str = multiref_option()

    @cached_property
    def words(self) -> WordMover:
        """Clouds and transport."""
        return WordMover.of(self)

    @property
    def unused(self) -> Mapping[str, str]:
        """Exponents apply to power means only, the options of routing to routing only."""
        return dict(super().unused) | unused_by(self.aggregation)

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # the profile decides
        """Whether this profile's score is a similarity."""
        return bool(self.published.score != "cost")

    @property
    def deviates(self) -> bool:
        """Also if n differs from the n that the profile always uses."""
        return super().deviates or self.n != getattr(self.published, "fixed_n", self.n)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return self.words.aggregation.layers(encoder)

    def represent(self, text: TextView, state: State) -> Cloud | None:
        return self.words.cloud(text, state)

    def compare(self, x: Cloud | None, y: Cloud | None, state: State, *, align: bool) -> Pair:
        return self.words.move(x, y, align=align)
