"""The layers below routing: feature maps, primary capsules, compression, proposals.

Where paper and code differ, an option selects the variant; D-numbers refer to nlgauge's docs/deviations.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nlgauge.errors import RecipeError
from nlp_capsule.routing import squash

__all__ = ["Compression", "FeatureMaps", "PrimaryCapsules", "Proposals"]

_STRIDE = 2


class FeatureMaps(nn.Module):
    """Filters over a text's matrix of word vectors.

    A filter of width k is as long as the text: it sees all words at once, and k neighbouring *dimensions* of their
    vectors, along which it slides in steps of two. (batch, words, dimensions) becomes (batch, filters, columns).
    """

    def __init__(self, words: int, dimensions: int, *, filters: int, widths: Sequence[int], relu: bool) -> None:
        super().__init__()
        if not widths or min(widths) < 1 or max(widths) > dimensions:
            msg = (
                f"widths of filters must lie between 1 and the {dimensions} dimensions of a word, got {tuple(widths)}"
            )
            raise RecipeError(msg)
        self.maps = nn.ModuleList(nn.Conv1d(words, filters, width, stride=_STRIDE) for width in widths)
        for layer in self.maps:
            nn.init.xavier_uniform_(layer.weight)
        self.relu = relu
        self.columns = sum((dimensions - width) // _STRIDE + 1 for width in widths)

    def forward(self, vectors: Tensor) -> Tensor:
        result = torch.cat([layer(vectors) for layer in self.maps], dim=2)
        return result.relu() if self.relu else result  # D7.2


class PrimaryCapsules(nn.Module):
    """A capsule for every feature: (batch, filters, columns) becomes (batch, filters * columns, width).

    In print each scalar is multiplied by one vector of weights, so that all capsules share a line; the released
    layer makes each capsule of all filters of its column (D7.15), and then reads the components of a capsule from
    neighbouring columns, because a `view` stands where the axes would have to change places (D7.16).
    """

    def __init__(self, filters: int, width: int, *, released: bool, constant: float) -> None:
        super().__init__()
        self.filters, self.width, self.released, self.constant = filters, width, released, constant
        if released:
            self.mix = nn.Conv1d(filters, filters * width, 1)
            nn.init.xavier_uniform_(self.mix.weight)
        else:
            self.line = nn.Parameter(torch.empty(1, width))
            nn.init.xavier_uniform_(self.line)

    def forward(self, features: Tensor) -> Tensor:
        if not self.released:
            return squash(features.flatten(1).unsqueeze(-1) * self.line, constant=self.constant)
        batch, _, columns = features.shape
        mixed = self.mix(features).view(batch, self.width, self.filters, columns)
        capsules = squash(mixed.movedim(1, -1), constant=self.constant)
        return capsules.movedim(-1, 1).reshape(batch, self.filters * columns, self.width)  # D7.16


class Compression(nn.Module):
    """Fewer capsules, each a weighted sum of all: (batch, many, width) becomes (batch, few, width)."""

    def __init__(self, many: int, few: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.empty(many, few))
        nn.init.xavier_uniform_(self.weights)

    def forward(self, capsules: Tensor) -> Tensor:
        return torch.einsum("bnd,nm->bmd", capsules, self.weights)


class Proposals(nn.Module):
    """u_j|i = W_ij u_i: what each capsule proposes for each output it is asked about."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        # Outputs first: partial routing takes a few of them out.
        self.weights = nn.Parameter(torch.empty(outputs, inputs, width, width))
        # The released layer's Xavier counts inputs and outputs as if one sum went over all of them, and begins with
        # poses so short that little is learnt from a few thousand texts; here a proposal is as long as its capsule.
        bound = (3 / width) ** 0.5
        nn.init.uniform_(self.weights, -bound, bound)

    def forward(self, capsules: Tensor, chosen: Tensor | None = None) -> Tensor:
        """(batch, inputs, outputs, width); with `chosen` (batch, few), each instance's own outputs only."""
        if chosen is None:
            return torch.einsum("jiok,bik->bijo", self.weights, capsules)
        union, places = chosen.unique(return_inverse=True)
        result = torch.einsum("jiok,bik->bijo", self.weights[union], capsules)
        batch, inputs, _, width = result.shape
        places = places.view(batch, 1, -1, 1).expand(batch, inputs, chosen.shape[1], width)
        return result.gather(2, places)
