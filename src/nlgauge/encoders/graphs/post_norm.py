"""BERT and its relatives: the original transformer encoder, with normalisation after each residual sum.

    a = LN(x + W_o Attention(W_q x, W_k x, W_v x))        h = LN(a + W_2 gelu(W_1 a))

They differ in the names of their weights, in how positions are numbered, in token types, in a bias by distance that
MPNet adds to attention, and in ELECTRA's narrower embeddings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nlgauge.encoders.graphs.builder import (
    ENTRIES,
    Dimensions,
    GraphBuilder,
    check_dimensions,
    check_whole,
    dimensions_of,
)

#: Distance beyond which MPNet's relative positions share a bucket (fixed in its published code).
_MPNET_MAX_DISTANCE = 128

#: Width of ELECTRA's embeddings where its configuration states none.
_ELECTRA_WIDTH = 128

_SELF = "encoder.layer.{}.attention.self."


@dataclass(frozen=True)
class PostNorm:
    """A family: the names of its weights (`{}` is the layer's number from 0), and what distinguishes it."""

    prefixes: tuple[str, ...]
    """Under which the encoder may stand in a checkpoint that holds more."""
    query: str = _SELF + "query"
    key: str = _SELF + "key"
    value: str = _SELF + "value"
    mix: str = "encoder.layer.{}.attention.output.dense"
    norm1: str = "encoder.layer.{}.attention.output.LayerNorm"
    up: str = "encoder.layer.{}.intermediate.dense"
    down: str = "encoder.layer.{}.output.dense"
    norm2: str = "encoder.layer.{}.output.LayerNorm"
    token_types: bool = True
    after_padding: bool = False
    """Whether positions are numbered from after the padding index."""
    relative_bias: str | None = None
    narrow_embeddings: bool = False
    """Whether embeddings may be narrower than the layers, and are projected."""
    activation: str = "hidden_act"
    entries: Mapping[str, str] = field(default_factory=lambda: ENTRIES)

    probe = "embeddings.word_embeddings.weight"

    def unsupported(self, config: Mapping[str, Any]) -> list[str]:
        """Entries of a `config.json` that ask for what this graph does not do."""
        usual = {self.activation: "gelu", "position_embedding_type": "absolute", "is_decoder": False}
        return [name for name, value in usual.items() if config.get(name, value) != value]

    def check(self, config: Mapping[str, Any], *, model: str) -> None:
        """Refuse a `config.json` that no graph can be built from, saying which entry is wrong."""
        check_dimensions(config, self.entries, model=model, after_padding=self.after_padding)
        sizes = {
            "type_vocab_size": self.token_types,
            "embedding_size": self.narrow_embeddings,
            "relative_attention_num_buckets": self.relative_bias is not None,
        }
        for name, used in sizes.items():
            if used:
                check_whole(config, name, 1, least=1, model=model)

    def dimensions(self, config: Mapping[str, Any]) -> Dimensions:
        """Sizes that a `config.json` states."""
        first = int(config.get("pad_token_id", 1)) + 1 if self.after_padding else 0
        return dimensions_of(config, self.entries, first_position=first)

    def build(self, build: GraphBuilder, config: Mapping[str, Any], top: int) -> Iterable[str]:
        """Rows of layer 0, then of each layer up to `top`."""
        size = self.dimensions(config)
        x = self._embeddings(build, size, config)
        yield x
        if not top:
            return
        build.declare_shapes(heads=size.heads, width=size.hidden)
        bias = None if self.relative_bias is None else _bias(build, size, config, self.relative_bias)
        for number in range(top):
            x = self._block(build, size, x, bias, number)
            yield x

    def _embeddings(self, build: GraphBuilder, size: Dimensions, config: Mapping[str, Any]) -> str:
        # ELECTRA's embeddings may be narrower than its layers.
        width = (
            int(config.get("embedding_size", _ELECTRA_WIDTH))
            if config.get("model_type") == "electra"
            else size.hidden
        )
        words = build.parameter(self.probe, size.vocabulary, width)
        rows = size.first_position + (size.positions or 0)
        positions = build.parameter("embeddings.position_embeddings.weight", rows, width)
        word = build.node("Gather", [words, "ids"], "embeddings.words")
        if self.after_padding:
            position = build.node("Gather", [positions, _numbered(build, size)], "embeddings.positions")
        else:
            position = build.first_rows(positions, "embeddings.positions")
        if self.token_types:
            kind = build.token_type(int(config.get("type_vocab_size", 2)), width)
            position = build.node("Add", [position, kind], "embeddings.places")
        total = build.node("Add", [word, position], "embeddings.sum")
        flat = build.node("Reshape", [total, build.constant("embeddings.rows", [-1, width])], "embeddings.flat")
        normed = build.norm(flat, "embeddings.LayerNorm", width, size.epsilon, "embeddings.normed")
        if width == size.hidden:
            return normed
        return build.linear(normed, "embeddings_project", width, size.hidden, "embeddings.projected")

    def _block(self, build: GraphBuilder, size: Dimensions, x: str, bias: str | None, number: int) -> str:
        name, hidden = f"block{number + 1}", size.hidden

        def project(weights: str, output: str, scale: float = 1.0) -> str:
            return build.linear(x, weights.format(number), hidden, hidden, f"{name}.{output}", scale=scale)

        q = build.by_head(project(self.query, "query", 1 / math.sqrt(hidden // size.heads)), f"{name}.query")
        k = build.by_head(project(self.key, "key"), f"{name}.key", transposed=True)
        v = build.by_head(project(self.value, "value"), f"{name}.value")
        return self.finish_block(build, size, x, build.attend(q, k, v, name, bias=bias), number)

    def finish_block(self, build: GraphBuilder, size: Dimensions, x: str, attended: str, number: int) -> str:
        """A block from its attended values on: both sums, and the feed-forward layer between them."""
        name, hidden = f"block{number + 1}", size.hidden
        mixed = build.linear(attended, self.mix.format(number), hidden, hidden, f"{name}.mixed")
        total = build.node("Add", [mixed, x], f"{name}.residual1")
        a = build.norm(total, self.norm1.format(number), hidden, size.epsilon, f"{name}.normed1")
        up = build.linear(a, self.up.format(number), hidden, size.intermediate, f"{name}.up")
        active = build.node("Gelu", [up], f"{name}.active")
        down = build.linear(active, self.down.format(number), size.intermediate, hidden, f"{name}.down")
        total = build.node("Add", [down, a], f"{name}.residual2")
        return build.norm(total, self.norm2.format(number), hidden, size.epsilon, f"{name}.normed2")


def _numbered(build: GraphBuilder, size: Dimensions) -> str:
    """Rows of the position table: tokens are counted from after the padding index; padding, which a text may spell
    out, has that index's own row and is not counted."""
    padding = build.constant("padding", size.first_position - 1)
    is_token = build.node("Not", [build.node("Equal", ["ids", padding], "is_padding")], "is_token")
    counts = build.node("Cast", [is_token], "counts", to=7)  # int64
    count = build.node("CumSum", [counts, build.constant("one", 1)], "count")
    return build.node("Add", [build.node("Mul", [count, counts], "place"), padding], "row")


def _bias(build: GraphBuilder, size: Dimensions, config: Mapping[str, Any], table: str) -> str:
    """Bias (heads, length, length) of each pair of tokens by the bucket of their distance."""
    buckets = int(config.get("relative_attention_num_buckets", 32))
    weights = build.parameter(table, buckets, size.heads)
    reach = (size.positions or 1) - 1
    of_distance = np.array([relative_bucket(d, buckets=buckets) for d in range(-reach, reach + 1)])
    index = build.node("Add", [build.distances(build.places()), build.constant("reach", reach)], "distances.index")
    bucket = build.node("Gather", [build.constant("buckets", of_distance), index], "distances.bucket")
    return build.node("Transpose", [build.node("Gather", [weights, bucket], "bias.by_pair")], "bias", perm=[2, 0, 1])


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


_DISTILBERT = PostNorm(
    prefixes=("", "distilbert."),
    query="transformer.layer.{}.attention.q_lin",
    key="transformer.layer.{}.attention.k_lin",
    value="transformer.layer.{}.attention.v_lin",
    mix="transformer.layer.{}.attention.out_lin",
    norm1="transformer.layer.{}.sa_layer_norm",
    up="transformer.layer.{}.ffn.lin1",
    down="transformer.layer.{}.ffn.lin2",
    norm2="transformer.layer.{}.output_layer_norm",
    token_types=False,
    activation="activation",
    entries={**ENTRIES, "hidden": "dim", "intermediate": "hidden_dim", "heads": "n_heads", "layers": "n_layers"},
)

_ROBERTA = PostNorm(prefixes=("", "roberta."), after_padding=True)

BERT = PostNorm(prefixes=("", "bert."))

RELATIVES: dict[str, PostNorm] = {
    "bert": BERT,
    "mpnet": PostNorm(
        prefixes=("", "mpnet."),
        query="encoder.layer.{}.attention.attn.q",
        key="encoder.layer.{}.attention.attn.k",
        value="encoder.layer.{}.attention.attn.v",
        mix="encoder.layer.{}.attention.attn.o",
        norm1="encoder.layer.{}.attention.LayerNorm",
        token_types=False,
        after_padding=True,
        relative_bias="encoder.relative_attention_bias.weight",
    ),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "electra": PostNorm(prefixes=("", "electra."), narrow_embeddings=True),
    "distilbert": _DISTILBERT,
}
