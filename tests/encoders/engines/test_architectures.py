"""Which models the ONNX engine takes, where it finds their weights, and where it sends the user with the others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.encoders.tiny_models import TINY, tiny_tensors, write_model

from nlgauge import MissingExtraError, ModelError, RecipeError, UnsupportedModelError
from nlgauge.encoders import load_encoder
from nlgauge.encoders.engines.architectures import (
    architecture_of,
    encoder_parameters,
    encoder_shape,
    position_capacity,
    relative_bucket,
)
from nlgauge.encoders.engines.graph import encoder_graph

FAMILIES = sorted(TINY)


def parameters(kind: str, tensors: dict[str, Any] | None = None, *, top: int | None = None) -> dict[str, Any]:
    config = TINY[kind]
    tensors = tiny_tensors(config) if tensors is None else tensors
    return encoder_parameters(config, tensors, top=config["num_hidden_layers"] if top is None else top, model="tiny")


def assert_same(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert np.array_equal(value, right[name]), name


# What it takes


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("top", [0, 1, 3])
def test_a_graph_gets_exactly_the_parameters_it_declares(kind: str, top: int) -> None:
    graph = onnx.load_model_from_string(encoder_graph(encoder_shape(TINY[kind]), (top,))).graph
    declared = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer if tensor.external_data}
    assert {name: value.shape for name, value in parameters(kind, top=top).items()} == declared


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_encoder_inside_a_larger_checkpoint_is_found(kind: str) -> None:
    tensors = tiny_tensors(TINY[kind])
    inside = {f"{kind}.{name}": value for name, value in tensors.items()} | {"cls.bias": np.zeros(3)}
    assert_same(parameters(kind, inside), parameters(kind, tensors))


def test_the_spelling_of_2018_is_read() -> None:
    tensors = tiny_tensors(TINY["bert"])
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    }
    assert old.keys() != tensors.keys()
    assert_same(parameters("bert", old), parameters("bert", tensors))


@pytest.mark.parametrize("kind", FAMILIES)
def test_half_precision_is_widened_before_anything_is_computed(kind: str) -> None:
    half = {name: value.astype(np.float16) for name, value in tiny_tensors(TINY[kind]).items()}
    wide = {name: value.astype(np.float32) for name, value in half.items()}
    found = parameters(kind, half)
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}
    assert_same(found, parameters(kind, wide))


@pytest.mark.parametrize(
    ("config", "capacity"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "distilbert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "t5"}, None),
    ],
)
def test_tokens_that_the_position_table_holds(config: dict[str, Any], capacity: int | None) -> None:
    assert position_capacity(config) == capacity


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
        ({"model_type": "roberta"}, "'roberta'"),
        ({"model_type": "distilbert"}, "'distilbert'"),
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


def test_a_family_without_token_types_is_known_for_it() -> None:
    assert architecture_of(TINY["bert"], model="x").token_types
    assert not architecture_of(TINY["mpnet"], model="x").token_types


@pytest.mark.parametrize(
    "name",
    ["embeddings.word_embeddings.weight", "encoder.layer.1.output.LayerNorm.bias", "embeddings.LayerNorm.weight"],
)
def test_a_missing_weight_is_named(name: str) -> None:
    tensors = tiny_tensors(TINY["bert"])
    del tensors[name]
    with pytest.raises(ModelError, match=rf"'tiny' lacks the weight '{name}'"):
        parameters("bert", tensors)


def test_a_weight_above_the_highest_layer_is_not_missed() -> None:
    tensors = tiny_tensors(TINY["bert"])
    lower = {name: value for name, value in tensors.items() if not name.startswith("encoder.layer.3.")}
    assert_same(parameters("bert", lower, top=3), parameters("bert", tensors, top=3))


# The engine that is named as the way out


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_an_absent_torch_engine_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[torch\]'"):
        load_encoder(str(folder), engine="torch")


def test_an_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"unknown engine 'tensorflow'; there are: onnx, torch"):
        load_encoder("minilm", engine="tensorflow")
