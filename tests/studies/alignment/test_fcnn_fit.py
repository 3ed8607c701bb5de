"""The plain network: learns a bend, is kept in a file, and needs pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.alignment.flow_fit import fit_fcnn
from nlgauge.studies.alignment.training_loop import FitRun, FlowOptions
from nlgauge.vectors.network_maps import TanhNetwork
from nlgauge.vectors.remap import fit_remapping
from nlgauge.vectors.transforms import load_map

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="the extra 'torch' is not installed")


def test_a_bend_is_learned_and_kept_in_a_file(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    x = chance.normal(size=(1500, 4)).astype(np.float32)
    y = np.tanh(x @ np.linalg.qr(chance.normal(size=(4, 4)))[0] * 2).astype(np.float32) + 5
    options = FlowOptions(hidden=32, epochs=30, batch=64, learning_rate=5e-3, patience=30)
    result = fit_fcnn(x[:1300], y[:1300], options=options).map
    error = np.square(result.apply(x[1300:]) - y[1300:]).mean()
    centred = fit_remapping(x[:1300], y[:1300], method="centred")
    assert error < 0.1 * np.square(centred.apply(x[1300:]) - y[1300:]).mean()
    result.save(tmp_path / "map.npz")
    again = load_map(tmp_path / "map.npz")
    assert isinstance(again, TanhNetwork)
    assert (again.digest, again.origin.method) == (result.digest, "fcnn")
    np.testing.assert_array_equal(again.apply(x), result.apply(x))
    assert fit_fcnn(x[:1300], y[:1300], options=options).map.digest == result.digest
    np.testing.assert_array_equal(again.apply(y, side="target"), y)
    with pytest.raises(InputError, match="width 4"):
        again.apply(np.ones((1, 5)))
    with pytest.raises(InputError, match="3 pairs are too few for a network of width 4"):
        fit_fcnn(x[:3], y[:3])


def test_an_interrupted_fit_goes_on_to_the_same_end(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    x = chance.normal(size=(200, 4)).astype(np.float32)
    four, two = (FlowOptions(hidden=8, epochs=epochs, batch=64) for epochs in (4, 2))
    whole = fit_fcnn(x, np.tanh(x), options=four)
    fit_fcnn(x, np.tanh(x), options=two, run=FitRun(state=tmp_path / "state"))
    messages: list[int] = []
    again = fit_fcnn(x, np.tanh(x), options=four, run=FitRun(state=tmp_path / "state", advance=messages.append))
    assert messages == [2, 1, 1]
    assert (again.map.digest, again.best) == (whole.map.digest, whole.best)
    with pytest.raises(InputError, match="state of a fit with other vectors or options"):
        fit_fcnn(x, x, options=four, run=FitRun(state=tmp_path / "state"))


def test_a_wider_source_is_reduced_first() -> None:
    chance = np.random.default_rng(2)
    x, y = chance.normal(size=(100, 6)), chance.normal(size=(100, 4))
    result = fit_fcnn(x, y, options=FlowOptions(hidden=8, epochs=1)).map
    assert (result.width, result.apply(x).shape) == (6, (100, 4))
