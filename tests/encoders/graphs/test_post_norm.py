"""Which models need no torch, where their weights are found, and where the user is sent with the others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.encoders.tiny_models import TINY, tiny_tensors, write_model

from nlgauge.encoders.checkpoint import CheckpointWeights
from nlgauge.encoders.graphs.families import encoder_graph, family_of
from nlgauge.encoders.graphs.post_norm import relative_bucket
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import MissingExtraError, ModelError, RecipeError, UnsupportedModelError

FAMILIES = sorted(TINY)


def weights(
    folder: Path, kind: str, tensors: dict[str, Any] | None = None, *, top: int | None = None
) -> dict[str, Any]:
    """What the graph of layer `top` (the highest) gets from a checkpoint."""
    config = TINY[kind]
    write_model(folder, config, tensors)
    family = family_of(config, model="tiny")
    graph = encoder_graph(family, config, (config["num_hidden_layers"] if top is None else top,))
    return dict(CheckpointWeights(folder, family, model="tiny", engine="onnx").take(graph.parameters))


def write_bfloat16(path: Path, halves: dict[str, Any]) -> None:
    """A safetensors file of bfloat16, given as whole numbers."""
    write_arrays(path, {name: half.astype("<u2") for name, half in halves.items()}, dtype="BF16")


def write_arrays(path: Path, arrays: dict[str, Any], *, dtype: str, padding: int = 0) -> None:
    """A safetensors file: the length of a header, the header, the arrays one after the other."""
    header, data = {}, b""
    for name, array in arrays.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode() + b" " * padding
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)


def assert_same(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert np.array_equal(value, right[name]), name


# What it takes


@pytest.mark.parametrize("as_inputs", [False, True], ids=["initializers", "inputs"])
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("top", [0, 1, 3])
def test_a_graph_declares_exactly_the_parameters_it_says(kind: str, top: int, as_inputs: bool) -> None:
    family = family_of(TINY[kind], model="tiny")
    made = encoder_graph(family, TINY[kind], (top,), as_inputs=as_inputs)
    graph = onnx.load_model_from_string(made.data).graph
    if as_inputs:
        inputs = [value for value in graph.input if value.name != "ids"]
        declared = {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim) for v in inputs}
    else:
        declared = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer if tensor.external_data}
    assert declared == made.parameters
    tensors = tiny_tensors(TINY[kind])
    assert {name: tensors[name].shape for name in made.parameters} == made.parameters


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_encoder_inside_a_larger_checkpoint_is_found(tmp_path: Path, kind: str) -> None:
    tensors = tiny_tensors(TINY[kind])
    inside = {f"{kind}.{name}": value for name, value in tensors.items()} | {"cls.bias": np.zeros(3)}
    assert_same(weights(tmp_path / "inside", kind, inside), weights(tmp_path / "alone", kind, tensors))


def test_the_spelling_of_2018_is_read(tmp_path: Path) -> None:
    tensors = tiny_tensors(TINY["bert"])
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    }
    assert old.keys() != tensors.keys()
    assert_same(weights(tmp_path / "old", "bert", old), weights(tmp_path / "new", "bert", tensors))


@pytest.mark.parametrize("kind", FAMILIES)
def test_half_precision_is_widened_before_anything_is_computed(tmp_path: Path, kind: str) -> None:
    half = {name: value.astype(np.float16) for name, value in tiny_tensors(TINY[kind]).items()}
    wide = {name: value.astype(np.float32) for name, value in half.items()}
    result = weights(tmp_path / "half", kind, half)
    assert {value.dtype for value in result.values()} == {np.dtype(np.float32)}
    assert_same(result, weights(tmp_path / "wide", kind, wide))


def test_bfloat16_is_read_as_the_upper_half_of_float32(tmp_path: Path) -> None:
    halves = {name: value.view(np.uint32) >> 16 for name, value in tiny_tensors(TINY["bert"]).items()}
    cut = {name: (half << 16).view(np.float32) for name, half in halves.items()}
    expected = weights(tmp_path / "wide", "bert", cut)
    folder = write_model(tmp_path / "cut", TINY["bert"])
    write_bfloat16(folder / "model.safetensors", halves)
    family = family_of(TINY["bert"], model="tiny")
    read = CheckpointWeights(folder, family, model="tiny", engine="onnx")
    assert_same(read.take({name: value.shape for name, value in expected.items()}), expected)


@pytest.mark.parametrize("padding", range(4))
def test_mapped_weights_are_those_that_are_read(tmp_path: Path, padding: int) -> None:
    """Wherever the arrays start in the file, and without a copy where a processor can read them there."""
    expected = weights(tmp_path / "read", "bert", tensors := tiny_tensors(TINY["bert"]))
    folder = write_model(tmp_path / "mapped", TINY["bert"])
    write_arrays(folder / "model.safetensors", tensors, dtype="F32", padding=padding)
    family = family_of(TINY["bert"], model="tiny")
    read = CheckpointWeights(folder, family, model="tiny", engine="onnx", mapped=True)
    result = read.take({name: value.shape for name, value in expected.items()})
    assert_same(result, expected)
    assert all(value.flags.aligned for value in result.values())
    start = 8 + int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    assert {value.flags.writeable for value in result.values()} == {start % 4 != 0}, "a copy is of its own"


@pytest.mark.parametrize(
    ("config", "capacity"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
    ],
)
def test_tokens_that_the_position_table_holds(config: dict[str, Any], capacity: int) -> None:
    whole = {name: value for name, value in TINY["bert"].items() if name != "pad_token_id"} | config
    assert family_of(whole, model="tiny").dimensions(whole).positions == capacity


# MPNet's relative positions


@pytest.mark.parametrize(
    ("size", "bucket"),
    # 32 buckets: 16 per direction, of which 8 exact; above, 8 + floor(8 ln(size / 8) / ln(128 / 8)), at most 15.
    [(1, 1), (7, 7), (8, 8), (11, 8), (12, 9), (16, 10), (31, 11), (32, 12), (64, 14), (90, 14), (91, 15), (511, 15)],
)
def test_relative_buckets_by_hand(size: int, bucket: int) -> None:
    assert relative_bucket(-size, buckets=32) == bucket
    assert relative_bucket(size, buckets=32) == 16 + bucket


def test_a_token_is_at_no_distance_from_itself() -> None:
    assert relative_bucket(0, buckets=32) == 0


# What it refuses


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_type": "xlnet"}, "'xlnet'"),
        ({"model_type": None}, "None"),
        ({"hidden_act": "gelu_new"}, "hidden_act='gelu_new'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key'"),
        ({"is_decoder": True}, "is_decoder=True"),
    ],
)
def test_an_unknown_architecture_names_itself_and_the_way_out(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    folder = write_model(tmp_path / "odd", TINY["bert"])
    (folder / "config.json").write_text(json.dumps(TINY["bert"] | changes), encoding="utf-8")
    with pytest.raises(UnsupportedModelError) as caught:
        load_encoder(str(folder))
    for part in (named, "'odd'", "nlgauge[torch]", "engine 'torch'"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["embeddings.word_embeddings.weight", "encoder.layer.1.output.LayerNorm.bias", "embeddings.LayerNorm.weight"],
)
def test_a_missing_weight_is_named(tmp_path: Path, name: str) -> None:
    tensors = tiny_tensors(TINY["bert"])
    del tensors[name]
    with pytest.raises(ModelError, match=rf"'tiny' lacks the weight '{name}'"):
        weights(tmp_path, "bert", tensors)


def test_a_weight_of_another_shape_is_named(tmp_path: Path) -> None:
    tensors = tiny_tensors(TINY["bert"])
    tensors["encoder.layer.0.output.dense.weight"] = np.zeros((24, 41), dtype=np.float32)
    message = r"'encoder.layer.0.output.dense.weight' has the shape \(24, 41\), expected \(24, 40\)"
    with pytest.raises(ModelError, match=message):
        weights(tmp_path, "bert", tensors)


def test_a_weight_above_the_highest_layer_is_not_missed(tmp_path: Path) -> None:
    tensors = tiny_tensors(TINY["bert"])
    lower = {name: value for name, value in tensors.items() if not name.startswith("encoder.layer.3.")}
    assert_same(weights(tmp_path / "lower", "bert", lower, top=3), weights(tmp_path / "all", "bert", tensors, top=3))


# The engine that is named as the way out


def test_an_absent_openvino_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[openvino\]'"):
        load_encoder(str(folder), engine="openvino")


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_an_absent_torch_engine_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[torch\]'"):
        load_encoder(str(folder), engine="torch")


def test_an_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"unknown engine 'tensorflow'; engines are: onnx, openvino, torch"):
        load_encoder("minilm", engine="tensorflow")
