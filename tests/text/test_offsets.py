"""Where tokens stand in their text, under each kind of tokenizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.encoders.base import Encoder
from nlgauge.encoders.load import load_encoder
from nlgauge.testing import HashEncoder


def spelt(encoder: Encoder, text: str, limit: int | None = None) -> list[str]:
    tokens = encoder.tokenizer.encode([text])[0]
    tokens = tokens if limit is None else tokens.cut_to(limit)
    assert tokens.offsets.shape == (len(tokens), 2)
    return [text[start:end] for start, end in tokens.offsets]


def model(name: str) -> Encoder:
    return load_encoder(name, engine="onnx", precision="fp32", threads=1, device="cpu", progress=False)


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("minilm", "  The therapist's café ", ["", "The", "therapist", "'", "s", "café", ""]),
        ("minilm", "ofgem", ["", "of", "ge", "m", ""]),
        # Compatibility forms become other letters, blanks become one, and the places are still those of the text.
        ("muse", " The  ﬁne …", ["", "The", "ﬁne", "…", ""]),
        ("muse", "中文 x😀y", ["", "", "中文", "x", "😀", "y", ""]),
        ("muse", "", ["", ""]),
        ("muse", " \t ", ["", ""]),
    ],
)
def test_offsets_are_places_in_the_text_as_it_was_given(name: str, text: str, pieces: list[str]) -> None:
    assert spelt(model(name), text) == pieces


def test_tokens_that_are_cut_off_keep_the_places_of_the_others() -> None:
    encoder = HashEncoder()
    assert spelt(encoder, " the cat sat on it") == ["", "the", "cat", "sat", "on", "it", ""]
    assert spelt(encoder, " the cat sat on it", limit=4) == ["", "the", "cat", ""]


def test_words_that_are_left_out_have_no_token(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 0\nsat 0 1\n", encoding="utf-8")
    encoder = load_encoder(str(path), engine="onnx", precision="fp32", threads=1, device="cpu", progress=False)
    assert spelt(encoder, "the cat sat") == ["the", "sat"]


def test_tokens_of_no_text_stand_nowhere() -> None:
    from nlgauge.text.tokenizer import Tokens

    ids = np.array([1, 2], dtype=np.int32)
    tokens = Tokens(ids, np.array([False, False]), ids)
    assert tokens.offsets.tolist() == [[0, 0], [0, 0]]
