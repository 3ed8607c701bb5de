"""Vectors that wait for later windows come back bit for bit, from a file."""

from __future__ import annotations

import numpy as np
from tests.core.pairs.conftest import CountingEncoder

from nlgauge.core.pair_scores import VectorStore
from nlgauge.encoders.base import EncodedText, encode_texts


def test_a_text_is_encoded_once_and_comes_back_as_it_was() -> None:
    encoder = CountingEncoder()
    texts = ["the cat", "a dog sat", "", "rain"]
    tokens = dict(zip(texts, encoder.tokenizer.encode(texts), strict=True))

    def encode(wanted: list[str]) -> list[EncodedText]:
        return encode_texts(encoder, [tokens[text] for text in wanted], (0, 2), batch_tokens=64)

    windows = [texts[:2], texts[1:], texts[:1], texts]
    uses = {text: sum(text in window for window in windows) for text in texts}
    first = {text: one.layers for text, one in zip(texts, encode(texts), strict=True)}
    encoder.seen.clear()
    with VectorStore(encode, tokens, uses) as store:
        for number, window in enumerate(windows):
            found = store.load(window)
            assert list(found) == window
            for text, one in found.items():
                for layer in (0, 2):
                    assert np.array_equal(one.layers[layer], first[text][layer])
                one.derived("window", lambda number=number: number)
                assert one.derived("window", lambda: -1) == number, "what was derived goes with its window"
    assert set(encoder.seen.values()) == {1}


def test_what_a_second_model_found_about_a_text_stays_while_the_text_is_needed() -> None:
    encoder = CountingEncoder()
    tokens = {"rain": encoder.tokenizer.encode(["rain"])[0]}
    with VectorStore(
        lambda wanted: encode_texts(encoder, [tokens[text] for text in wanted], (1,), batch_tokens=64),
        tokens,
        {"rain": 2},
    ) as store:
        store.load(["rain"])["rain"].text_features["fluency"] = -3.5
        assert store.load(["rain"])["rain"].text_features["fluency"] == -3.5
