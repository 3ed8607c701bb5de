"""DeBERTa's graph beside its formula, written out for one text in numpy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erf
from tests.encoders.tiny_models import graph_tensors, write_model

from nlgauge.encoders.engines.graph_engines import GraphEncoder, OnnxEncoder, OpenVinoEncoder
from nlgauge.encoders.graphs.families import encoder_graph, family_of
from nlgauge.encoders.graphs.post_norm import relative_rows
from nlgauge.errors import ModelError, UnsupportedModelError
from nlgauge.io.store.resolve import resolve

Array = NDArray[Any]

V3: dict[str, Any] = {
    "model_type": "deberta-v2",
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "max_position_embeddings": 48,
    "vocab_size": 64,
    "relative_attention": True,
    "position_buckets": 8,
    "max_relative_positions": -1,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
}
#: Absolute places and token types as well, projections of positions on their own, no buckets, a convolution.
V2 = V3 | {
    "position_buckets": -1,
    "max_relative_positions": 6,
    "norm_rel_ebd": "none",
    "share_att_key": False,
    "position_biased_input": True,
    "type_vocab_size": 2,
    "conv_kernel_size": 3,
}
CONFIGS = {"v3": V3, "v2": V2}


def normed(x: Array, weights: dict[str, Array], at: str) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-7)
    return centred / spread * weights[f"{at}.weight"] + weights[f"{at}.bias"]


def linear(x: Array, weights: dict[str, Array], at: str) -> Array:
    return x @ weights[f"{at}.weight"].T + weights[f"{at}.bias"]


def gelu(x: Array) -> Array:
    return x * (1 + erf(x / math.sqrt(2))) / 2


def row(config: dict[str, Any], distance: int) -> int:
    """Of the table of position vectors, for a distance query - key."""
    buckets = config["position_buckets"]
    if buckets < 0:
        span, bucket = config["max_relative_positions"], distance
    else:
        span, half, bucket = buckets, buckets // 2, distance
        if abs(distance) > half:
            share = math.log(abs(distance) / half) / math.log((config["max_position_embeddings"] - 1) / half)
            # A hair's breadth below a whole number is that number.
            bucket = int(math.copysign(half + math.ceil(share * (half - 1) - 1e-6), distance))
    return min(max(bucket + span, 0), 2 * span - 1)


def attended(x: Array, weights: dict[str, Array], config: dict[str, Any], at: str) -> Array:
    """softmax((Q_i K_j + Q_i KR_(i - j) + K_j QR_(i - j)) / sqrt(3 d)) V, pair by pair."""
    count, heads = len(x), config["num_attention_heads"]
    positions = weights["encoder.rel_embeddings.weight"]
    if config["norm_rel_ebd"] == "layer_norm":
        positions = normed(positions, weights, "encoder.LayerNorm")
    own = "" if config["share_att_key"] else "pos_"
    q, k, v = (linear(x, weights, f"{at}{part}_proj") for part in ("query", "key", "value"))
    qr, kr = (linear(positions, weights, f"{at}{own}{part}_proj") for part in ("query", "key"))
    result = np.zeros_like(x)
    for part in np.split(np.arange(x.shape[1]), heads):
        scores = np.zeros((count, count))
        for i in range(count):
            for j in range(count):
                r = row(config, i - j)
                scores[i, j] = q[i, part] @ k[j, part] + q[i, part] @ kr[r, part] + k[j, part] @ qr[r, part]
        parts = np.exp(scores / math.sqrt(3 * len(part)))
        result[:, part] = parts / parts.sum(-1, keepdims=True) @ v[:, part]
    return result


def by_formula(ids: Array, weights: dict[str, Array], config: dict[str, Any]) -> list[Array]:
    """Every layer of one text."""
    weights = {name: value.astype(np.float64) for name, value in weights.items()}
    x = weights["embeddings.word_embeddings.weight"][ids]
    if config["position_biased_input"]:
        x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    if config["type_vocab_size"]:
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
    layers = [normed(x, weights, "embeddings.LayerNorm")]
    for number in range(config["num_hidden_layers"]):
        index, x = f"encoder.layer.{number}.", layers[-1]
        mixed = linear(
            attended(x, weights, config, f"{index}attention.self."), weights, f"{index}attention.output.dense"
        )
        a = normed(x + mixed, weights, f"{index}attention.output.LayerNorm")
        inner = linear(gelu(linear(a, weights, f"{index}intermediate.dense")), weights, f"{index}output.dense")
        h = normed(a + inner, weights, f"{index}output.LayerNorm")
        if number == 0 and config.get("conv_kernel_size"):
            padded = np.pad(layers[0], ((1, 1), (0, 0)))
            kernel = weights["encoder.conv.conv.weight"]
            sums = sum(padded[place : place + len(ids)] @ kernel[:, :, place].T for place in range(3))
            active = np.tanh(sums + weights["encoder.conv.conv.bias"])
            h = normed(h + active, weights, "encoder.conv.LayerNorm")
        layers.append(h)
    return layers


@pytest.mark.heavy
@pytest.mark.parametrize("engine", [OnnxEncoder, OpenVinoEncoder])
@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.usefixtures("own_cache")
def test_vectors_are_those_of_the_formula(tmp_path: Path, engine: type[GraphEncoder], kind: str) -> None:
    config = CONFIGS[kind]
    weights = graph_tensors(config)
    encoder = engine(resolve(str(write_model(tmp_path / "tiny", config, weights))), threads=1)
    for length in (1, 2, 5, 48):
        ids = np.random.default_rng(length).integers(0, 64, (2, length))
        result = encoder.encode(ids, (0, 1, 2))
        for number, text in enumerate(ids):
            for layer, expected in enumerate(by_formula(text, weights, config)):
                assert np.abs(result[layer][number] - expected).max() < 1e-4


@pytest.mark.parametrize(
    ("distance", "bucket"),
    # 256 buckets for 512 places: 128 exact, then 128 + ceil(127 ln(distance / 128) / ln(511 / 128)).
    [(0, 0), (1, 1), (127, 127), (128, 128), (129, 129), (130, 130), (200, 169), (256, 192), (400, 233), (511, 255)],
)
def test_position_buckets_match_hand_calculation(distance: int, bucket: int) -> None:
    config = {"position_buckets": 256, "max_position_embeddings": 512}
    assert relative_rows(config, np.array([distance, -distance])).tolist() == [256 + bucket, 256 - bucket]


def test_distances_beyond_the_table_share_its_ends() -> None:
    config = {"max_relative_positions": 3, "max_position_embeddings": 512}
    assert relative_rows(config, np.arange(-5, 6)).tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5]


def test_kinds_of_attention_may_be_written_as_one_text() -> None:
    listed, written = V2, V2 | {"pos_att_type": "p2c|c2p"}
    graphs = [encoder_graph(family_of(config, model="tiny"), config, (2,)) for config in (listed, written)]
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize(
    ("changes", "asked", "spared"),
    [
        ({"pos_att_type": ["c2p"]}, "pos_key_proj", "pos_query_proj"),
        ({"pos_att_type": ["p2c"]}, "pos_query_proj", "pos_key_proj"),
        ({"relative_attention": False}, "query_proj", "rel_embeddings"),
        ({"share_att_key": True}, "query_proj", "pos_"),
        ({"embedding_size": 10}, "embed_proj.weight", "embed_proj.bias"),
        ({"conv_kernel_size": 0}, "key_proj", "conv"),
    ],
)
def test_a_graph_asks_only_for_the_weights_that_a_configuration_has(
    changes: dict[str, Any], asked: str, spared: str
) -> None:
    config = V2 | changes
    names = encoder_graph(family_of(config, model="tiny"), config, (2,)).parameters
    assert any(asked in name for name in names)
    assert not any(spared in name for name in names)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_act": "gelu_new"}, "hidden_act='gelu_new'"),
        ({"conv_act": "silu"}, "conv_act='silu'"),
        ({"conv_groups": 2}, "conv_groups=2"),
        ({"conv_kernel_size": 4}, "conv_kernel_size=4"),
        ({"attention_head_size": 16}, "attention_head_size=16"),
    ],
)
def test_unsupported_configurations_suggest_torch(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        family_of(V2 | changes, model="odd", engine="openvino")
    for part in (named, "'odd'", "engine 'openvino'", "nlgauge[torch]"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"position_buckets": 1}, r"'position_buckets' must be from 2"),
        ({"position_buckets": "8"}, r"'position_buckets' must be a whole number, got '8'"),
        ({"type_vocab_size": -1}, r"'type_vocab_size' must be a whole number, at least 0, got -1"),
        ({"embedding_size": 0}, r"'embedding_size' must be a whole number, at least 1, got 0"),
        ({"num_attention_heads": 5}, r"'num_attention_heads' must be a divisor of hidden_size"),
    ],
)
def test_a_configuration_that_makes_no_graph_is_refused_in_words(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        family_of(V3 | changes, model="odd")
