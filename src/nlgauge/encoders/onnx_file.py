"""Weights of an ONNX file under the names of the model's parameters, so that all layers are available.

Exporters keep the names of biases, normalisations and embeddings, but rename and transpose the weights of products.
These are named by what the graph does with them. In the order of preference, the weights of a product x W have

- their own name, if it ends with `.weight`,
- the name of the bias that is added to the product: `encoder.layer.0.output.dense.bias` belongs to `.weight`,
- the name of the node: `/encoder/layer.0/output/dense/MatMul`.

Whether they are transposed follows from the operator and from a `Transpose` before it. A graph that is quantised has
other weights than the model, and is refused.

The file is read by its wire format: the bytes of weights are mapped, and only small messages are parsed. Weights in a
second file must be in one of the files that the model's digest covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.torch_file import MOST_AXES, UnsafeFileError

if TYPE_CHECKING:
    import onnx

# Numbers of fields in ONNX's messages.
_GRAPH, _NODE, _INITIALIZER, _RAW_DATA = 7, 1, 5, 9

#: Element types of ONNX (their number) that are read as weights, by numpy's name.
_DTYPES = {1: "<f4", 10: "<f2", 11: "<f8", 16: "bfloat16", 7: "<i8", 6: "<i4", 9: "?"}

#: Operators of quantised graphs; names that start with `QLinear` are such, too.
_QUANTISED = frozenset(
    {"DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear", "MatMulInteger", "ConvInteger", "QAttention"}
    | {"MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "QGemm", "MatMulNBits", "MatMulBnb4"}
)


class _Field(NamedTuple):
    """A field of a message: its number, and the span of its value; `start` is -1 for a number."""

    number: int
    start: int
    end: int


def _fields(data: memoryview, start: int, end: int) -> Iterator[_Field]:
    """The fields of a message in protobuf's wire format."""
    while start < end:
        key, start = _varint(data, start, end)
        kind = key & 7
        if kind == 0:
            _, start = _varint(data, start, end)
            yield _Field(key >> 3, -1, start)
            continue
        if kind == 2:
            size, start = _varint(data, start, end)
        elif kind in {1, 5}:
            size = 8 if kind == 1 else 4
        else:
            msg = "a message of an unknown form"
            raise UnsafeFileError(msg)
        if size > end - start:
            msg = "a message that ends too early"
            raise UnsafeFileError(msg)
        yield _Field(key >> 3, start, start + size)
        start += size


