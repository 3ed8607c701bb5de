"""ModernBERT's graph beside its formula, written out for one text in numpy."""

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
from nlgauge.errors import ModelError, UnsupportedModelError
from nlgauge.io.store.resolve import resolve

Array = NDArray[Any]

#: As transformers 4 writes it.
OLDER: dict[str, Any] = {
    "model_type": "modernbert",
    "hidden_size": 24,
    "intermediate_size": 20,
    "num_attention_heads": 2,
    "num_hidden_layers": 3,
    "max_position_embeddings": 48,
    "vocab_size": 64,
    "local_attention": 6,
    "global_attn_every_n_layers": 2,
    "global_rope_theta": 700.0,
    "local_rope_theta": 30.0,
}
_NEW_NAMES = {"global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"}
#: The same as transformers 5 writes it.
NEWER = {name: value for name, value in OLDER.items() if name not in _NEW_NAMES} | {
    "layer_types": ["full_attention", "sliding_attention", "full_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 700.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 30.0},
    },
}


def normed(x: Array, weights: dict[str, Array], at: str) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weights[f"{at}.weight"]


def turned(x: Array, theta: float) -> Array:
    """Pairs of entries as complex numbers, turned by their place times a frequency each."""
    half = x.shape[1] // 2
    angles = np.outer(np.arange(len(x)), theta ** (-np.arange(half) / half))
    pairs = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def attended(x: Array, joint: Array, *, theta: float, window: int | None) -> Array:
    q, k, v = np.split(x @ joint.T, 3, axis=1)
    result = np.zeros_like(x)
    for part in np.split(np.arange(x.shape[1]), OLDER["num_attention_heads"]):
        scores = turned(q[:, part], theta) @ turned(k[:, part], theta).T / math.sqrt(len(part))
        if window is not None:
            index = np.arange(len(x))
            scores[np.abs(index[:, None] - index) > window // 2] = -np.inf
        parts = np.exp(scores)
        result[:, part] = parts / parts.sum(-1, keepdims=True) @ v[:, part]
    return result


def by_formula(ids: Array, weights: dict[str, Array]) -> list[Array]:
    """Every layer of one text; the last is normalised once more."""
    weights = {name: value.astype(np.float64) for name, value in weights.items()}
    layers = [normed(weights["embeddings.tok_embeddings.weight"][ids], weights, "embeddings.norm")]
    for number, (theta, window) in enumerate([(700.0, None), (30.0, 6), (700.0, None)]):
        index, x = f"layers.{number}.", layers[-1]
        inputs = normed(x, weights, f"{index}attn_norm") if number else x
        seen = attended(inputs, weights[f"{index}attn.Wqkv.weight"], theta=theta, window=window)
        a = x + seen @ weights[f"{index}attn.Wo.weight"].T
        u, gate = np.split(normed(a, weights, f"{index}mlp_norm") @ weights[f"{index}mlp.Wi.weight"].T, 2, axis=1)
        layers.append(a + (u * (1 + erf(u / math.sqrt(2))) / 2 * gate) @ weights[f"{index}mlp.Wo.weight"].T)
    layers[-1] = normed(layers[-1], weights, "final_norm")
    return layers


@pytest.mark.parametrize("engine", [OnnxEncoder, OpenVinoEncoder])
@pytest.mark.usefixtures("own_cache")
def test_vectors_are_those_of_the_formula(tmp_path: Path, engine: type[GraphEncoder]) -> None:
    weights = graph_tensors(OLDER)
    encoder = engine(resolve(str(write_model(tmp_path / "tiny", OLDER, weights))), threads=1)
    for length in (1, 2, 9, 48):
        ids = np.random.default_rng(length).integers(0, 64, (2, length))
        result = encoder.encode(ids, (0, 1, 2, 3))
        for number, text in enumerate(ids):
            for layer, expected in enumerate(by_formula(text, weights)):
                assert np.abs(result[layer][number] - expected).max() < 1e-4


@pytest.mark.usefixtures("own_cache")
def test_a_window_hides_only_what_is_outside_of_it(tmp_path: Path) -> None:
    weights = graph_tensors(OLDER)
    narrow, wide = (
        OnnxEncoder(
            resolve(str(write_model(tmp_path / str(window), OLDER | {"local_attention": window}, weights))), threads=1
        )
        for window in (6, 96)
    )
    ids = np.arange(5, 25)[None]
    assert np.array_equal(narrow.encode(ids[:, :4], (2,)), wide.encode(ids[:, :4], (2,)))
    assert np.abs(narrow.encode(ids, (2,))[0] - wide.encode(ids, (2,))[0]).max() > 0.1


# Configurations


def graph(config: dict[str, Any]) -> Any:
    return encoder_graph(family_of(config, model="tiny"), config, (3,))


def test_both_layouts_of_a_configuration_make_the_same_graph() -> None:
    assert graph(NEWER) == graph(OLDER)


def test_what_a_configuration_leaves_out_is_as_published() -> None:
    stated = {
        "local_attention": 128,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160_000.0,
        "local_rope_theta": 10_000.0,
        "norm_eps": 1e-5,
        "norm_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
    }
    sizes = {name: value for name, value in OLDER.items() if name not in stated}
    assert graph(sizes) == graph(sizes | stated)


def test_local_layers_without_a_theta_share_the_global_one() -> None:
    assert graph(OLDER | {"local_rope_theta": None}) == graph(OLDER | {"local_rope_theta": 700.0})


@pytest.mark.parametrize("entry", ["norm_bias", "attention_bias", "mlp_bias"])
def test_biases_are_asked_for_where_a_configuration_has_them(entry: str) -> None:
    added = graph(OLDER | {entry: True}).parameters.keys() - graph(OLDER).parameters.keys()
    assert added
    assert all(name.endswith(".bias") for name in added)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_activation": "silu"}, "hidden_activation='silu'"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling={"),
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1e4}}}, "rope_parameters={"),
        ({"head_dim": 16}, "head_dim=16"),
    ],
)
def test_unsupported_configurations_suggest_torch(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        family_of(OLDER | changes, model="odd")
    for part in (named, "'odd'", "engine 'onnx'", "nlgauge[torch]"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"layer_types": ["full_attention"]}, r"'layer_types' must be a list of 3 of 'full_attention' and"),
        ({"layer_types": ["full_attention", "linear", "linear"]}, r"'layer_types' must be a list of 3"),
        (
            {"global_attn_every_n_layers": 0},
            r"'global_attn_every_n_layers' must be a whole number, at least 1, got 0",
        ),
        ({"local_attention": -1}, r"'local_attention' must be a whole number, at least 0, got -1"),
        ({"global_rope_theta": "big"}, r"'global_rope_theta' must be a number above 0, got 'big'"),
        ({"num_attention_heads": 8}, r"'num_attention_heads' must be a divisor of hidden_size into even widths"),
        ({"norm_eps": 0}, r"'norm_eps' must be a number above 0, got 0"),
    ],
)
def test_a_configuration_that_makes_no_graph_is_refused_in_words(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        family_of(OLDER | changes, model="odd")
