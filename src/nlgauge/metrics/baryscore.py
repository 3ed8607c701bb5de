"""BaryScore: the cost of moving the barycentre of a text's layers onto that of the other text.

What it computes
----------------

Each of the last five hidden states of a text is a cloud of unit vectors, one point per token. Their Wasserstein
barycentre combines them into one cloud. The score is the cost of moving one text's barycentre onto the other's:

    X = argmin_X  sum_l W2^2((b, X), (w, x_l))                   one point of X per token, its weight b fixed
    W    = min_T <T, C>,  C_ij = ||X_i - Y_j||^2                 squared distance, no root
    SD_r = <T_r, C>,      T_r the entropic plan of regularisation r

All are distances: lower is better. The default is profile `corrected` with measure W.

- Weights: b = w = the idf of a token, counted as in MoverScore and divided by its sum over the text. b of the two
  texts are also the marginals of T. Special tokens have idf 0. Tokens with weight 0 are dropped; if idf gives all
  tokens of a text weight 0, all but special tokens have the same weight.
- Iteration: it starts at the mean of the layers. With T_l the exact plan from X to layer l under squared distance, a
  step is X_i <- mean over l of sum_j T_l,ij x_l,j / b_i. It ends when the squared movements of all points sum to at
  most 1e-7. X is not scaled to unit length again.
- Layers: a model with fewer than five layers contributes its embeddings as well.
- References: several are averaged, or the nearest counts (`multiref`).

Worked example
--------------

A text with one layer is its own barycentre, so W of "a cat" and "the dog cat" is the cost in MoverScore's example:
with unit weights and squared distances

             the   dog   cat
        a    .40  2.00   .80           W = .40/3 + .80/6 + .40/3 = .40
        cat  .08   .40   .00

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> toy_scores("baryscore:idf=none", "a cat", "the dog cat", vectors=vectors)
    {'W': [0.4]}

Profiles and deviations
-----------------------

    profile    weights w, b and of the final plan     start of X           Sinkhorn
    corrected  idf, each side's own (`idf` changes)   mean of the layers   on logarithms where it underflows
    released   uniform                                0                    plain

`released` is the published code, in which idf has no effect (D16: its keys are numbers, but tensors are looked up).
Its iteration starts with equal costs, so rounding decides where it goes: the smallest change of a vector can change
a score by some hundredths. It uses POT's own function, in float64. `corrected` starts where the iteration usually
ends, and depends only on the text. The released code takes one reference.

Relations
---------

- With one layer, W is the cost inside `moverscore:profile=v1`.
- The barycentre is the mean of the layers for nearly all texts (all 1,120 of WMT17 cs-en with MiniLM), so BaryScore
  is close to transport between layer means.
- On WMT17 with mpnet `released` has .734 and `corrected` .721 (segment-level Pearson), BERTScore .738. See
  docs/findings.

Citation
--------

Colombo, Staerman, Clavel, Piantanida: "Automatic Text Evaluation through the Lens of Wasserstein Barycenters",
EMNLP 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import NameList
from nlgauge.core.metric import Pair, Profile, profile_option
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.resources import idf_option
from nlgauge.core.tokens import Selection, TextView
from nlgauge.core.vector_metric import State, VectorMetric
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.transport import Problem, mean_length, multiref_option, solver_option
from nlgauge.vectors.cloud import Cloud, unit_rows
from nlgauge.vectors.points import barycentre_of_layers
from nlgauge.vectors.transport import barycentre_from_origin, sinkhorn_transport

PROFILES = {"corrected": Profile(idf="both"), "released": Profile(idf="none")}

#: W, and SD_r with the regularisations of the released code, spelt like its keys.
MEASURES = ("W", "SD_10", "SD_1", "SD_5", "SD_0.1", "SD_0.5", "SD_0.01", "SD_0.001")

#: Number of hidden states to combine; the embeddings are one.
_LAYERS = 5


@dataclass(frozen=True, kw_only=True)
class BaryScore(VectorMetric[Cloud]):
    """Exact or entropic transport between barycentres of the last five layers; a distance."""

    name: ClassVar[str] = "baryscore"
    title: ClassVar[str] = "BaryScore"
    higher_is_better: ClassVar[bool] = False
    empty_value: ClassVar[float | None] = None
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES
    citation: ClassVar[str] = cite("colombo-etal-2021-automatic")

    profile: str = profile_option("corrected", PROFILES)
    measures: str = option(
        "W",
        NameList(*MEASURES),
        help="measures to compute; W: exact transport, SD_r: entropic with regularisation r",
        in_profile=False,
    )
    idf: str = idf_option(BY_PROFILE)
    solver: str = solver_option()
    multiref: str = multiref_option()

    def check(self) -> None:
        if self.profile == "released" and self.idf != "none":  # idf is inert in the released code (D16)
            msg = f"profile 'released' has uniform weights, got idf={self.idf!r}; use profile 'corrected'"
            raise RecipeError(msg)

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on `measures`
        """The chosen measures."""
        return tuple(self.measures.split("+"))

    @property
    def main(self) -> str:  # type: ignore[override]
        """The exact distance if it was chosen, else the first measure."""
        return "W" if "W" in self.components else self.components[0]

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return tuple(range(max(0, encoder.layers + 1 - _LAYERS), encoder.layers + 1))

    def represent(self, text: TextView, state: State) -> Cloud | None:
        if text.tokens.empty:
            return None
        layers = [text.layers[layer] for layer in state.layers]
        # Without idf all tokens count, special ones too, as in the released code.
        rows, b, zero = text.select(None, specials_weigh=True)
        if self.profile == "released":  # uniform weights, and the iteration starts at 0
            return text.cloud(barycentre_from_origin(layers), Selection(rows, np.ones(len(rows)), False))
        rows = np.flatnonzero(b > 0)  # a point without mass does not enter a barycentre
        # X = argmin_X sum_l W2^2((b, X), (w, x_l))
        x = barycentre_of_layers([unit_rows(layer[rows]) for layer in layers], b[rows]).points
        return text.cloud(x, Selection(rows, b[rows], zero))

    def compare(self, x: Cloud | None, y: Cloud | None, state: State, *, align: bool) -> Pair:
        if x is None or y is None:
            origin = mean_length(y if x is None else x, lambda points: (points**2).sum(axis=1))
            return Pair([origin] * len(self.components))
        problem = Problem(x, y, partial(Cloud.distances, squared=True), self.solver)  # C_ij = ||X_i - Y_j||^2
        values, converged = [], True
        for name in self.components:
            if name == "W":
                values.append(problem.cost)  # W = min_T <T, C>
                converged = converged and problem.converged
                continue
            plan = sinkhorn_transport(
                x.weights,
                y.weights,
                problem.costs,
                regularisation=float(name.removeprefix("SD_")),
                stable=self.profile != "released",
                check=current_run().check,
            )  # SD_r = <T_r, C>
            values.append(plan.cost)
            converged = converged and plan.converged
        return Pair(values, problem.flow() if align else None, converged)
