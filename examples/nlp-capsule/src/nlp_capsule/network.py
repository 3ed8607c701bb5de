"""The whole network: words to the poses of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nlgauge.errors import InputError, RecipeError
from nlp_capsule.layers import Compression, FeatureMaps, PrimaryCapsules, Proposals
from nlp_capsule.routing import Routed, adaptive_kde_routing, dynamic_routing, kde_routing

__all__ = ["EURLEX", "CapsuleConfig", "CapsuleNetwork", "count_parameters"]

_PADDING = 0
#: Word vectors that are not given begin uniform within this.
_FIRST_RANGE = 0.05


@dataclass(frozen=True, kw_only=True)
class CapsuleConfig:
    """Sizes and readings of a network."""

    vocabulary: int
    """Rows of the table of word vectors, padding and the unknown word among them."""
    labels: int
    words: int = 500
    """Length to which a text is cut or filled up."""
    dimensions: int = 300
    """Of a word vector."""
    filters: int = 32
    widths: tuple[int, ...] = (2, 4, 8)
    capsule: int = 16
    """Width of a capsule."""
    compressed: int = 128
    """Capsules left after compression."""
    profile: Literal["released", "paper"] = "released"
    """Whose reading: of the convolution (D7.2), capsules (D7.1, D7.15, D7.16) and routing (D7.3 to D7.5)."""
    routing: Literal["adaptive", "kde", "dynamic"] = "adaptive"
    epsilon: float = 0.05
    """Adaptive routing stops when the agreement changes by less."""
    iterations: int = 3
    """Rounds of the two others."""

    def __post_init__(self) -> None:
        for name in ("vocabulary", "labels", "words", "dimensions", "filters", "capsule", "compressed"):
            if getattr(self, name) < 1:
                msg = f"{name} must be 1 or more, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        for name, choices in (("profile", ("released", "paper")), ("routing", ("adaptive", "kde", "dynamic"))):
            if getattr(self, name) not in choices:
                msg = f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)


#: The released settings for EUR-Lex: 30,001 words and the unknown one, 3,956 labels.
EURLEX = CapsuleConfig(vocabulary=30_002, labels=3_956)


class CapsuleNetwork(nn.Module):
    """Texts as rows of word numbers, 0 for padding, become a pose for each label; its length is the label's score."""

    def __init__(self, config: CapsuleConfig, vectors: NDArray[np.float32] | None = None) -> None:
        super().__init__()
        self.config = config
        released = config.profile == "released"
        self.table = nn.Embedding(config.vocabulary, config.dimensions, padding_idx=_PADDING)
        # Between zeros, which nothing can be learnt from, and words so long that those never seen drown the others.
        nn.init.uniform_(self.table.weight, -_FIRST_RANGE, _FIRST_RANGE)
        with torch.no_grad():
            self.table.weight[_PADDING] = 0
        if vectors is not None:
            if vectors.shape != (config.vocabulary, config.dimensions):
                msg = f"vectors must be {(config.vocabulary, config.dimensions)}, got {vectors.shape}"
                raise InputError(msg)
            with torch.no_grad():
                self.table.weight.copy_(torch.from_numpy(vectors))
        self.features = FeatureMaps(
            config.words, config.dimensions, filters=config.filters, widths=config.widths, relu=not released
        )
        constant = 0.5 if released else 1.0  # D7.1
        self.primary = PrimaryCapsules(config.filters, config.capsule, released=released, constant=constant)
        self.compression = Compression(config.filters * self.features.columns, config.compressed)
        self.proposals = Proposals(config.compressed, config.labels, config.capsule)

    def condense(self, texts: Tensor) -> Tensor:
        """(batch, words) to (batch, compressed, capsule)."""
        if texts.ndim != 2 or texts.shape[1] != self.config.words:
            msg = f"texts are rows of {self.config.words} word numbers, got the shape {tuple(texts.shape)}"
            raise InputError(msg)
        condensed: Tensor = self.compression(self.primary(self.features(self.table(texts))))
        return condensed

    def forward(self, texts: Tensor, labels: Tensor | None = None, weights: Tensor | None = None) -> Routed:
        """Route to all labels, or to each text's own `labels` (batch, few) with their `weights` (partial routing)."""
        proposals = self.proposals(self.condense(texts), labels)
        config = self.config
        if config.routing == "dynamic":
            return dynamic_routing(proposals, iterations=config.iterations, weights=weights)
        if config.routing == "kde":
            return kde_routing(proposals, iterations=config.iterations, update=config.profile, weights=weights)
        return adaptive_kde_routing(proposals, epsilon=config.epsilon, update=config.profile, weights=weights)


def count_parameters(config: CapsuleConfig) -> dict[str, int]:
    """Layer by layer, without making the network; the last is their sum."""
    with torch.device("meta"):
        network = CapsuleNetwork(config)
    counts = {name: sum(tensor.numel() for tensor in layer.parameters()) for name, layer in network.named_children()}
    return {**counts, "all": sum(counts.values())}
