"""Two spaces of words with a known answer: word i of one is word i of the other, turned, moved and a little off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.studies.alignment.vocabulary import Vocabulary


class Planted(NamedTuple):
    """Vectors of both sides, and which row of the target each row of the source is."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    answer: NDArray[np.intp]


def planted(words: int = 400, width: int = 30, *, noise: float = 0.02, seed: int = 0, wider: int = 0) -> Planted:
    """Directions differ in strength, as those of real spaces do: without that, similarities tell nothing apart."""
    chance = np.random.default_rng(seed)
    strength = np.arange(1, width + 1) ** -0.7
    source = chance.standard_gamma(2, (words, width)) * strength
    turn = np.linalg.qr(chance.normal(size=(width, width)))[0]
    target = source @ turn + chance.normal(size=width)
    if wider:
        target = target @ np.linalg.qr(chance.normal(size=(wider, wider)))[0][:width]
    target += noise * chance.normal(size=target.shape)
    answer = chance.permutation(words)
    shuffled = np.empty_like(target)
    shuffled[answer] = target
    return Planted(source.astype(np.float32), shuffled.astype(np.float32), answer)


def vocabulary(vectors: NDArray[np.float32], name: str) -> Vocabulary:
    """Words of that name and a number each."""
    words = tuple(f"{name}{number}" for number in range(len(vectors)))
    return Vocabulary(words, vectors, (4,) * len(words), 1000)
