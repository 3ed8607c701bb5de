"""Vectors kept in a file for later windows are read back bit for bit."""

from __future__ import annotations

import numpy as np
from tests.core.pairs.conftest import CountingEncoder

from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.cache import VectorFile


def test_a_text_is_encoded_once_and_comes_back_as_it_was() -> None:
    encoder = CountingEncoder()
    texts = ["the cat", "a dog sat", "", "rain"]
    tokens = dict(zip(texts, encoder.tokenizer.encode(texts), strict=True))
    windows = [texts[:2], texts[1:], texts[:1], texts]
    first = dict(zip(texts, encode_texts(encoder, list(tokens.values()), (0, 2), batch_tokens=64), strict=True))
    encoder.seen.clear()
    with VectorFile() as file:
        for window in windows:
            encoded = encode_texts(encoder, [tokens[text] for text in window], (0, 2), batch_tokens=64, cache=file)
            for text, value in zip(window, encoded, strict=True):
                for layer in (0, 2):
                    assert np.array_equal(value.layers[layer], first[text].layers[layer])
    assert set(encoder.seen.values()) == {1}
