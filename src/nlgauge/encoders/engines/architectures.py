"""Which architectures the ONNX engine knows, and where their weights are in a safetensors file.

Two families share one block (see `graph`): BERT, with learnt absolute positions and a token type, and MPNet,
with positions that start after the padding index and a relative position bias shared by all layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.engines.graph import EncoderShape
from nlgauge.errors import ModelError, UnsupportedModelError

__all__ = ["Architecture", "architecture_of", "check_config", "encoder_parameters", "position_capacity"]

Weights = Callable[[str], NDArray[np.float32]]

#: Distance beyond which MPNet's relative positions share a bucket (fixed in its published code).
_MPNET_MAX_DISTANCE = 128

#: Entries of a config.json that count something.
_SIZES = ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size", "max_position_embeddings")

_EPSILON = 1e-12


@dataclass(frozen=True)
class Architecture:
    """Names of a family's weights; `{}` is the layer's number from 0."""

    prefixes: tuple[str, ...]
    """Under which the encoder may stand in a checkpoint that holds more."""
    query: str
    key: str
    value: str
    mix: str
    norm1: str
    up: str = "encoder.layer.{}.intermediate.dense"
    down: str = "encoder.layer.{}.output.dense"
    norm2: str = "encoder.layer.{}.output.LayerNorm"
    token_types: bool = True
    relative_bias: str | None = None


_SELF = "encoder.layer.{}.attention.self."
_ARCHITECTURES = {
    "bert": Architecture(
        prefixes=("", "bert."),
        query=_SELF + "query",
        key=_SELF + "key",
        value=_SELF + "value",
        mix="encoder.layer.{}.attention.output.dense",
        norm1="encoder.layer.{}.attention.output.LayerNorm",
    ),
    "mpnet": Architecture(
        prefixes=("", "mpnet."),
        query="encoder.layer.{}.attention.attn.q",
        key="encoder.layer.{}.attention.attn.k",
        value="encoder.layer.{}.attention.attn.v",
        mix="encoder.layer.{}.attention.attn.o",
        norm1="encoder.layer.{}.attention.LayerNorm",
        token_types=False,
        relative_bias="encoder.relative_attention_bias.weight",
    ),
}


def architecture_of(config: Mapping[str, Any], *, model: str) -> Architecture:
    """The family of a `config.json`, or an error that names the engine that takes any."""
    kind = config.get("model_type")
    odd = {
        "hidden_act": config.get("hidden_act", "gelu") != "gelu",
        "position_embedding_type": config.get("position_embedding_type", "absolute") != "absolute",
        "is_decoder": bool(config.get("is_decoder", False)),
    }
    reason = f"model_type {kind!r}" if not isinstance(kind, str) or kind not in _ARCHITECTURES else ""
    reason = reason or ", ".join(f"{key}={config[key]!r}" for key, is_odd in odd.items() if is_odd)
    if reason:
        msg = (
            f"the ONNX engine does not know {reason} of model {model!r} (it knows: "
            f"{', '.join(_ARCHITECTURES)}); install the torch engine with pip install 'nlgauge[torch]' and "
            "use engine 'torch'"
        )
        raise UnsupportedModelError(msg)
    return _ARCHITECTURES[str(kind)]


def check_config(config: Mapping[str, Any], *, model: str) -> None:
    """Refuse a `config.json` that no graph can be built from, saying which entry is wrong."""
    architecture_of(config, model=model)
    for name in ("num_hidden_layers", *_SIZES):
        least = 1 if name in _SIZES else 0
        if not _is_whole(config.get(name)) or config[name] < least:
            _refuse(config, name, f"a whole number, at least {least}", model=model)
    if config["hidden_size"] % config["num_attention_heads"]:
        _refuse(config, "num_attention_heads", f"a divisor of hidden_size ({config['hidden_size']})", model=model)
    epsilon = config.get("layer_norm_eps", _EPSILON)
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool) or not 0 < epsilon < math.inf:
        _refuse(config, "layer_norm_eps", "a number above 0", model=model)
    if config["model_type"] == "mpnet":
        padding, rows = config.get("pad_token_id", 1), config["max_position_embeddings"]
        if not _is_whole(padding) or not 0 <= padding < rows - 1:
            _refuse(config, "pad_token_id", f"a whole number below {rows - 1}, where positions start", model=model)


def _refuse(config: Mapping[str, Any], name: str, expected: str, *, model: str) -> NoReturn:
    msg = f"config.json of model {model!r}: {name!r} must be {expected}, got {config.get(name)!r}"
    raise ModelError(msg)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def position_capacity(config: Mapping[str, Any]) -> int | None:
    """How many tokens the model's position table holds.

    Families that number positions from after the padding index lose that many rows of the table.
    """
    rows = config.get("max_position_embeddings")
    if rows is None:
        return None
    return int(rows) - _first_position(config)


def encoder_shape(config: Mapping[str, Any]) -> EncoderShape:
    """What the graph needs to know of a `config.json`."""
    relative = config.get("model_type") == "mpnet"
    return EncoderShape(
        hidden=int(config["hidden_size"]),
        intermediate=int(config["intermediate_size"]),
        heads=int(config["num_attention_heads"]),
        vocabulary=int(config["vocab_size"]),
        positions=int(config["max_position_embeddings"]) - _first_position(config),
        epsilon=float(config.get("layer_norm_eps", _EPSILON)),
        padding=_first_position(config) - 1 if _first_position(config) else None,
        relative_buckets=int(config.get("relative_attention_num_buckets", 32)) if relative else None,
    )


def encoder_parameters(
    config: Mapping[str, Any], tensors: Mapping[str, NDArray[np.float32]], *, top: int, model: str
) -> dict[str, NDArray[np.float32]]:
    """Values of the graph's parameters up to layer `top`, from a checkpoint's tensors."""
    family = architecture_of(config, model=model)
    read = _reader(tensors, family, model)

    def linear(name: str, number: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        at = name.format(number)
        return read(f"{at}.weight").T, read(f"{at}.bias")

    shape = encoder_shape(config)
    # Families that number positions from after the padding index keep the row of padding itself.
    positions = read("embeddings.position_embeddings.weight")[shape.padding or 0 :]
    if family.token_types:
        # A single text has token type 0 throughout, so its vector can be added to every position.
        positions = positions + read("embeddings.token_type_embeddings.weight")[0]
    values = {
        "embeddings.word": read("embeddings.word_embeddings.weight"),
        "embeddings.position": positions,
        "embeddings.norm.scale": read("embeddings.LayerNorm.weight"),
        "embeddings.norm.shift": read("embeddings.LayerNorm.bias"),
    }
    if family.relative_bias is not None and top > 0:
        values["relative_bias"] = _bias_by_distance(read(family.relative_bias), shape.positions)
    for number in range(top):
        parts = [linear(name, number) for name in (family.query, family.key, family.value)]
        mix, up, down = (linear(name, number) for name in (family.mix, family.up, family.down))
        norm1, norm2 = (linear_norm(read, name.format(number)) for name in (family.norm1, family.norm2))
        block = f"block{number + 1}."
        values |= {
            f"{block}qkv.weight": np.concatenate([weight for weight, _ in parts], axis=1),
            f"{block}qkv.bias": np.concatenate([bias for _, bias in parts]),
            f"{block}mix.weight": mix[0],
            f"{block}mix.bias": mix[1],
            f"{block}norm1.scale": norm1[0],
            f"{block}norm1.shift": norm1[1],
            f"{block}up.weight": up[0],
            f"{block}up.bias": up[1],
            f"{block}down.weight": down[0],
            f"{block}down.bias": down[1],
            f"{block}norm2.scale": norm2[0],
            f"{block}norm2.shift": norm2[1],
        }
    return {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in values.items()}


def linear_norm(read: Weights, at: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scale and shift of a layer normalisation."""
    return read(f"{at}.weight"), read(f"{at}.bias")


