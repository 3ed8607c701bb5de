"""ModernBERT: normalisation before each sum, rotary positions, windows of attention, a gated feed-forward network.

    a = x + W_o Attention(LN(x))        h = a + W_2 (gelu(u) * g),  (u, g) = W_1 LN(a)

Positions rotate queries and keys: the halves (a, b) of a head's vector at position p become
(a cos - b sin, b cos + a sin) of the angles p / theta^(2 i / d). Local layers attend to a window around each token
and have their own theta. The highest layer's vectors are normalised once more, as in the published model; those of
lower layers are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from nlgauge.encoders.graphs.builder import Dimensions, Family, GraphBuilder, check_whole, has_other_heads, refuse

_GLOBAL, _LOCAL = "full_attention", "sliding_attention"
_WINDOW = 128
_EVERY = 3
#: The entry in older configurations, and its default.
_THETA = {_GLOBAL: ("global_rope_theta", 160_000.0), _LOCAL: ("local_rope_theta", 10_000.0)}
#: Added to the scores of tokens outside a window.
_NEVER = -3e38


class ModernBert(Family):
    """The family of ModernBERT."""

    prefixes = ("", "model.")
    probe = "embeddings.tok_embeddings.weight"
    epsilon = ("norm_eps", 1e-5)

    def unsupported(self, config: Mapping[str, Any]) -> list[str]:
        entries = [] if config.get("hidden_activation", "gelu") == "gelu" else ["hidden_activation"]
        rotary = config.get("rope_parameters")
        if isinstance(rotary, Mapping) and not all(_is_plain(part) for part in (rotary, *rotary.values())):
            entries.append("rope_parameters")
        if config.get("rope_scaling"):
            entries.append("rope_scaling")
        return [*entries, "head_dim"] if has_other_heads(config, "head_dim") else entries

    def check(self, config: Mapping[str, Any], *, model: str) -> None:
        super().check(config, model=model)
        if config["hidden_size"] // config["num_attention_heads"] % 2:
            refuse(config, "num_attention_heads", "a divisor of hidden_size into even widths", model=model)
        for name, default, least in (("local_attention", _WINDOW, 0), ("global_attn_every_n_layers", _EVERY, 1)):
            check_whole(config, name, default, least=least, model=model)
        kinds, layers = config.get("layer_types"), config["num_hidden_layers"]
        if kinds is not None and not (
            isinstance(kinds, list) and len(kinds) == layers and all(kind in _THETA for kind in kinds)
        ):
            refuse(config, "layer_types", f"a list of {layers} of {_GLOBAL!r} and {_LOCAL!r}", model=model)
        for kind, (entry, _) in _THETA.items():
            theta = _theta(config, kind)
            if not isinstance(theta, int | float) or not 0 < theta < math.inf:
                refuse({entry: theta}, entry, "a number above 0", model=model)

    def build(self, build: GraphBuilder, config: Mapping[str, Any], top: int) -> Iterable[str]:
        size = self.dimensions(config)
        words = build.parameter(self.probe, size.vocabulary, size.hidden)
        word = build.node("Gather", [words, "ids"], "embeddings.words")
        flat = build.node("Reshape", [word, build.constant("rows", [-1, size.hidden])], "embeddings.flat")
        x = _normed(build, size, config, flat, "embeddings.norm", "embeddings.normed")
        yield x
        if not top:
            return
        build.declare_shapes(heads=size.heads, width=size.hidden)
        kinds = _kinds(config)[:top]
        where = build.places()
        angles = {kind: _turns(build, size, where, kind, _theta(config, kind)) for kind in sorted(set(kinds))}
        outside = (
            _outside(build, where, int(config.get("local_attention", _WINDOW)) // 2) if _LOCAL in kinds else None
        )
        for number, kind in enumerate(kinds):
            x = _block(build, size, config, x, angles[kind], outside if kind == _LOCAL else None, number)
            if number + 1 < size.layers:
                yield x
        if top == size.layers:
            yield _normed(build, size, config, x, "final_norm", "final")


def _is_plain(rotary: Any) -> bool:
    kind = rotary.get("rope_type", rotary.get("type", "default")) if isinstance(rotary, Mapping) else "default"
    return bool(kind == "default")


def _kinds(config: Mapping[str, Any]) -> list[str]:
    """The kind of attention of each layer: listed, or in older configurations global in every n-th layer."""
    stated = config.get("layer_types")
    if stated is not None:
        return list(stated)
    every = int(config.get("global_attn_every_n_layers", _EVERY))
    return [_LOCAL if number % every else _GLOBAL for number in range(int(config["num_hidden_layers"]))]


def _theta(config: Mapping[str, Any], kind: str) -> Any:
    rotary = config.get("rope_parameters")
    stated = rotary.get(kind) if isinstance(rotary, Mapping) else None
    if isinstance(stated, Mapping) and stated.get("rope_theta") is not None:
        return stated["rope_theta"]
    entry, default = _THETA[kind]
    if kind == _LOCAL and entry in config and config[entry] is None:
        return _theta(config, _GLOBAL)
    return config.get(entry, default)


def _normed(build: GraphBuilder, size: Dimensions, config: Mapping[str, Any], x: str, at: str, name: str) -> str:
    return build.norm(x, at, size.hidden, size.epsilon, name, bias=bool(config.get("norm_bias", False)))


def _turns(build: GraphBuilder, size: Dimensions, places: str, kind: str, theta: float) -> dict[str, tuple[str, str]]:
    """Cosines and sines of queries (length, d / 2), which carry attention's scale, and of keys (d / 2, length)."""
    width = size.hidden // size.heads
    # float32 as in the published code, because at far positions the rounding of an angle matters.
    exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    frequencies = np.float32(1) / np.power(np.float32(theta), exponents)
    column = build.node("Unsqueeze", [places, build.constant("second_axis", [1])], f"{kind}.places")
    floats = build.node("Cast", [column], f"{kind}.places.float", to=1)
    angles = build.node("Mul", [floats, build.constant(f"{kind}.frequencies", frequencies)], f"{kind}.angles")
    scale = build.constant("scale", 1 / math.sqrt(width))
    turns: dict[str, list[str]] = {"query": [], "key": []}
    for op in ("Cos", "Sin"):
        value = build.node(op, [angles], f"{kind}.{op}")
        turns["query"].append(build.node("Mul", [value, scale], f"{kind}.{op}.query"))
        turns["key"].append(build.node("Transpose", [value], f"{kind}.{op}.key", perm=[1, 0]))
    return {name: (cos, sin) for name, (cos, sin) in turns.items()}