def _varint(data: memoryview, start: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if start >= end:
            break
        byte = data[start]
        start += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, start
    msg = "a damaged message"
    raise UnsafeFileError(msg)


def _initializer(data: memoryview, field: _Field) -> _Stored:
    """A tensor, parsed without its bytes."""
    from onnx import TensorProto

    raw, kept, before = None, [], field.start
    for part in _fields(data, field.start, field.end):
        if part.number == _RAW_DATA and part.start >= 0:
            raw = (part.start, part.end)
        else:
            kept.append(data[before : part.end])
        before = part.end
    return _Stored(TensorProto.FromString(b"".join(kept)), raw)


@dataclass(frozen=True)
class _Stored:
    """A tensor of the file, without its bytes."""

    tensor: onnx.TensorProto
    raw: tuple[int, int] | None
    """Span of its bytes in the file."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.dims)


class _Use(NamedTuple):
    """Weights of a parameter, and whether they are stored transposed."""

    stored: str
    transposed: bool


class OnnxFile:
    """The parameters of an ONNX file; raises UnsafeFileError for a file without plain weights.

    `beside` are the files that may contain external data.
    """

    def __init__(self, path: Path, beside: Sequence[Path] = ()) -> None:
        self._bytes = _map(path)
        self._beside = {file.name: file for file in beside}
        self._stored: dict[str, _Stored] = {}
        self._nodes: list[onnx.NodeProto] = []
        try:
            self._read_graph()
            self._check_precision()
            self._uses = self._named()
        except (IndexError, KeyError, ValueError) as error:
            msg = f"a damaged graph ({error!r})"
            raise UnsafeFileError(msg) from error

    @property
    def names(self) -> frozenset[str]:
        """Names of the parameters."""
        return frozenset(self._uses)

    @property
    def fused(self) -> tuple[str, ...]:
        """Names of an engine's own operators, which join several weights into one."""
        own = {node.op_type for node in self._nodes if node.domain not in {"", "ai.onnx"}}
        return tuple(sorted(own))

    def read(self, name: str) -> NDArray[np.float32]:
        """A parameter as float32; without a copy if it is stored so."""
        use = self._uses[name]
        array = self._array(self._stored[use.stored])
        return np.require(array.T if use.transposed else array, np.float32, ["C", "A"])

    def _read_graph(self) -> None:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
        from onnx import NodeProto

        data = self._bytes.data
        try:
            graphs = [field for field in _fields(data, 0, len(data)) if field.number == _GRAPH and field.start >= 0]
            for field in (field for graph in graphs for field in _fields(data, graph.start, graph.end)):
                if field.start < 0:
                    continue
                if field.number == _NODE:
                    self._nodes.append(NodeProto.FromString(bytes(data[field.start : field.end])))
                elif field.number == _INITIALIZER:
                    stored = _initializer(data, field)
                    self._stored[stored.tensor.name] = stored
        except DecodeError as error:
            msg = f"a damaged message ({error})"
            raise UnsafeFileError(msg) from error
        if not self._nodes:
            msg = "a message without a graph"
            raise UnsafeFileError(msg)
        for node in self._nodes:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self._stored.setdefault(node.output[0], _Stored(node.attribute[0].t, None))

    def _check_precision(self) -> None:
        quantised = sorted(
            {node.op_type for node in self._nodes if node.op_type in _QUANTISED or node.op_type[:7] == "QLinear"}
        )
        if quantised:
            msg = f"quantised weights ({', '.join(quantised)})"
            raise UnsafeFileError(msg)

    @cached_property
    def _sources(self) -> dict[str, tuple[str, bool]]:
        """The tensor behind each value that is a copy of one, and whether the value is its transpose."""
        sources = {name: (name, False) for name in self._stored}
        for node in self._nodes:  # nodes are in the order of execution
            if not node.input or node.input[0] not in sources:
                continue
            name, transposed = sources[node.input[0]]
            if node.op_type in {"Identity", "Cast"}:
                sources[node.output[0]] = (name, transposed)
            elif node.op_type == "Transpose" and len(self._stored[name].shape) == 2:
                order = next((list(entry.ints) for entry in node.attribute if entry.name == "perm"), [1, 0])
                sources[node.output[0]] = (name, transposed ^ (order == [1, 0]))
        return sources

    def _named(self) -> dict[str, _Use]:
        """The parameters by name: as stored, or as the graph uses them."""
        uses = {
            name: _Use(stored, transposed)
            for name, (stored, transposed) in self._sources.items()
            if not transposed and self._stored[stored].tensor.data_type in _DTYPES
        }
        biases = self._biases()
        products: dict[str, _Use] = {}
        for node in self._nodes:
            if node.op_type not in {"MatMul", "Gemm"} or node.input[1] not in self._sources:
                continue
            value = node.input[1]
            stored, transposed = self._sources[value]
            if len(self._stored[stored].shape) != 2:
                continue
            # x W in the graph is x W^T with the parameter, so the parameter is the transpose of what is multiplied.
            by_rows = node.op_type == "Gemm" and any(a.name == "transB" and a.i for a in node.attribute)
            if any(a.name in ("alpha", "beta") and a.f != 1 for a in node.attribute):
                msg = f"the product {node.name!r} scales its weight or bias (alpha, beta), which no layer here does"
                raise UnsafeFileError(msg)
            use = _Use(stored, transposed == by_rows)
            name = next((own for own in (value, stored) if own.endswith(".weight")), "") or _name(node, biases)
            if name and products.setdefault(name, use) != use:
                msg = f"two weights for {name!r}"
                raise UnsafeFileError(msg)
        return uses | products

    def _biases(self) -> dict[str, str]:
        """The name of the vector that is added to a value, by the value."""
        biases = {}
        for node in self._nodes:
            if node.op_type == "Add":
                for value, other in (tuple(node.input), tuple(reversed(node.input))):
                    if other in self._sources and len(self._stored[self._sources[other][0]].shape) == 1:
                        biases[value] = other
        return biases

    def _array(self, stored: _Stored) -> NDArray[Any]:
        """The numbers of a tensor, as a view if possible."""
        from onnx import TensorProto, numpy_helper

        tensor = stored.tensor
        if tensor.data_type not in _DTYPES:
            msg = f"the tensor {tensor.name!r} of the type {TensorProto.DataType.Name(tensor.data_type)}"
            raise UnsafeFileError(msg)
        external = tensor.data_location == TensorProto.EXTERNAL
        if stored.raw is None and not external:
            array: NDArray[Any] = numpy_helper.to_array(tensor)
            return array
        raw = self._external(tensor) if external else self._bytes[slice(*(stored.raw or (0, 0)))]
        halves = _DTYPES[tensor.data_type] == "bfloat16"
        dtype = np.dtype("<u2" if halves else _DTYPES[tensor.data_type])
        sizes_fit = len(stored.shape) <= MOST_AXES and all(size >= 0 for size in stored.shape)
        if not sizes_fit or len(raw) != math.prod(stored.shape) * dtype.itemsize:
            shape = stored.shape[:MOST_AXES]
            msg = f"the tensor {tensor.name!r} of {len(raw)} bytes, which do not fit its shape {shape}"
            raise UnsafeFileError(msg)
        numbers = raw.view(dtype)
        return ((numbers.astype(np.uint32) << 16).view(np.float32) if halves else numbers).reshape(stored.shape)

    def _external(self, tensor: onnx.TensorProto) -> NDArray[np.uint8]:
        """The bytes of a tensor in a second file."""
        place = {entry.key: entry.value for entry in tensor.external_data}
        location = place.get("location", "")
        if location not in self._beside:
            msg = f"the tensor {tensor.name!r} in {location!r}, which is not a data file of the model"
            raise UnsafeFileError(msg)
        data = self._mapped(location)
        offset, length = place.get("offset", "0"), place.get("length", "")
        if not offset.isdecimal() or (length and not length.isdecimal()):
            msg = f"the tensor {tensor.name!r} with a wrong place"
            raise UnsafeFileError(msg)
        end = int(offset) + int(length) if length else len(data)
        if end > len(data):
            msg = f"the tensor {tensor.name!r} beyond the end of {location!r}"
            raise UnsafeFileError(msg)
        return data[int(offset) : end]

    def _mapped(self, location: str) -> NDArray[np.uint8]:
        if location not in self._data:
            self._data[location] = _map(self._beside[location])
        return self._data[location]

    @cached_property
    def _data(self) -> dict[str, NDArray[np.uint8]]:
        return {}


def _name(node: onnx.NodeProto, biases: dict[str, str]) -> str:
    """The name of a product's weights, from its bias or its node; empty if neither has the name of a parameter."""
    bias = node.input[2] if len(node.input) > 2 else biases.get(node.output[0], "")
    if bias.endswith(".bias"):
        return bias.removesuffix("bias") + "weight"
    path = node.name.strip("/").split("/")[:-1]
    return ".".join([*path, "weight"]) if path else ""


def _map(path: Path) -> NDArray[np.uint8]:
    with path.open("rb") as file:
        return np.memmap(file, dtype=np.uint8, mode="r") if path.stat().st_size else np.empty(0, np.uint8)


def explain_missing(fused: Iterable[str]) -> str:
    """The likely reason for a parameter that an ONNX file lacks."""
    operators = ", ".join(fused)
    if operators:
        return f"it was optimised for an engine ({operators}); export it again without optimisation"
    return "its names do not follow the model's parameters; export it again from transformers"