def relative_bucket(distance: int, *, buckets: int, max_distance: int = _MPNET_MAX_DISTANCE) -> int:
    """Bucket of a distance key - query: exact when near, logarithmic when far, one half per direction."""
    half = buckets // 2
    offset = half if distance > 0 else 0
    size = abs(distance)
    exact = half // 2
    if size < exact:
        return offset + size
    # float32, like the published code: a boundary must not move by rounding.
    ratio = np.log(np.float32(size) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
    return offset + min(half - 1, exact + int(np.float32(ratio) * np.float32(half - exact)))


def _bias_by_distance(table: NDArray[np.float32], positions: int) -> NDArray[np.float32]:
    """Rows: heads. Columns: distances from -(positions-1) to positions-1."""
    buckets = [relative_bucket(d, buckets=len(table)) for d in range(-(positions - 1), positions)]
    bias: NDArray[np.float32] = table[buckets].T
    return bias


def _first_position(config: Mapping[str, Any]) -> int:
    """Row of the position table that the first token takes."""
    numbered_after_padding = {"mpnet", "roberta", "xlm-roberta", "camembert", "xlm-roberta-xl"}
    if config.get("model_type") in numbered_after_padding:
        return int(config.get("pad_token_id", 1)) + 1
    return 0


def _reader(tensors: Mapping[str, NDArray[np.float32]], family: Architecture, model: str) -> Weights:
    probe = "embeddings.word_embeddings.weight"
    prefix = next((p for p in family.prefixes if p + probe in tensors), None)

    def read(name: str) -> NDArray[np.float32]:
        # Checkpoints of 2018 spell a normalisation's scale and shift as gamma and beta.
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        for spelling in (name, old):
            if f"{prefix or ''}{spelling}" in tensors:
                return np.asarray(tensors[f"{prefix or ''}{spelling}"], dtype=np.float32)
        msg = f"model {model!r} lacks the weight {name!r} in model.safetensors"
        raise ModelError(msg)

    return read