def _outside(build: GraphBuilder, places: str, reach: int) -> str:
    """The mask of a window (length, length), added to scores: 0 within `reach` tokens, very negative beyond."""
    apart = build.node("Abs", [build.distances(places)], "distances.size")
    far = build.node("Greater", [apart, build.constant("window.reach", reach)], "window.outside")
    return build.node("Where", [far, build.constant("never", _NEVER), build.constant("nothing", 0.0)], "window")


def _turned(build: GraphBuilder, x: str, turns: tuple[str, str], name: str, *, axis: int) -> str:
    """Rotate a head's vectors by the angles of their positions."""
    cos, sin = turns
    left, right = build.split(x, [f"{name}.left", f"{name}.right"], axis=axis)

    def product(half: str, by: str, output: str) -> str:
        return build.node("Mul", [half, by], f"{name}.{output}")

    first = build.node(
        "Sub", [product(left, cos, "left_cos"), product(right, sin, "right_sin")], f"{name}.turned_left"
    )
    second = build.node(
        "Add", [product(right, cos, "right_cos"), product(left, sin, "left_sin")], f"{name}.turned_right"
    )
    return build.node("Concat", [first, second], f"{name}.turned", axis=axis)


def _block(
    build: GraphBuilder,
    size: Dimensions,
    config: Mapping[str, Any],
    x: str,
    turns: Mapping[str, tuple[str, str]],
    outside: str | None,
    number: int,
) -> str:
    name, layer, hidden, inner = f"block{number + 1}", f"layers.{number}.", size.hidden, size.intermediate
    attention_bias, mlp_bias = (bool(config.get(entry, False)) for entry in ("attention_bias", "mlp_bias"))
    # The embeddings are normalised already.
    normed = _normed(build, size, config, x, f"{layer}attn_norm", f"{name}.normed1") if number else x
    joint = build.linear(normed, f"{layer}attn.Wqkv", hidden, 3 * hidden, f"{name}.joint", bias=attention_bias)
    query, key, value = build.split(joint, [f"{name}.q", f"{name}.k", f"{name}.v"], axis=1)
    q = _turned(build, build.by_head(query, f"{name}.query"), turns["query"], f"{name}.query", axis=3)
    k = _turned(build, build.by_head(key, f"{name}.key", transposed=True), turns["key"], f"{name}.key", axis=2)
    attended = build.attend(q, k, build.by_head(value, f"{name}.value"), name, bias=outside)
    mixed = build.linear(attended, f"{layer}attn.Wo", hidden, hidden, f"{name}.mixed", bias=attention_bias)
    a = build.node("Add", [x, mixed], f"{name}.residual1")
    normed = _normed(build, size, config, a, f"{layer}mlp_norm", f"{name}.normed2")
    both = build.linear(normed, f"{layer}mlp.Wi", hidden, 2 * inner, f"{name}.up", bias=mlp_bias)
    up, gate = build.split(both, [f"{name}.input", f"{name}.gate"], axis=1)
    gated = build.node("Mul", [build.node("Gelu", [up], f"{name}.active"), gate], f"{name}.gated")
    down = build.linear(gated, f"{layer}mlp.Wo", inner, hidden, f"{name}.down", bias=mlp_bias)
    return build.node("Add", [a, down], f"{name}.residual2")
