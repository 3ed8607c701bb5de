"""An encoder that counts what it encodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from nlgauge.encoders.load import add_encoder, remove_encoder
from nlgauge.testing import WORDS, HashEncoder

#: From one word to twelve, of words that the encoder knows.
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


class CountingEncoder(HashEncoder):
    """Counts how often each row of token ids is encoded."""

    def __init__(self) -> None:
        super().__init__("counted", layers=6)
        self.seen: Counter[tuple[int, ...]] = Counter()

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        self.seen.update(tuple(row) for row in ids.tolist())
        return super().encode(ids, layers)


@pytest.fixture
def counted() -> Iterator[CountingEncoder]:
    """An encoder that counts, known as `counted`."""
    encoder = CountingEncoder()
    add_encoder("counted", encoder)
    yield encoder
    remove_encoder("counted")
