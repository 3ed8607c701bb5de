"""Construction of graphs: sizes, operators, constants, parameters, and multi-head attention.

A graph contains structure only. Its parameters are declared with their names and shapes in the model's safetensors
file, and are passed unchanged when a session starts: nothing is transposed, cut or joined. So a graph has a few
kilobytes, and no other file contains weights. Its sizes come from `config.json`; errors name the wrong entry.

Attention is written in plain operators:

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d) + bias) V

In products with weights, the tokens of all texts of a batch are rows of one matrix (tokens, hidden); in attention
they are arranged by text and head.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import ModelError

if TYPE_CHECKING:
    import onnx


#: Entries of sizes in the `config.json` of most families.
ENTRIES: Mapping[str, str] = {
    "hidden": "hidden_size",
    "intermediate": "intermediate_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
}

#: The first opset of ONNX with Gelu, and the only one of ONNX Runtime's own operators.
_OPSETS = {"": 20, "com.microsoft": 1}
_IR_VERSION = 9


@dataclass(frozen=True)
class Dimensions:
    """The sizes that determine a graph's shapes."""

    hidden: int
    intermediate: int
    heads: int
    layers: int
    vocabulary: int
    positions: int | None
    """Number of tokens that the position table allows."""
    epsilon: float
    first_position: int = 0
    """Row of the first token in the position table."""


def refuse(config: Mapping[str, Any], name: str, expected: str, *, model: str) -> NoReturn:
    """Raise ModelError for an entry of config.json, with its expected and actual value."""
    msg = f"config.json of model {model!r}: {name!r} must be {expected}, got {config.get(name)!r}"
    raise ModelError(msg)


def check_whole(config: Mapping[str, Any], name: str, default: int | None, *, least: int, model: str) -> None:
    """Raise ModelError unless an entry, or its default, is a whole number of at least `least`."""
    value = config.get(name, default)
    if not is_whole(value) or value < least:
        refuse(config, name, f"a whole number, at least {least}", model=model)


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def has_other_heads(config: Mapping[str, Any], entry: str) -> bool:
    """Whether an entry sets a width of heads other than hidden size / number of heads."""
    hidden, heads = config.get("hidden_size"), config.get("num_attention_heads")
    return config.get(entry) is not None and is_whole(hidden) and is_whole(heads) and config[entry] * heads != hidden


class Family(ABC):
    """Builds graphs of a model family from a `config.json`."""

    prefixes: tuple[str, ...]
    """Possible prefixes of the encoder's weights in a larger checkpoint."""
    probe: str = "embeddings.word_embeddings.weight"
    """A weight of every checkpoint, with which the prefix is found."""
    entries: Mapping[str, str] = ENTRIES
    epsilon: ClassVar[tuple[str, float]] = ("layer_norm_eps", 1e-12)
    """The entry of epsilon, and its default."""
    after_padding: bool = False
    """Whether positions are numbered from after the padding index."""

    @abstractmethod
    def unsupported(self, config: Mapping[str, Any]) -> list[str]:
        """Entries of a `config.json` with values that the graph does not support."""

    def check(self, config: Mapping[str, Any], *, model: str) -> None:
        """Raise ModelError, naming the wrong entry, for a `config.json` from which no graph can be built."""
        for name, entry in self.entries.items():
            check_whole(config, entry, None, least=0 if name == "layers" else 1, model=model)
        hidden, heads = self.entries["hidden"], self.entries["heads"]
        if config[hidden] % config[heads]:
            refuse(config, heads, f"a divisor of {hidden} ({config[hidden]})", model=model)
        value = config.get(*self.epsilon)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
            refuse(config, self.epsilon[0], "a number above 0", model=model)
        if self.after_padding:
            padding, rows = config.get("pad_token_id", 1), config[self.entries["positions"]]
            if not is_whole(padding) or not 0 <= padding < rows - 1:
                refuse(config, "pad_token_id", f"a whole number below {rows - 1}, where positions start", model=model)

    def dimensions(self, config: Mapping[str, Any]) -> Dimensions:
        """The sizes of a checked `config.json`."""
        sizes = {name: int(config[entry]) for name, entry in self.entries.items()}
        first = int(config.get("pad_token_id", 1)) + 1 if self.after_padding else 0
        sizes["positions"] -= first
        return Dimensions(**sizes, epsilon=float(config.get(*self.epsilon)), first_position=first)

    @abstractmethod
    def build(self, build: GraphBuilder, config: Mapping[str, Any], top: int) -> Iterable[str]:
        """Build the layers, and yield the names of their values (tokens, hidden) from layer 0 to `top`."""


