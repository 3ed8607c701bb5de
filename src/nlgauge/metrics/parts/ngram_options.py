"""Options of metrics that move n-grams of words: which tokens become points, and how layers become vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, NumberList, Pattern
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.profiles import Profile
from nlgauge.core.resources import StopwordList, idf_option
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State
from nlgauge.encoders.base import Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.transport_metric import TransportMetric
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.points import (
    PUNCTUATION,
    SPECIALS,
    SUBWORDS,
    TokenFilter,
    barycentre_of_layers,
    kde_routing_of_layers,
    power_means,
)

#: Layers that power means, routing and barycentre look at.
_LAYERS = 5

#: Which aggregation an option belongs to.
_OWNERS = {"exponents": "pmeans", "routing_step": "kde-routing", "routing_epsilon": "kde-routing"}

_AGGREGATIONS = "pmeans, kde-routing, barycentre, last, two-thirds (layer 8 of 12), or layer-N"


#: What becomes of the cost.
SCORES: dict[str, Callable[[float], float]] = {
    "cost": lambda cost: cost,
    "-cost": lambda cost: -cost,
    "1-cost": lambda cost: 1 - cost,
    "1/(1+cost)": lambda cost: 1 / (1 + cost),
}


class NGramProfile(Profile):
    """What a profile decides: options, and the conventions that no option changes."""

    unit_layers: bool
    """Whether each layer's vectors are scaled to length 1 before layers are joined."""
    unit_points: bool
    """Whether the vector of an n-gram is scaled to length 1; else it is the sum of equation 1."""
    squared: bool
    """Whether the cost is a squared distance."""
    score: str
    """What becomes of the cost: cost, -cost, 1-cost or 1/(1+cost)."""
    fixed_n: int | None
    """The n that the released code has whatever it is told."""

    def __init__(
        self, options: str, *, unit: str, squared: bool, score: str, fixed_n: int | None = None, **more: Any
    ) -> None:
        named = dict(zip(("aggregation", "idf", "subwords", "punctuation"), options.split(), strict=True))
        conventions: dict[str, Any] = {
            "unit_layers": "layers" in unit,
            "unit_points": "points" in unit,
            "fixed_n": fixed_n,
        }
        super().__init__(**named, **conventions, squared=squared, score=score, **more)


@dataclass(frozen=True, kw_only=True)
class NGramMetric(TransportMetric):
    """What becomes a point, and its vector."""

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

    @property
    def deviates(self) -> bool:
        """Another n than a profile obeys makes it another one."""
        return super().deviates or getattr(self, "n", 1) != (self.published.fixed_n or getattr(self, "n", 1))

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

    def token_filter(self, state: State) -> TokenFilter:
        """Which tokens become points."""
        return TokenFilter(self.subwords, self.punctuation, state["stopwords"].words, self.specials)

    def vectors_key(self, state: State) -> tuple[object, ...]:
        """All that a token's vector depends on beside the text: recipes that agree on it share the vectors."""
        own = tuple(getattr(self, name) for name in _OWNERS if name not in self.unused)
        unit = self.published.unit_layers
        return (state.layers, self.aggregation, own, unit, self.subwords == "average")

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
