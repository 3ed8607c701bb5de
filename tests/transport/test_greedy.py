"""Greedy matching is a transport of its own kind."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import HYPS, REFS

from nlgauge.clouds.cloud import unit_rows
from nlgauge.encoders import encode_texts, load_encoder
from nlgauge.transport import greedy_match


def test_bertscore_recall_is_a_quasi_transport() -> None:
    """Proposition 1 of MoverScore: with F_ij = 1/M at the best match j of reference token i, and
    C_ij = (M / Z) idf(y_i) x_j.y_i there, <C, F> is BERTScore's recall, for any M."""
    encoder = load_encoder("minilm")
    rng = np.random.default_rng(0)
    for hyp, ref in zip(HYPS, REFS, strict=True):
        x, y = (
            unit_rows(text.layers[4])
            for text in encode_texts(encoder, encoder.tokenizer.encode([hyp, ref]), (4,), batch_tokens=512)
        )
        idf = rng.random(len(y))
        recall = greedy_match(x @ y.T, np.ones(len(x)), idf).recall
        for mass in (len(y), len(x), 7):
            similarity = (y @ x.T).astype(np.float64)
            flow = np.zeros_like(similarity)
            flow[np.arange(len(y)), similarity.argmax(axis=1)] = 1 / mass
            cost = mass / idf.sum() * idf[:, None] * similarity
            assert (cost * flow).sum() == pytest.approx(recall, abs=1e-6)
