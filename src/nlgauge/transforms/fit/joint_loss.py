"""The objective of joint alignment (Zhao, Eger, Bjerva, Augenstein 2021, equations 1 to 3, after Cao et al. 2020).

    L = sum over linked words of ||f(i, s) - f(j, t)||^2                   translations come together      (Eq. 1)
    R = sum over words of the held side of ||f(i, t) - f_0(i, t)||^2       that side stays where it was    (Eq. 2)

and L + R is minimised (Eq. 3). f_0 is the model as it was. Texts of a batch are padded and masked, and dropout is
off, so f is what the model gives a text on its own. Word vectors are products with a matrix of shares: no sum depends
on the order in which threads end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.transforms.fit.joint_texts import LinkedPair, Side

__all__ = ["Batch", "Nearness", "Sums", "batch_losses", "nearness", "side_vectors"]


class Sums(NamedTuple):
    """Of a batch, or of many: both terms, and how many links and words they are sums over."""

    linked: Any
    drift: Any
    links: int
    words: int


@dataclass(frozen=True)
class Nearness:
    """Cosines of words of texts and of their translations, summed, and how many they are."""

    linked: float = 0.0
    unlinked: float = 0.0
    found: int = 0
    links: int = 0
    others: int = 0

    def __add__(self, more: Nearness) -> Nearness:
        return Nearness(
            self.linked + more.linked,
            self.unlinked + more.unlinked,
            self.found + more.found,
            self.links + more.links,
            self.others + more.others,
        )


class Batch(NamedTuple):
    """One side of some pairs, as tensors."""

    ids: Any
    mask: Any
    shares: Any
    """Pairs x words x tokens: what a token weighs in a word."""


def _sides(pairs: Sequence[LinkedPair]) -> tuple[list[Side], list[Side]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _batch(torch: Any, sides: Sequence[Side], device: Any, padding: int) -> Batch:
    longest, most = max(len(side.ids) for side in sides), max(side.size for side in sides)
    ids = np.full((len(sides), longest), padding, dtype=np.int64)
    words = np.full((len(sides), longest), -1, dtype=np.int64)
    mask = np.zeros((len(sides), longest), dtype=np.int64)
    for row, side in enumerate(sides):
        ids[row, : len(side.ids)], words[row, : len(side.ids)], mask[row, : len(side.ids)] = *side, 1
    shares = (words[:, None, :] == np.arange(most)[None, :, None]).astype(np.float32)
    shares /= np.maximum(shares.sum(axis=2, keepdims=True), 1)
    return Batch(*(torch.from_numpy(array).to(device) for array in (ids, mask, shares)))


def side_vectors(torch: Any, network: Any, batch: Batch, layer: int) -> Any:
    """Pairs x words x width; rows of 0 where a text has fewer words."""
    output = network(input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=True)
    # The last layer's vectors are what the model gives out: some families normalise once more (ModernBERT).
    last = layer == network.config.num_hidden_layers
    states = output.last_hidden_state if last else output.hidden_states[layer]
    return torch.bmm(batch.shares, states)


def batch_losses(
    torch: Any,
    network: Any,
    first: Any,
    pairs: Sequence[LinkedPair],
    *,
    layer: int,
    held: str,
    device: Any,
    padding: int,
) -> Sums:
    """Both terms for some pairs of texts; `first` is the model as it was."""
    batches = [_batch(torch, sides, device, padding) for sides in _sides(pairs)]
    vectors = [side_vectors(torch, network, batch, layer) for batch in batches]
    rows = np.repeat(np.arange(len(pairs)), [len(pair.links) for pair in pairs])
    links = np.concatenate([pair.links for pair in pairs])
    x, y = (side[rows, links[:, column]] for column, side in enumerate(vectors))
    linked = ((x - y) ** 2).sum()
    drift, words = linked.new_zeros(()), 0
    for column, name in enumerate(("source", "target")):
        if held in (name, "both"):
            with torch.no_grad():
                before = side_vectors(torch, first, batches[column], layer)
            drift = drift + ((vectors[column] - before) ** 2).sum()
            words += sum(side.size for side in _sides(pairs)[column])
    return Sums(linked, drift, len(links), words)


def nearness(
    torch: Any, network: Any, pairs: Sequence[LinkedPair], *, layer: int, device: Any, padding: int
) -> Nearness:
    """Of some pairs of texts, under the model as it stands."""
    total = Nearness()
    with torch.no_grad():
        vectors = [
            side_vectors(torch, network, _batch(torch, sides, device, padding), layer).cpu().numpy()
            for sides in _sides(pairs)
        ]
    for pair, left, right in zip(pairs, *vectors, strict=True):
        x, y = left[: pair.source.size], right[: pair.target.size]
        total += _of_pair(x, y, pair.links)
    return total


def _of_pair(x: NDArray[np.float32], y: NDArray[np.float32], links: NDArray[np.int64]) -> Nearness:
    x, y = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12) for rows in (x, y))
    cosine = x.astype(np.float64) @ y.T.astype(np.float64)
    together = np.zeros(cosine.shape, dtype=bool)
    together[links[:, 0], links[:, 1]] = True
    apart = ~together[links[:, 0]]  # of linked words only: others may have translations that nobody linked
    linked = float(cosine[links[:, 0], links[:, 1]].sum())
    unlinked = float(cosine[links[:, 0]][apart].sum())
    found = int(together[links[:, 0], cosine[links[:, 0]].argmax(axis=1)].sum())
    return Nearness(linked, unlinked, found, len(links), int(apart.sum()))
