"""Flows as numbers: undone exactly, and the centred rotation where the networks answer 0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.vectors.network_maps import Coupling, FlowMap
from nlgauge.vectors.remap import Origin, fit_remapping
from nlgauge.vectors.transforms import load_map, load_transforms


def random_flow(
    width: int, *, hidden: int = 16, layers: int = 2, size: float = 0.5, origin: Origin | None = None
) -> FlowMap:
    """A flow with networks of chance, around the rotation and means of chance."""
    chance = np.random.default_rng(width)
    middle = width // 2

    def numbers(*shape: int) -> np.ndarray:
        return (size * chance.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    def side() -> tuple[Coupling, ...]:
        result = []
        for number in range(layers):
            first = number % 2 == 0
            stays, moves = (middle, width - middle) if first else (width - middle, middle)
            result.append(
                Coupling(
                    first, numbers(stays, hidden), numbers(hidden), numbers(hidden, 2 * moves), numbers(2 * moves)
                )
            )
        return tuple(result)

    rotation = np.linalg.qr(chance.normal(size=(width, width)))[0].astype(np.float32)
    return FlowMap(rotation, numbers(width), numbers(width), 1.7, side(), side(), origin or Origin(method="flow"))


@pytest.mark.parametrize("width", [4, 7, 64])
def test_couplings_are_undone_exactly(width: int) -> None:
    flow = random_flow(width)
    rows = np.random.default_rng(0).normal(size=(50, width)).astype(np.float32)
    assert np.abs(flow.apply(rows) - rows).max() > 0.1
    np.testing.assert_array_equal(flow.apply(rows, side="target"), rows)
    eye = np.eye(width, dtype=np.float32)
    back = replace(flow, rotation=eye, target_mean=flow.source_mean, target_layers=flow.source_layers)
    np.testing.assert_allclose(back.apply(rows), rows, atol=1e-5)


def test_networks_that_answer_zero_leave_the_centred_rotation() -> None:
    chance = np.random.default_rng(2)
    x = chance.normal(size=(40, 6))
    z = x @ np.linalg.qr(chance.normal(size=(6, 6)))[0] + 3
    centred = fit_remapping(x, z, method="centred")
    zero = [
        Coupling(first, *(np.zeros(shape, np.float32) for shape in ((3, 5), 5, (5, 6), 6))) for first in (True, False)
    ]
    means = [side.mean(axis=0).astype(np.float32) for side in (x, z)]
    rotation = centred.operations[1].array.astype(np.float32)
    flow = FlowMap(rotation, means[0], means[1], 2.5, tuple(zero), tuple(zero))
    np.testing.assert_allclose(flow.apply(x), centred.apply(x), atol=1e-5)


def test_a_file_keeps_all_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    flow, path = (
        random_flow(5, origin=Origin(method="flow", weights="ab" * 32, layer=3, model="m")),
        tmp_path / "f.npz",
    )
    flow.save(path)
    again = load_map(path)
    assert isinstance(again, FlowMap)
    assert (again.digest, again.origin) == (flow.digest, flow.origin)
    rows = np.ones((2, 5), np.float32)
    np.testing.assert_array_equal(again.apply(rows), flow.apply(rows))
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    with pytest.raises(InputError, match="fitted on layer 3 of model 'm'"):
        again.check_model("cd" * 32, layer=3, width=5)
    changed = bytearray(path.read_bytes())
    place = changed.find(np.ascontiguousarray(flow.rotation).tobytes())
    changed[place] ^= 1
    path.write_bytes(changed)
    with pytest.raises(FileFormatError, match=r"not a flow that nlgauge wrote|damaged"):
        FlowMap.load(path)


def test_invalid_flow_inputs_are_refused() -> None:
    flow = random_flow(4)
    with pytest.raises(InputError, match=r"width 4, got an array of shape \(2, 3\)"):
        flow.apply(np.ones((2, 3)))
    with pytest.raises(RecipeError, match="side must be"):
        flow.apply(np.ones((2, 4)), side="middle")  # type: ignore[arg-type]


def test_a_metric_takes_a_flow_like_any_map(tmp_path: Path) -> None:
    encoder = load_encoder("minilm")
    origin = Origin(method="flow", model="minilm", weights=encoder.weights_digest, layer=4)
    random_flow(384, hidden=8, origin=origin).save(tmp_path / "flow.npz")
    loaded = load_transforms(str(tmp_path / "flow.npz"), source="de", target="en")
    assert loaded is not None
    assert loaded.label.startswith("flow[")
    options = {"metric": "bertscore", "model": "minilm", "layer": 4, "against": "source"}
    plain = nlgauge.score(["The cat sat."], sources=["The dog sat."], **options)  # type: ignore[arg-type]
    moved = nlgauge.score(
        ["The cat sat."],
        sources=["The dog sat."],
        transforms=str(tmp_path / "flow.npz"),
        **options,  # type: ignore[arg-type]
    )
    assert plain.system_score != moved.system_score
    assert loaded.label in str(moved.signature)
