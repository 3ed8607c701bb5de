"""BERT and its relatives: the original transformer encoder, with normalisation after each residual sum.

    a = LN(x + W_o Attention(W_q x, W_k x, W_v x))        h = LN(a + W_2 gelu(W_1 a))

They differ in the names of their weights, in how positions are numbered, in token types, in a bias by distance that
MPNet adds to attention, and in ELECTRA's narrower embeddings.

DeBERTa-v2 and v3 attend by content and by relative position, each with vectors of its own:

    score(i, j) = (Q_i . K_j + Q_i . KR(i - j) + K_j . QR(i - j)) / sqrt(3 d)

    KR = W_k R, QR = W_q R: position vectors as keys (content to position, c2p) and as queries (p2c)

R has a vector per distance; far distances share logarithmic buckets. Only the distances in a text are projected, in
the order of the columns of the products. So the values of all pairs of tokens are found by reshaping rows instead of
looking up each pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.graphs.builder import (
    ENTRIES,
    Dimensions,
    Family,
    GraphBuilder,
    check_whole,
    has_other_heads,
    is_whole,
    refuse,
)

#: Distance beyond which MPNet's relative positions share a bucket (fixed in its published code).
_MPNET_MAX_DISTANCE = 128

#: Default width of ELECTRA's embeddings.
_ELECTRA_WIDTH = 128

_SELF = "encoder.layer.{}.attention.self."


@dataclass(frozen=True)
class PostNorm(Family):
    """A family: the names of its weights (`{}` is the layer's number from 0), and its special properties."""

    prefixes: tuple[str, ...]
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
    relative_bias: str | None = None
    narrow_embeddings: bool = False
    """Whether embeddings may be narrower than the layers, with a projection."""
    activation: str = "hidden_act"
    entries: Mapping[str, str] = field(default_factory=lambda: ENTRIES)

    def unsupported(self, config: Mapping[str, Any]) -> list[str]:
        usual = {self.activation: "gelu", "position_embedding_type": "absolute", "is_decoder": False}
        return [name for name, value in usual.items() if config.get(name, value) != value]

    def check(self, config: Mapping[str, Any], *, model: str) -> None:
        super().check(config, model=model)
        sizes = {
            "type_vocab_size": self.token_types,
            "embedding_size": self.narrow_embeddings,
            "relative_attention_num_buckets": self.relative_bias is not None,
        }
        for name, used in sizes.items():
            if used:
                check_whole(config, name, 1, least=1, model=model)

    def build(self, build: GraphBuilder, config: Mapping[str, Any], top: int) -> Iterable[str]:
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
        """Finish a block after attention: both sums, and the feed-forward layer between them."""
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
    """Rows of the position table: tokens are counted from after the padding index.

    Padding tokens, which a text can spell out, have the row of that index and are not counted.
    """
    padding = build.constant("padding", size.first_position - 1)
    is_token = build.node("Not", [build.node("Equal", ["ids", padding], "is_padding")], "is_token")
    counts = build.node("Cast", [is_token], "counts", to=7)  # int64
    count = build.node("CumSum", [counts, build.constant("one", 1)], "count")
    return build.node("Add", [build.node("Mul", [count, counts], "place"), padding], "row")


def _bias(build: GraphBuilder, size: Dimensions, config: Mapping[str, Any], table: str) -> str:
    """Bias (heads, length, length) for each pair of tokens, by the bucket of their distance."""
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
    # float32 as in the published code, because rounding would move the boundaries.
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


_CONVOLUTIONS = {"tanh": "Tanh", "gelu": "Gelu", "relu": "Relu"}


class DebertaV2(Family):
    """The family of DeBERTa-v2 and v3."""

    prefixes = ("", "deberta.")
    epsilon = ("layer_norm_eps", 1e-7)

    def unsupported(self, config: Mapping[str, Any]) -> list[str]:
        usual: dict[str, Any] = {"hidden_act": "gelu", "conv_groups": 1}
        entries = [name for name, value in usual.items() if config.get(name, value) != value]
        kernel = config.get("conv_kernel_size", 0)
        if is_whole(kernel) and kernel > 0:
            if kernel % 2 == 0:
                entries.append("conv_kernel_size")
            if config.get("conv_act", "tanh") not in _CONVOLUTIONS:
                entries.append("conv_act")
        return [*entries, "attention_head_size"] if has_other_heads(config, "attention_head_size") else entries

    def check(self, config: Mapping[str, Any], *, model: str) -> None:
        super().check(config, model=model)
        for name, default in (("conv_kernel_size", 0), ("position_buckets", -1), ("max_relative_positions", -1)):
            if not is_whole(config.get(name, default)):
                refuse(config, name, "a whole number", model=model)
        check_whole(config, "type_vocab_size", 0, least=0, model=model)
        check_whole(config, "embedding_size", 1, least=1, model=model)
        buckets, reach = config.get("position_buckets", -1), _reach(config)
        if config.get("relative_attention", False) and buckets > 0 and not 1 <= buckets // 2 < reach - 1:
            refuse(config, "position_buckets", f"from 2 to below {2 * (reach - 1)}", model=model)

    def build(self, build: GraphBuilder, config: Mapping[str, Any], top: int) -> Iterable[str]:
        return _Graph(build, self.dimensions(config), config).layers(top)


def relative_rows(config: Mapping[str, Any], distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the table of position vectors for distances query - key."""
    span, rows = _span(config), distances
    buckets = int(config.get("position_buckets", -1))
    if buckets > 0:
        half = buckets // 2
        size = np.maximum(np.abs(distances), half)
        # float32 as in the published code, because rounding would move the boundaries.
        whole = np.float32(math.log(np.float32((_reach(config) - 1) / half)))
        share = np.log(size.astype(np.float32) / np.float32(half)) / whole
        far = np.ceil(share * np.float32(half - 1)).astype(np.int64) + half
        rows = np.where(np.abs(distances) <= half, distances, np.sign(distances) * far)
    return np.clip(rows + span, 0, 2 * span - 1)


def _kinds(config: Mapping[str, Any]) -> tuple[str, ...]:
    stated = config.get("pos_att_type") or ()
    if isinstance(stated, str):
        stated = [kind.strip() for kind in stated.lower().split("|")]
    return tuple(kind for kind in ("c2p", "p2c") if kind in stated)


def _reach(config: Mapping[str, Any]) -> int:
    reach = int(config.get("max_relative_positions", -1))
    return reach if reach > 0 else int(config["max_position_embeddings"])


def _span(config: Mapping[str, Any]) -> int:
    buckets = int(config.get("position_buckets", -1))
    return buckets if buckets > 0 else _reach(config)


class _Graph:
    """Builds the graph of a DeBERTa model."""

    def __init__(self, build: GraphBuilder, size: Dimensions, config: Mapping[str, Any]) -> None:
        self.build, self.size, self.config = build, size, config
        self.kinds = _kinds(config) if config.get("relative_attention", False) else ()
        self.shared = bool(config.get("share_att_key", False))
        """Whether positions are projected with the weights of content."""
        # Scaled by the number of terms in a score, also if attention is not relative.
        self.scale = 1 / math.sqrt(size.hidden // size.heads * (1 + len(_kinds(config))))

    def layers(self, top: int) -> Iterator[str]:
        """Rows of layer 0, then of each layer up to `top`."""
        first = x = self.embeddings()
        yield x
        if not top:
            return
        self.build.declare_shapes(heads=self.size.heads, width=self.size.hidden)
        rows = self.position_rows() if self.kinds else {}
        for number in range(top):
            x = self.block(x, rows, number)
            if number == 0 and self.config.get("conv_kernel_size", 0) > 0:
                x = self.convolve(first, x)
            yield x

    def embeddings(self) -> str:
        build, size, config = self.build, self.size, self.config
        width = int(config.get("embedding_size", size.hidden))
        words = build.parameter(DebertaV2.probe, size.vocabulary, width)
        total = build.node("Gather", [words, "ids"], "embeddings.words")
        if config.get("position_biased_input", True):
            table = build.parameter("embeddings.position_embeddings.weight", size.positions or 0, width)
            total = build.node("Add", [total, build.first_rows(table, "embeddings.positions")], "embeddings.placed")
        types = int(config.get("type_vocab_size", 0))
        if types > 0:
            total = build.node("Add", [total, build.token_type(types, width)], "embeddings.typed")
        rows = build.node("Reshape", [total, build.constant("embeddings.rows", [-1, width])], "embeddings.flat")
        if width != size.hidden:
            rows = build.linear(rows, "embeddings.embed_proj", width, size.hidden, "embeddings.projected", bias=False)
        return build.norm(rows, "embeddings.LayerNorm", size.hidden, size.epsilon, "embeddings.normed")

    def position_rows(self) -> dict[str, str]:
        """Vectors of all distances in a text, plus one: for keys n - 1 down to -n, for queries -(n - 1) to n."""
        build, size, config = self.build, self.size, self.config
        normed = "layer_norm" in [part.strip() for part in str(config.get("norm_rel_ebd", "none")).lower().split("|")]
        reach = size.positions or 0
        table = build.constant("distances.rows", relative_rows(config, np.arange(-reach, reach + 1)))
        by_one, length = build.length()
        plus_one, minus_one = build.constant("one", 1), build.constant("minus_one", -1)
        last = build.node("Sub", [length, plus_one], "place.last")
        build.node("Unsqueeze", [last, build.constant("first_axis", [0])], "pairs.start")
        copied, rest = build.constant("copied", [0, 0]), build.constant("minus", [-1])
        build.node("Concat", [copied, by_one, rest], "pairs.shape", axis=0)
        below = build.node("Neg", [build.node("Add", [length, plus_one], "place.above")], "place.below")
        orders = {
            "c2p": ("distances.down", [last, below, minus_one]),
            "p2c": ("distances.up", [build.node("Neg", [last], "place.first"), "place.above", plus_one]),
        }
        vectors = build.parameter("encoder.rel_embeddings.weight", 2 * _span(config), size.hidden)
        rows = {}
        for kind in self.kinds:
            name, order = orders[kind]
            distance = build.node("Range", order, name)
            index = build.node("Add", [distance, build.constant("reach", reach)], f"{name}.index")
            row = build.node("Gather", [table, index], f"{name}.row")
            x = build.node("Gather", [vectors, row], f"{name}.vectors")
            if normed:
                x = build.norm(x, "encoder.LayerNorm", size.hidden, size.epsilon, f"{name}.normed")
            rows[kind] = x
        return rows

    def block(self, x: str, rows: Mapping[str, str], number: int) -> str:
        build, name, hidden = self.build, f"block{number + 1}", self.size.hidden
        self_attention = f"encoder.layer.{number}.attention.self."

        def linear(inputs: str, weights: str, output: str, scale: float = 1.0) -> str:
            return build.linear(inputs, weights, hidden, hidden, f"{name}.{output}", scale=scale)

        q = build.by_head(linear(x, f"{self_attention}query_proj", "query", self.scale), f"{name}.query")
        key = linear(x, f"{self_attention}key_proj", "key")
        k = build.by_head(key, f"{name}.key", transposed=True)
        v = build.by_head(linear(x, f"{self_attention}value_proj", "value"), f"{name}.value")
        bias = None
        if "c2p" in rows:
            weights = "key_proj" if self.shared else "pos_key_proj"
            positions = linear(rows["c2p"], self_attention + weights, "position_keys")
            bias = self.by_pair(q, positions, f"{name}.c2p")
        if "p2c" in rows:
            weights = "query_proj" if self.shared else "pos_query_proj"
            positions = linear(rows["p2c"], self_attention + weights, "position_queries", self.scale)
            by_key = self.by_pair(build.by_head(key, f"{name}.key_rows"), positions, f"{name}.p2c")
            p2c = build.node("Transpose", [by_key], f"{name}.p2c.by_query", perm=[0, 1, 3, 2])
            bias = p2c if bias is None else build.node("Add", [bias, p2c], f"{name}.bias")
        return BERT.finish_block(build, self.size, x, build.attend(q, k, v, name, bias=bias), number)

    def by_pair(self, content: str, positions: str, name: str) -> str:
        """Products (batch, heads, n, n) of each token with the position vectors of its distances to all tokens.

        Of 2 n columns, token i needs n from column n - 1 - i on. Flattened, started at n - 1 and reshaped into rows
        of 2 n - 1, every row starts at its first column.
        """
        build, size = self.build, self.size
        shape = build.constant("positions.shape", [-1, size.heads, size.hidden // size.heads])
        split = build.node("Reshape", [positions, shape], f"{name}.split")
        keys = build.node("Transpose", [split], f"{name}.heads", perm=[1, 2, 0])
        products = build.node("MatMul", [content, keys], f"{name}.products")
        flat = build.node("Reshape", [products, build.constant("flat", [0, 0, -1])], f"{name}.flat")
        minus = build.constant("minus", [-1])
        cut = build.node("Slice", [flat, "pairs.start", minus, build.constant("third_axis", [2])], f"{name}.cut")
        rows = build.node("Reshape", [cut, "pairs.shape"], f"{name}.rows")
        zero, axis = build.constant("start", [0]), build.constant("fourth_axis", [3])
        return build.node("Slice", [rows, zero, "length", axis], f"{name}.pairs")

    def convolve(self, first: str, x: str) -> str:
        """LN(x + act(convolution of layer 0 over positions)), as one product with each token and its neighbours."""
        build, size, config = self.build, self.size, self.config
        hidden, width = size.hidden, int(config["conv_kernel_size"])
        by_text = build.node("Concat", ["ids.shape", build.constant("hidden", [hidden])], "convolution.shape", axis=0)
        texts = build.node("Reshape", [first, by_text], "convolution.texts")
        pads = build.constant("convolution.pads", [0, width // 2, 0, 0, width // 2, 0])
        padded = build.node("Pad", [texts, pads], "convolution.padded")
        axis, behind, parts = build.constant("one.list", [1]), build.constant("last_axis", [-1]), []
        for place in range(width):
            start = build.constant(f"convolution.start{place}", [place])
            left = place - (width - 1)
            end = build.constant(f"convolution.end{place}", [left if left else np.iinfo(np.int64).max])
            part = build.node("Slice", [padded, start, end, axis], f"convolution.place{place}")
            parts.append(build.node("Unsqueeze", [part, behind], f"convolution.part{place}"))
        stacked = build.node("Concat", parts, "convolution.stacked", axis=-1)
        rows = build.node(
            "Reshape", [stacked, build.constant("convolution.rows", [-1, hidden * width])], "neighbours"
        )
        kernel = build.parameter("encoder.conv.conv.weight", hidden, hidden, width)
        flat = build.node("Reshape", [kernel, build.constant("convolution.flat", [hidden, -1])], "convolution.kernel")
        bias = build.parameter("encoder.conv.conv.bias", hidden)
        convolved = build.node("Gemm", [rows, flat, bias], "convolution", transB=1)
        # In two parts: if an engine fuses so wide a product with the next operator, its bits depend on the batch.
        parts = build.split(convolved, ["convolution.left", "convolution.right"], axis=1)
        op = _CONVOLUTIONS[config.get("conv_act", "tanh")]
        parts = [build.node(op, [part], f"{part}.active") for part in parts]
        active = build.node("Concat", parts, "convolution.active", axis=1)
        total = build.node("Add", [x, active], "convolution.residual")
        return build.norm(total, "encoder.conv.LayerNorm", hidden, size.epsilon, "convolution.normed")
