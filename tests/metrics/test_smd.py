"""SMD: the distance between two texts as single points."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.vectors.cloud import unit_rows


def test_smd_is_moverscore_of_the_whole_text() -> None:
    for profile in ("v1", "v2", "paper"):
        whole = nlgauge.score(HYPS, REFS, metric=f"moverscore:profile={profile},n=sentence")
        smd = nlgauge.score(HYPS, REFS, metric=nlgauge.metrics.SMD(profile=profile))
        assert np.array_equal(smd.score, whole.score)
    with pytest.raises(nlgauge.errors.RecipeError, match="must be sentence, got 2"):
        nlgauge.metrics.SMD(n=2)


def test_smd_of_the_web_service() -> None:
    """D5.8, by hand: minus the L1 distance of unit means of min + mean + max over unit layers."""
    encoder = load_encoder("minilm")
    points = []
    for text in encode_texts(
        encoder, encoder.tokenizer.encode([HYPS[0], REFS[0]]), (2, 3, 4, 5, 6), batch_tokens=512
    ):
        stack = np.stack([unit_rows(text.layers[layer]) for layer in (2, 3, 4, 5, 6)])
        mean = np.concatenate([stack.min(0), stack.mean(0), stack.max(0)], axis=1).mean(axis=0)
        points.append(mean / np.linalg.norm(mean))
    score = nlgauge.score(HYPS[:1], REFS[:1], metric="smd:profile=web")
    assert score.score[0] == pytest.approx(-np.abs(points[0] - points[1]).sum(), abs=1e-4)
    assert nlgauge.score(REFS, REFS, metric="smd:profile=web").score == pytest.approx(0)