@dataclass(frozen=True)
class Graph:
    """A finished graph, and the shapes of its parameters by name."""

    data: bytes
    parameters: dict[str, tuple[int, ...]]

    def to_bytes(self) -> bytes:
        """Serialise to a line with the parameters, then the graph."""
        return json.dumps(self.parameters).encode() + b"\n" + self.data

    @classmethod
    def from_bytes(cls, stored: bytes) -> Graph:
        """Read the output of `to_bytes`."""
        head, _, data = stored.partition(b"\n")
        return cls(data, {name: tuple(shape) for name, shape in json.loads(head).items()})


class Product(NamedTuple):
    """A product x W^T of a graph."""

    x: str
    """Name of its input."""
    weights: str
    """Name of its weights in the checkpoint."""
    into: int
    out: int


class GraphBuilder:
    """Collects the nodes of a graph; values are identified by name."""

    def __init__(self) -> None:
        self.parameters: dict[str, tuple[int, ...]] = {}
        self.products: list[Product] = []
        self._of_bytes: set[str] = set()
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def node(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Add an operator and return its output's name."""
        from onnx import helper

        self._nodes.append(helper.make_node(op, list(inputs), [output], name=output, **attributes))
        return output

    def split(self, value: str, outputs: Sequence[str], *, axis: int) -> list[str]:
        """Cut a value into equal parts."""
        from onnx import helper

        names = list(outputs)
        self._nodes.append(
            helper.make_node("Split", [value], names, name=f"{names[0]}.split", axis=axis, num_outputs=len(names))
        )
        return names

    def constant(self, name: str, value: NDArray[Any] | float | Sequence[int]) -> str:
        """Add a constant; whole numbers are int64 (or uint8), others float32."""
        from onnx import numpy_helper

        array = np.asarray(value)
        wanted = np.int64 if np.issubdtype(array.dtype, np.integer) else np.float32
        if array.dtype not in {np.dtype(np.bool_), np.dtype(np.uint8)}:
            array = array.astype(wanted)
        self._constants.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def parameter(self, name: str, *shape: int, of_bytes: bool = False) -> str:
        """Declare a weight of the checkpoint: float32, or int8 with `of_bytes`."""
        self.parameters[name] = shape
        if of_bytes:
            self._of_bytes.add(name)
        return name

    def linear(
        self, x: str, at: str, into: int, out: int, name: str, *, bias: bool = True, scale: float = 1.0
    ) -> str:
        """scale * (x W^T + b) for x of shape (tokens, into), with the weights `at`."""
        self.products.append(Product(x, at, into, out))
        inputs = [x, self.parameter(f"{at}.weight", out, into)]
        if bias:
            inputs.append(self.parameter(f"{at}.bias", out))
        return self.node("Gemm", inputs, name, transB=1, alpha=scale, beta=scale)

    def norm(self, x: str, at: str, width: int, epsilon: float, name: str, *, bias: bool = True) -> str:
        """Layer normalisation over the last axis, with the weights `at`."""
        inputs = [x, self.parameter(f"{at}.weight", width)]
        if bias:
            inputs.append(self.parameter(f"{at}.bias", width))
        return self.node("LayerNormalization", inputs, name, epsilon=epsilon)

    def declare_shapes(self, *, heads: int, width: int) -> None:
        """Declare the shapes for arranging tokens by head, and back to rows."""
        shape = self.node("Shape", ["ids"], "ids.shape")
        self.node("Concat", [shape, self.constant("head.shape", [heads, width // heads])], "by_head", axis=0)
        self.constant("rows", [-1, width])

    def by_head(self, rows: str, name: str, *, transposed: bool = False) -> str:
        """Rows as (batch, heads, length, d), or (batch, heads, d, length) for keys."""
        split = self.node("Reshape", [rows, "by_head"], f"{name}.split")
        return self.node("Transpose", [split], f"{name}.heads", perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])

    def attend(self, q: str, k: str, v: str, name: str, *, bias: str | None = None) -> str:
        """Attention, returned as rows; q (already scaled) and v are by head, k by head and transposed."""
        scores = self.node("MatMul", [q, k], f"{name}.scores")
        if bias is not None:
            scores = self.node("Add", [scores, bias], f"{name}.biased")
        weights = self.node("Softmax", [scores], f"{name}.weights", axis=-1)
        values = self.node("MatMul", [weights, v], f"{name}.values")
        joined = self.node("Transpose", [values], f"{name}.joined", perm=[0, 2, 1, 3])
        return self.node("Reshape", [joined, "rows"], f"{name}.attended")

    def first_rows(self, table: str, name: str) -> str:
        """The first rows of a position table, one for each token of a text."""
        length = self.node("Shape", ["ids"], "embeddings.length", start=1, end=2)
        start = self.constant("start", [0])
        return self.node("Slice", [table, start, length, start], name)

    def token_type(self, types: int, width: int) -> str:
        """The vector of token type 0, which all tokens of a single text have."""
        table = self.parameter("embeddings.token_type_embeddings.weight", types, width)
        return self.node("Gather", [table, self.constant("zero", 0)], "embeddings.type")

    def length(self) -> tuple[str, str]:
        """The number of tokens of a text, as a list of one element and as a scalar."""
        by_one = self.node("Shape", ["ids"], "length", start=1, end=2)
        return by_one, self.node("Squeeze", [by_one], "length.scalar")

    def places(self) -> str:
        """The positions of a text's tokens: 0, 1, ..."""
        return self.node("Range", [self.constant("zero", 0), self.length()[1], self.constant("one", 1)], "places")

    def distances(self, places: str) -> str:
        """A matrix (length, length) of key position - query position."""
        keys = self.node("Unsqueeze", [places, self.constant("first_axis", [0])], "places.keys")
        queries = self.node("Unsqueeze", [places, self.constant("second_axis", [1])], "places.queries")
        return self.node("Sub", [keys, queries], "distances")

    def finish(self, outputs: Sequence[tuple[str, int]], *, as_inputs: bool) -> Graph:
        """Finish the graph from token ids (batch, length) to the outputs, each with its width.

        Parameters are external initializers, which ONNX Runtime reads from memory, or inputs, which OpenVINO can
        replace by constants in shared memory.
        """
        from onnx import TensorProto, helper

        inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])]
        initializers = list(self._constants.values())
        for name, shape in self.parameters.items():
            kind = TensorProto.INT8 if name in self._of_bytes else TensorProto.FLOAT
            if as_inputs:
                inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
            else:
                tensor = TensorProto(name=name, data_type=kind, dims=shape)
                tensor.data_location = TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value="parameters")
                initializers.append(tensor)
        infos = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "length", width])
            for name, width in outputs
        ]
        model = helper.make_model(
            helper.make_graph(self._nodes, "encoder", inputs, infos, initializers),
            opset_imports=[
                helper.make_opsetid(domain, _OPSETS[domain])
                for domain in sorted({"", *(node.domain for node in self._nodes)})
            ],
            ir_version=_IR_VERSION,
        )
        return Graph(model.SerializeToString(), dict(self.parameters))
