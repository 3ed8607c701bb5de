"""Plans from a corpus: ranges that hold what occurred, and channels brought nearer to each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, write_model

from nlgauge.encoders.calibrate import calibrate, observed_graph, smoothing_powers
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.errors import InputError
from nlgauge.io.store.resolve import resolve

TEXTS = ["the cat sat on the red ferry .", "a dog ran in the storm", "late , early and blue !", "the unknown dogs"]


@pytest.fixture
def encoder(tmp_path: Path, own_cache: Path) -> OnnxEncoder:
    return OnnxEncoder(resolve(str(write_model(tmp_path / "tiny", TINY["bert"]))), threads=1)


def test_all_products_with_weights_are_in_a_plan(encoder: OnnxEncoder) -> None:
    plan = calibrate(encoder, TEXTS)
    kinds = ("query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense")
    assert len(plan.products) == TINY["bert"]["num_hidden_layers"] * len(kinds)
    assert plan.products["encoder.layer.0.attention.self.key"] == "embeddings.normed"
    assert set(plan.inputs) == set(plan.products.values())


def test_ranges_hold_all_that_occurred(encoder: OnnxEncoder) -> None:
    plan = calibrate(encoder, TEXTS)
    graph, products = observed_graph(encoder.family, encoder.config)
    run, names = encoder.session(graph), list(dict.fromkeys(product.x for product in products))
    lowest = dict.fromkeys(names, 0.0)
    for tokens in encoder.tokenizer.encode(TEXTS):
        for name, values in zip(names, run(tokens.ids[None].astype(np.int64)), strict=True):
            how = plan.inputs[name]
            smooth = values / np.exp2(np.array(how.powers))
            assert how.low - 1e-3 * abs(how.low) <= smooth.min()
            assert smooth.max() <= how.high * 1.001
            lowest[name] = min(lowest[name], float(smooth.min()))
    assert {name: how.low for name, how in plan.inputs.items()} == pytest.approx(lowest, rel=1e-3)


def test_a_plan_is_of_the_distinct_texts(encoder: OnnxEncoder) -> None:
    plan = calibrate(encoder, TEXTS)
    assert calibrate(encoder, [*TEXTS, "", f" {TEXTS[1]} "]).digest == plan.digest
    assert calibrate(encoder, TEXTS[:2]).digest != plan.digest
    with pytest.raises(InputError, match="at least one text that is not empty"):
        calibrate(encoder, ["", " "])


def test_smoothing_follows_smoothquant_up_to_powers_of_two() -> None:
    largest, weights = np.array([0.5, 1, 64, 1e-9], dtype=np.float32), np.array([1, 4, 0.25, 1], dtype=np.float32)
    powers = np.array(smoothing_powers(largest, weights, 0.5))
    expected = np.log2(np.sqrt(np.maximum(largest, 1e-5) / weights))
    assert powers - powers[0] == pytest.approx(expected - expected[0], abs=1)
    # Equal weights: of a ratio of 2^20, strength .7 takes off 2^14.
    first = np.ones(2, dtype=np.float32)
    low, high = smoothing_powers(np.array([1, 2**20], dtype=np.float32), first, 0.7)
    assert high - low == 14
