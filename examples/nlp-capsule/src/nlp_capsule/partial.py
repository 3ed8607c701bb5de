"""Partial routing: selection of few outputs per text.

In training these are the text's labels and some random ones, in inference the candidates of a cheaper network.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nlgauge.errors import InputError, RecipeError

__all__ = ["CandidateNetwork", "ChosenOutputs", "choose_outputs"]


class ChosenOutputs(NamedTuple):
    """The outputs of each text of a batch; each tensor is (batch, outputs)."""

    labels: Tensor
    targets: Tensor
    """1 for the labels that a text has."""
    weights: Tensor
    """1 for labels, lambda for sampled outputs, 0 for padding."""


def choose_outputs(
    owned: Sequence[Collection[int]],
    *,
    labels: int,
    negatives: int,
    instances: Sequence[int],
    seed: Sequence[int],
    negative_weight: float = 1.0,
) -> ChosenOutputs:
    """The labels of each text, and `negatives` others at random.

    The draw depends on `seed` and on a text's own number in `instances`, and not on what else is in the batch.

    >>> chosen = choose_outputs([{3}, {0, 1}], labels=5, negatives=2, instances=[0, 1], seed=[0])
    >>> chosen.targets.tolist(), chosen.weights.tolist()
    ([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]], [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    """
    if negatives < 0 or not negative_weight > 0:
        msg = f"negatives must be 0 or more and their weight above 0, got {negatives!r} and {negative_weight!r}"
        raise RecipeError(msg)
    rows = []
    for number, own in zip(instances, owned, strict=True):
        if not own or not set(own) <= set(range(labels)):
            msg = f"text {number} must have labels from 0 to {labels - 1}, got {sorted(own)}"
            raise InputError(msg)
        chance = np.random.default_rng([*seed, number])
        others = np.setdiff1d(np.arange(labels), list(own))
        drawn = chance.permutation(others)[:negatives].tolist()
        rows.append((sorted(own), drawn))
    widest = max(len(own) + len(drawn) for own, drawn in rows)
    table = torch.zeros(3, len(rows), widest)
    for i, (own, drawn) in enumerate(rows):
        table[0, i, : len(own) + len(drawn)] = torch.tensor([*own, *drawn], dtype=table.dtype)
        table[1, i, : len(own)] = 1
        table[2, i, : len(own) + len(drawn)] = torch.tensor([1.0] * len(own) + [negative_weight] * len(drawn))
    return ChosenOutputs(table[0].long(), table[1], table[2])


class CandidateNetwork(nn.Module):
    """Kim's convolutional classifier (2014), which proposes the labels that a text is routed to in use."""

    def __init__(
        self,
        vocabulary: int,
        labels: int,
        *,
        dimensions: int = 300,
        filters: int = 128,
        widths: Sequence[int] = (3, 4, 5),
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, dimensions, padding_idx=0)
        self.maps = nn.ModuleList(nn.Conv1d(dimensions, filters, width) for width in widths)
        self.last = nn.Linear(filters * len(widths), labels)

    def forward(self, texts: Tensor) -> Tensor:
        """Logits, (batch, labels)."""
        vectors = self.table(texts).transpose(1, 2)
        pooled = [layer(vectors).relu().amax(dim=2) for layer in self.maps]
        logits: Tensor = self.last(torch.cat(pooled, dim=1))
        return logits

    @torch.no_grad()
    def candidates(self, texts: Tensor, count: int = 200) -> Tensor:
        """(batch, count): the labels it finds likeliest, or all of them where there are no more."""
        logits = self(texts)
        likeliest: Tensor = logits.topk(min(count, logits.shape[1]), dim=1).indices
        return likeliest
