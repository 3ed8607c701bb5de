"""A graph under construction: operators, constants, and parameters that are named after a checkpoint's weights.

A graph holds structure only. Its parameters are declared by the name and shape that they have in the model's
safetensors file, and are handed over from there as they are when a session starts: nothing is transposed, cut or
joined on the way. A graph is therefore a few kilobytes, and all graphs of a model share one copy of its weights.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

__all__ = ["Graph", "GraphBuilder"]

#: Of ONNX the first with Gelu; of ONNX Runtime's own operators the only one.
_OPSETS = {"": 20, "com.microsoft": 1}
_IR_VERSION = 9


@dataclass(frozen=True)
class Graph:
    """A finished graph and the shapes of the parameters it wants, by name."""

    data: bytes
    parameters: dict[str, tuple[int, ...]]

    def to_bytes(self) -> bytes:
        """For a file: a line with the parameters, then the graph."""
        return json.dumps(self.parameters).encode() + b"\n" + self.data

    @classmethod
    def from_bytes(cls, stored: bytes) -> Graph:
        """What `to_bytes` made."""
        head, _, data = stored.partition(b"\n")
        return cls(data, {name: tuple(shape) for name, shape in json.loads(head).items()})


class GraphBuilder:
    """Collects nodes; values are known by their names."""

    def __init__(self) -> None:
        self.parameters: dict[str, tuple[int, ...]] = {}
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
        """Add a small value that belongs to the structure; whole numbers are int64 (or uint8), others float32."""
        from onnx import numpy_helper

        array = np.asarray(value)
        wanted = np.int64 if np.issubdtype(array.dtype, np.integer) else np.float32
        if array.dtype not in {np.dtype(np.bool_), np.dtype(np.uint8)}:
            array = array.astype(wanted)
        self._constants.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def parameter(self, name: str, *shape: int, of_bytes: bool = False) -> str:
        """Declare a weight of the checkpoint, float32 unless it is one of signed bytes."""
        self.parameters[name] = shape
        if of_bytes:
            self._of_bytes.add(name)
        return name

    def linear(
        self, x: str, at: str, into: int, out: int, name: str, *, bias: bool = True, scale: float = 1.0
    ) -> str:
        """scale * (x W^T + b) for x of shape (tokens, into), with the weights `at`."""
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

    def finish(self, outputs: Sequence[tuple[str, int]], *, as_inputs: bool) -> Graph:
        """The graph from token ids (batch, length) to the outputs, each with its width.

        Parameters are external initializers, which ONNX Runtime takes from memory, or inputs, which OpenVINO can
        replace by constants that share the caller's memory.
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
