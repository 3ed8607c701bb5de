"""Word vectors from a text file, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError

VECTORS = """ferry 1 0 0
boat 0.9 0.1 0
storm 0 1 0
bread 0 0 1
a 0.1 0.1 0.1
. 0.2 0.2 0.2
"""


def test_word_vectors_are_an_encoder(tmp_path: Path) -> None:
    """WMD on vectors that can be checked by hand: 'ferry storm' to 'boat storm' moves half the mass."""
    path = tmp_path / "words.txt"
    path.write_text(VECTORS)
    with pytest.warns(nlgauge.errors.UnknownWordWarning, match="1 segment"):
        score = nlgauge.score(
            ["Ferry storm", "ferry kraken"],
            ["boat storm", "ferry"],
            metric=f"moverscore:model={path},profile=paper,idf=none",
        )
    assert score.score[0] == pytest.approx(0.5 * np.hypot(0.1, 0.1), abs=1e-6)
    assert score.score[1] == pytest.approx(0, abs=1e-6)
    assert score.signature.recipe["model"] == "words.txt"
    assert score.signature.recipe["engine"] == "static"
    assert score.signature.run["unknown"] == "1"
    again = nlgauge.score(["Ferry storm"], ["boat storm"], metric=score.signature, model=str(path))
    assert again.score[0] == score.score[0]
    greedy = nlgauge.score(["ferry"], ["boat"], metric=f"bertscore:model={path}")
    assert greedy.f1[0] == pytest.approx(0.9 / np.hypot(0.9, 0.1), abs=1e-6)
    smd = nlgauge.score(["ferry storm"], ["boat"], metric=f"smd:model={path},idf=none,profile=paper")
    assert smd.score[0] == pytest.approx(np.linalg.norm([1 - 0.9, 1 - 0.1, 0]), abs=1e-6)


def test_word2vec_has_a_header_and_case(tmp_path: Path) -> None:
    path = tmp_path / "w2v.txt"
    path.write_text("3 2\nFerry 1 0\nferry 0 1\n. . 1 1\n")
    encoder = load_encoder(str(path))
    assert encoder.hidden_size == 2
    (tokens,) = encoder.tokenizer.encode(["Ferry ferry FERRY"])
    assert encoder.tokenizer.token_strings(tokens) == ("Ferry", "ferry")
    assert tokens.unknown == 1


@pytest.mark.parametrize("text", ["", "ferry 1 x\n", "ferry 1 2\nboat 1\n", "ferry nan 1\n"])
def test_a_broken_file_of_vectors_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"broken\.txt"):
        load_encoder(str(path))


def test_a_zero_vector_is_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("ferry 1 0\nat 0 0\n")
    with pytest.warns(nlgauge.errors.UnknownWordWarning):
        score = nlgauge.score(["ferry at"], ["ferry"], metric=f"moverscore:model={path},idf=none")
    assert score.score[0] == pytest.approx(1)
