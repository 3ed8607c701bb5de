"""BaryScore (Colombo et al., "Automatic Text Evaluation through the Lens of Wasserstein Barycenters", EMNLP
2021).

Each of the last five hidden states of a text is a cloud of unit vectors, a point per token. They are joined
to one cloud, their Wasserstein barycentre, and the score is what it costs to move one text's onto the other's:

    X = argmin_X  sum_l W2^2((b, X), (w, x_l))                   one point of X per token, its weight b fixed
    W    = min_T <T, C>,  C_ij = ||X_i - Y_j||^2                 squared distance, no root
    SD_r = <T_r, C>,      T_r the entropic plan of regularisation r

All are distances: lower is better. What a profile fixes:

    profile    weights w, b and of the final plan     start of X           Sinkhorn
    corrected  idf, each side's own (`idf` changes)   mean of the layers   on logarithms where it underflows
    released   uniform                                0                    plain

`released` is the published code, in which idf is inert (D16: keys are numbers, looked up by tensors) and all
first costs tie, so that rounding decides where the iteration goes: a score can move by some hundredths with the
least change of a vector. It goes through POT's own function, in float64. `corrected` starts where the iteration
usually ends, carries the weights through, and depends on nothing but the text.

The released code takes one reference; several are averaged here, or the nearest counts (`multiref`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.aggregate import barycentre_of_layers
from nlgauge.clouds.cloud import LabelledCloud, idf_weights, unit_rows
from nlgauge.corpus.idf_tables import IdfBySide, counts_idf, idf_by_side, idf_side
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.transport_metric import Moved, TransportMetric
from nlgauge.recipes.metric import option
from nlgauge.recipes.run_options import RunOptions
from nlgauge.transport import Plan, barycentre_from_origin, sinkhorn_transport, squared_distances

__all__ = ["BaryScore"]

#: Idf that a profile stands for.
PROFILES = {"corrected": "both", "released": "none"}

#: Regularisations of the released code, as its keys spell them.
REGULARISATIONS = ("10", "1", "5", "0.1", "0.5", "0.01", "0.001")
VALUES = ("W", *(f"SD_{text}" for text in REGULARISATIONS))

#: Hidden states that are joined, the embeddings counting as one.
_LAYERS = 5


@dataclass(frozen=True, eq=False)
class BaryState:
    """What a run of BaryScore fixed before the first pair."""

    layers: tuple[int, ...]
    idf: IdfBySide
    encoder: Encoder


@dataclass(frozen=True, kw_only=True)
class BaryScore(TransportMetric[BaryState]):
    """Transport between the barycentres of two texts' layers: a distance."""

    name: ClassVar[str] = "baryscore"
    higher_is_better: ClassVar[bool] = False
    signature_fields: ClassVar[tuple[str, ...]] = ("profile", "values", "layers", "idf", "multiref")
    citation: ClassVar[str] = """\
@inproceedings{colombo-etal-2021-automatic,
  title     = {Automatic Text Evaluation through the Lens of {W}asserstein Barycenters},
  author    = {Colombo, Pierre and Staerman, Guillaume and Clavel, Chlo{\\'e} and Piantanida, Pablo},
  booktitle = {Proceedings of EMNLP},
  year      = {2021},
  url       = {https://aclanthology.org/2021.emnlp-main.817}
}"""

    profile: str = option("corrected", parse=str, help="corrected or released")
    values: str = option("W", parse=str, help=f"what to compute, joined by +, or all: {', '.join(VALUES)}")
    idf: str = option("", parse=str, help="both (each side's own), refs, none, or a file (default: the profile's)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile not in PROFILES:
            msg = f"profile must be one of {', '.join(PROFILES)}, got {self.profile!r}"
            raise RecipeError(msg)
        if self.values == "all":
            object.__setattr__(self, "values", "+".join(VALUES))
        for value in self.components:
            if value not in VALUES or self.components.count(value) > 1:
                msg = f"values are some of {', '.join(VALUES)}, each once, joined by +; got {self.values!r}"
                raise RecipeError(msg)
        if self.profile == "released" and self.idf not in {"", "none"}:
            msg = (
                f"profile 'released' has uniform weights, because idf is inert in the released code; "
                f"got idf={self.idf!r}: use profile 'corrected'"
            )
            raise RecipeError(msg)

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # those that were asked for
        """Names of the values, in the order asked for."""
        return tuple(self.values.split("+"))

    @property
    def main(self) -> str:  # type: ignore[override]
        """W where it is asked for, else the first."""
        return "W" if "W" in self.components else self.components[0]

    @property
    def _idf(self) -> str:
        return self.idf or PROFILES[self.profile]

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return tuple(range(max(0, encoder.layers + 1 - _LAYERS), encoder.layers + 1))

    @property
    def published_idf(self) -> str:
        """What the published evaluation counts idf on."""
        return PROFILES[self.profile]

    @property
    def counts_idf(self) -> bool:
        """Whether idf is that of the texts at hand."""
        return counts_idf(self._idf)

    def side(self, system: str | None) -> str:
        return idf_side(self._idf, system)

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> BaryState:
        return BaryState(self.layers(corpus.encoder), idf_by_side(self._idf, corpus), corpus.encoder)

    def represent(self, text: EncodedText, state: BaryState, side: str) -> LabelledCloud:
        tokens = text.tokens
        if tokens.empty:
            return LabelledCloud.empty()
        layers = [text.layers[layer] for layer in state.layers]
        labels = state.encoder.tokenizer.surfaces(tokens)
        if self.profile == "released":
            return LabelledCloud(barycentre_from_origin(layers), np.ones(len(tokens)), labels)
        table = state.idf.of(side)
        # Without a table all tokens count, special ones too, as in the released code.
        weights, zero = (np.ones(len(tokens)), False) if table is None else idf_weights(tokens, table)
        kept = np.flatnonzero(weights > 0)  # a point without mass has no place in a barycentre
        points = barycentre_of_layers([unit_rows(layer[kept]) for layer in layers], weights[kept]).points
        return LabelledCloud(points, weights[kept], tuple(labels[place] for place in kept), zero)

    def costs(self, hypothesis: LabelledCloud, reference: LabelledCloud) -> NDArray[np.float64]:
        return squared_distances(hypothesis.points, reference.points)

    def moved(
        self, hypothesis: LabelledCloud, reference: LabelledCloud, costs: NDArray[np.float64], plan: Plan
    ) -> Moved:
        values, converged = [], True
        for name in self.components:
            if name == "W":
                values.append(plan.cost)
                continue
            soft = sinkhorn_transport(
                hypothesis.weights,
                reference.weights,
                costs,
                regularisation=float(name.removeprefix("SD_")),
                stable=self.profile != "released",
            )
            values.append(soft.cost)
            converged = converged and soft.converged
        return Moved(values, converged)

    @property
    def needs_plan(self) -> bool:
        """Only W is made from the exact plan."""
        return "W" in self.components

    def value_of_empty(self, cloud: LabelledCloud) -> float:
        if not len(cloud):
            return 0.0
        return float((cloud.points**2).sum(axis=1) @ cloud.weights / cloud.weights.sum())

    def describe(self, state: BaryState) -> dict[str, str]:
        changed = self._idf != PROFILES[self.profile] or self.multiref != "mean"
        return {
            "profile": self.profile + "*" * changed,
            "values": self.values,
            "layers": f"{state.layers[0]}-{state.layers[-1]}",
            "idf": state.idf.label,
            "multiref": self.multiref,
        }

    def describe_run(self, state: BaryState, system: str) -> dict[str, str]:
        return state.idf.run_fields(self.side(system))

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        options = {key: value for key, value in recipe.items() if key in cls.options()}
        options["profile"] = options.get("profile", "corrected").removesuffix("*")
        if "idf" in options:
            options["idf"] = options["idf"].partition("[")[0]
        return options
