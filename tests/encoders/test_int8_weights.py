"""Weights in whole numbers: near enough, made once and aloud, made again where the cache is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, write_model

from nlgauge.encoders.calibrate import calibrate
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.int8 import round_weights
from nlgauge.io.store.resolve import resolve


def test_a_weight_moves_by_half_a_step_of_its_row_at_most() -> None:
    random = np.random.default_rng(0)
    weights = (random.normal(size=(7, 30)) * random.uniform(0.1, 9, (7, 1))).astype(np.float32)
    powers = tuple(int(power) for power in random.integers(-3, 4, 30))
    whole, steps = round_weights(weights, powers)
    assert whole.shape == (30, 7)
    assert np.abs(whole).max() == 64
    scaled = weights * np.exp2(np.array(powers))
    assert steps == pytest.approx(np.abs(scaled).max(axis=1) / 64)
    assert np.all(np.abs(whole.T * steps[:, None] - scaled) <= 0.5001 * steps[:, None])


def test_they_are_made_once_and_not_silently(
    tmp_path: Path, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = resolve(str(write_model(tmp_path / "tiny", TINY["bert"])))
    plan = calibrate(OnnxEncoder(files, threads=1), ["the cat sat on the ferry", "a dog ran"], about="two texts")
    ids = np.array([[2, 5, 6, 7, 3]])

    def encode() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return OnnxEncoder(files, threads=1, plan=plan).encode(ids, (2,))[0]

    first = encode()
    message = capsys.readouterr().err
    assert "computing the int8 weights of model 'tiny' once" in message
    assert np.array_equal(encode(), first)
    assert capsys.readouterr().err == ""
    stored = own_cache / "int8" / f"{plan.digest}.safetensors"
    stored.write_bytes(stored.read_bytes()[:-9])
    assert np.array_equal(encode(), first)
    assert "computing the int8 weights" in capsys.readouterr().err
