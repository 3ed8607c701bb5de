"""ONNX graphs of post-norm transformer encoders, written without torch.

A graph holds structure only: its parameters are declared by name and shape, and their values are handed to
ONNX Runtime from the model's safetensors file when a session starts. A cached graph is therefore a few
kilobytes, and every set of layers of a model shares one copy of the weights.

The block is the original transformer encoder's, with normalisation after each residual sum; ONNX Runtime's
fused operators compute it:

    a = LN(x + Attention(x))        h = LN(a + W2 gelu(W1 a))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["EncoderShape", "GraphBuilder", "encoder_graph"]

#: ONNX Runtime's own operators (Attention, BiasGelu, SkipLayerNormalization).
_FUSED = "com.microsoft"
_OPSET = 17
_IR_VERSION = 9

#: Raised when the graphs change, so that cached ones of an older library are not used.
GRAPH_VERSION = 1


@dataclass(frozen=True)
class EncoderShape:
    """What distinguishes the graphs of one family."""

    hidden: int
    intermediate: int
    heads: int
    vocabulary: int
    positions: int
    """Rows of the position table that tokens use."""
    epsilon: float
    padding: int | None = None
    """Id of the padding token in families that number positions from after it; None in the others."""
    relative_buckets: int | None = None
    """Width of the table of relative position biases that attention adds; None without one."""


class GraphBuilder:
    """Collects nodes; values are known by their names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def node(self, op: str, inputs: list[str], output: str, *, fused: bool = False, **attributes: Any) -> str:
        """Add an operator and return its output's name."""
        domain = _FUSED if fused else ""
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a small value that belongs to the structure."""
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def parameter(self, name: str, *shape: int) -> str:
        """Declare a weight whose value comes with the session."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="parameters")
        self.initializers.append(tensor)
        return name

    def serialize(self, inputs: list[Any], outputs: list[Any]) -> bytes:
        """The finished model."""
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.initializers)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)],
            ir_version=_IR_VERSION,
        )
        data: bytes = model.SerializeToString()
        return data


def encoder_graph(shape: EncoderShape, layers: tuple[int, ...]) -> bytes:
    """A graph from token ids (batch, length) to exactly the layers asked for, each (batch, length, hidden).

    Layer 0 is the output of the embeddings. Nothing above the highest layer asked for is in the graph.
    """
    build = GraphBuilder()
    x = _embeddings(build, shape)
    bias = _relative_bias(build, shape) if max(layers) > 0 else None
    for number in range(1, max(layers) + 1):
        x = _block(build, shape, x, bias, number)
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])]
    outputs = [
        helper.make_tensor_value_info(f"layer{number}", TensorProto.FLOAT, ["batch", "length", shape.hidden])
        for number in layers
    ]
    return build.serialize(inputs, outputs)


def _embeddings(build: GraphBuilder, shape: EncoderShape) -> str:
    words = build.parameter("embeddings.word", shape.vocabulary, shape.hidden)
    length = build.node("Shape", ["ids"], "length", start=1, end=2)
    word = build.node("Gather", [words, "ids"], "embeddings.gathered")
    if shape.padding is None:
        positions = build.parameter("embeddings.position", shape.positions, shape.hidden)
        zero = build.constant("zero", np.array([0], dtype=np.int64))
        position = build.node("Slice", [positions, zero, length, zero], "embeddings.sliced")
    else:
        # The published code counts tokens that are no padding; padding, which a text may spell out, has row 0.
        positions = build.parameter("embeddings.position", shape.positions + 1, shape.hidden)
        padding = build.constant("padding", np.array(shape.padding, dtype=np.int64))
        axis = build.constant("axis", np.array(1, dtype=np.int64))
        is_padding = build.node("Equal", ["ids", padding], "is_padding")
        counts = build.node("Cast", [build.node("Not", [is_padding], "is_token")], "one", to=TensorProto.INT64)
        place = build.node("Mul", [build.node("CumSum", [counts, axis], "count"), counts], "place")
        position = build.node("Gather", [positions, place], "embeddings.placed")
    total = build.node("Add", [word, position], "embeddings.sum")
    scale = build.parameter("embeddings.norm.scale", shape.hidden)
    shift = build.parameter("embeddings.norm.shift", shape.hidden)
    return build.node("LayerNormalization", [total, scale, shift], "layer0", epsilon=shape.epsilon)


def _relative_bias(build: GraphBuilder, shape: EncoderShape) -> str | None:
    """Bias (1, heads, length, length) that depends on the distance between two tokens (MPNet)."""
    if shape.relative_buckets is None:
        return None
    # One row per head, one column per distance key - query from -(positions-1) to positions-1.
    table = build.parameter("relative_bias", shape.heads, 2 * shape.positions - 1)
    start = build.constant("range.start", np.array(0, dtype=np.int64))
    step = build.constant("range.step", np.array(1, dtype=np.int64))
    origin = build.constant("origin", np.array(shape.positions - 1, dtype=np.int64))
    axis0 = build.constant("axis0", np.array([0], dtype=np.int64))
    axis1 = build.constant("axis1", np.array([1], dtype=np.int64))
    scalar = build.node("Squeeze", ["length"], "length.scalar")
    places = build.node("Range", [start, scalar, step], "places")
    keys = build.node("Unsqueeze", [places, axis0], "places.keys")
    queries = build.node("Unsqueeze", [places, axis1], "places.queries")
    distance = build.node("Sub", [keys, queries], "distance")
    index = build.node("Add", [distance, origin], "distance.index")
    gathered = build.node("Gather", [table, index], "relative_bias.gathered", axis=1)
    return build.node("Unsqueeze", [gathered, axis0], "relative_bias.batch")


def _block(build: GraphBuilder, shape: EncoderShape, x: str, bias: str | None, number: int) -> str:
    name = f"block{number}"
    hidden, inner = shape.hidden, shape.intermediate

    def parameter(suffix: str, *dims: int) -> str:
        return build.parameter(f"{name}.{suffix}", *dims)

    qkv = [x, parameter("qkv.weight", hidden, 3 * hidden), parameter("qkv.bias", 3 * hidden)]
    if bias is not None:
        qkv += ["", "", bias]  # no mask, no past
    attended = build.node("Attention", qkv, f"{name}.attended", fused=True, num_heads=shape.heads)
    mixed = build.node("MatMul", [attended, parameter("mix.weight", hidden, hidden)], f"{name}.mixed")
    norm1 = [parameter("norm1.scale", hidden), parameter("norm1.shift", hidden), parameter("mix.bias", hidden)]
    a = build.node("SkipLayerNormalization", [mixed, x, *norm1], f"{name}.a", fused=True, epsilon=shape.epsilon)
    up = build.node("MatMul", [a, parameter("up.weight", hidden, inner)], f"{name}.up")
    active = build.node("BiasGelu", [up, parameter("up.bias", inner)], f"{name}.active", fused=True)
    down = build.node("MatMul", [active, parameter("down.weight", inner, hidden)], f"{name}.down")
    norm2 = [parameter("norm2.scale", hidden), parameter("norm2.shift", hidden), parameter("down.bias", hidden)]
    return build.node(
        "SkipLayerNormalization", [down, a, *norm2], f"layer{number}", fused=True, epsilon=shape.epsilon
    )
