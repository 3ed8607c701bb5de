"""The engines that run ONNX graphs on CPU: ONNX Runtime, the default, and OpenVINO (extra `nlgauge[openvino]`).

They differ in how a graph becomes a session and runs; the rest is `GraphEncoder`.

A text's vectors are bit-identical for every batch and number of threads, because batches contain texts of one length
and the kernels work row by row; `tests/encoders` checks this for both. OpenVINO is often faster in float32 on
processors with AVX-512.
"""

from __future__ import annotations

import math
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge._startup import is_out_of_memory
from nlgauge.encoders.base import DEFAULT_PRECISION, check_ids
from nlgauge.encoders.checkpoint import CheckpointWeights
from nlgauge.encoders.graphs.builder import Graph, GraphBuilder
from nlgauge.encoders.graphs.families import encoder_graph, family_of, stored_graph
from nlgauge.encoders.int8 import Plan, QuantisedBuilder, QuantisedWeights
from nlgauge.errors import ModelError, NlgaugeWarning, user_stacklevel
from nlgauge.io.packages import import_silenced, require
from nlgauge.io.storage import short_digest
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.text.tokenizer import TextTokenizer

#: More rows than those at which OpenVINO switched kernels in tests, and few enough to be fast.
_PROBED_TEXTS, _PROBED_LENGTH = 25, 8

#: From token ids (batch, length) to the vectors of each layer of a graph.
Run = Callable[[NDArray[np.int64]], list[NDArray[np.float32]]]


class GraphEncoder(ABC):
    """A model with one session per set of layers, so a graph ends at the highest requested layer."""

    cacheable = True

    name: ClassVar[str]
    """Name of the engine."""
    title: ClassVar[str]
    """Proper name of the library, for messages."""
    as_inputs: ClassVar[bool]
    """Whether a graph's parameters are inputs; otherwise external initializers."""
    copies_weights: ClassVar[bool]
    """Whether a session copies the weights."""

    def __init__(self, files: ModelFiles, *, threads: int, plan: Plan | None = None) -> None:
        """`plan` defines the int8 products; without one all are float32."""
        self._files = files
        self._plan = plan
        self._threads = threads
        self._sessions: dict[tuple[int, ...], Run] = {}
        self._lock = threading.Lock()
        self.model = files.name
        self.weights_digest = files.weights_digest
        self.config_digest = files.config_digest
        self.digest = files.digest
        self.family = family_of(files.config, model=self.model, engine=self.name)
        size = self.family.dimensions(files.config)
        self._rows = size.vocabulary
        self.layers = size.layers
        self.hidden_size = size.hidden
        self.tokenizer = TextTokenizer.from_folder(
            files.path, positions=size.positions, digest=files.tokenizer_digest
        )

    @property
    @abstractmethod
    def library(self) -> str:
        """The engine's library and version, for signatures."""

    @cached_property
    def engine(self) -> str:
        """Engine, version and precision."""
        precision = DEFAULT_PRECISION if self._plan is None else self._plan.signed(self.name)
        return f"{self.library}-{precision}"

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's config.json."""
        return self._files.config

    def weight(self, name: str) -> NDArray[np.float32]:
        """A weight by its name in the checkpoint."""
        return self._checkpoint.read(name)

    def session(self, graph: Graph) -> Run:
        """Start a session of a graph with the model's weights."""
        values = self._weights.take(graph.parameters)
        try:
            run = self._session(graph, values)
        except Exception as error:  # engines have their own exception classes
            self._check_unchanged()  # the more likely cause: a file that was being written
            raise self._failure(error, "start") from error
        # Checked afterwards, because mapped weights are read while the session starts.
        self._check_unchanged()
        return run

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each requested layer, for texts of one length."""
        with self._lock:
            if layers not in self._sessions:
                self._sessions[layers] = self.session(self._graph(layers))
        check_ids(ids, self._rows, model=self.model)
        try:
            return self._sessions[layers](ids)
        except Exception as error:  # engines have their own exception classes
            raise self._failure(error, "run") from error

    def _failure(self, error: Exception, step: str) -> Exception:
        if is_out_of_memory(error):
            return MemoryError(f"not enough memory to {step} model {self.model!r}")
        return ModelError(f"{self.title} cannot {step} model {self.model!r}: {error}")

    @abstractmethod
    def _session(self, graph: Graph, values: dict[str, NDArray[Any]]) -> Run:
        """Start a session of a graph with its parameters."""

    def _check_unchanged(self) -> None:
        """Raise ModelError if files changed since their digests were taken: weights are read on first use only."""
        now = ModelFiles(self._files.name, self._files.path, self._files.card)
        if (now.weights_digest, now.config_digest) != (self.weights_digest, self.config_digest):
            msg = (
                f"the files of model {self.model!r} in {str(self._files.path)!r} were replaced while the model was "
                "in use; load it again: call release_models(), or restart the service"
            )
            raise ModelError(msg)

    def _graph(self, layers: tuple[int, ...]) -> Graph:
        kind = "_".join(map(str, layers)) + ("-inputs" if self.as_inputs else "")
        if self._plan is not None:
            kind += f"-int8-{short_digest(self._plan.digest)}"

        def make() -> Graph:
            build = GraphBuilder() if self._plan is None else QuantisedBuilder(self._plan, fused=not self.as_inputs)
            return encoder_graph(self.family, self.config, layers, as_inputs=self.as_inputs, build=build)

        return stored_graph(self.config, kind, key=self.weights_digest, make=make)

    @cached_property
    def _checkpoint(self) -> CheckpointWeights:
        return CheckpointWeights(
            self._files.path, self.family, model=self.model, engine=self.name, mapped=self.copies_weights
        )

    @cached_property
    def _weights(self) -> CheckpointWeights | QuantisedWeights:
        return self._checkpoint if self._plan is None else QuantisedWeights(self._checkpoint, self._plan)


class OnnxEncoder(GraphEncoder):
    """A model on ONNX Runtime."""

    name = "onnx"
    title = "ONNX Runtime"
    as_inputs = False
    copies_weights = True

    @property
    def library(self) -> str:
        return f"onnxruntime-{import_silenced('onnxruntime').__version__}"

    def _session(self, graph: Graph, values: dict[str, NDArray[Any]]) -> Run:
        ort = import_silenced("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, so they need not be logged
        # Its fused operators are slower than plain ones: SkipLayerNormalization is not vectorised.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        # Spinning idle threads would take processor time from other processes.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        owned = [ort.OrtValue.ortvalue_from_numpy(value) for value in values.values()]
        options.add_external_initializers(list(values), owned)
        session = ort.InferenceSession(graph.data, options, providers=["CPUExecutionProvider"])

        def run(ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
            outputs: list[NDArray[np.float32]] = session.run(None, {"ids": ids})
            return outputs

        return run


class OpenVinoEncoder(GraphEncoder):
    """A model on OpenVINO."""

    name = "openvino"
    title = "OpenVINO"
    as_inputs = True
    copies_weights = False

    def __init__(self, files: ModelFiles, *, threads: int, plan: Plan | None = None) -> None:
        self._openvino = require("openvino", "openvino")
        super().__init__(files, threads=threads, plan=plan)

    @property
    def library(self) -> str:
        return f"openvino-{version('openvino')}"

    def _session(self, graph: Graph, values: dict[str, NDArray[Any]]) -> Run:
        network = _core().read_model(graph.data)
        for parameter in network.get_parameters():
            name = parameter.get_friendly_name()
            if name in values:
                constant = self._openvino.op.Constant(values[name], shared_memory=True)
                parameter.output(0).replace(constant.output(0))
                network.remove_parameter(parameter)
        self._part_activations(network)
        settings = {
            # Otherwise OpenVINO uses bfloat16 on processors that support it.
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": self._threads,
        }
        request = _core().compile_model(network, "CPU", settings).create_infer_request()
        lock = threading.Lock()

        def run(ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
            # A product of a single row has other bits than the same row in a larger product.
            rows = np.repeat(ids, 2, axis=0) if ids.size == 1 else ids
            with lock:
                outputs = request.infer({"ids": rows}, share_inputs=True, share_outputs=True)
                return [np.array(outputs[index][: len(ids)]) for index in range(len(outputs))]

        # The probe also avoids a first run on texts of one token, after which the fused attention of this release
        # is wrong for all other lengths.
        length = min(_PROBED_LENGTH, self.tokenizer.limit)
        return run if _is_batch_independent(run, length) else self._run_one_by_one(run)

    def _run_one_by_one(self, run: Run) -> Run:
        """Encode each text alone, for a processor on which a text's bits depend on its batch."""
        msg = (
            f"with OpenVINO on this processor, the last bits of vectors of model {self.model!r} depend on the batch, "
            "so each text is encoded alone; engine 'onnx' may be faster"
        )
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())

        def alone(ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
            return [np.concatenate(layers) for layers in zip(*(run(row[None]) for row in ids), strict=True)]

        return alone

    def _part_activations(self, network: Any) -> None:
        """Write gelu(x) as x / 2 + x / 2 erf(x / sqrt(2)) where it follows a product.

        Fused with gelu, products wider than 384 are summed in another order from about a hundred rows on, and a
        text's bits would depend on its batch.
        """
        ops = self._openvino.opset13
        for node in network.get_ops():
            x = node.input_value(0) if node.get_type_name() == "Gelu" else None
            if x is None or x.get_node().get_type_name() not in {"Add", "MatMul"}:
                continue
            half = ops.multiply(x, np.float32(0.5))
            share = ops.erf(ops.multiply(x, np.float32(math.sqrt(0.5))))
            node.output(0).replace(ops.add(half, ops.multiply(half, share)).output(0))


def _is_batch_independent(run: Run, length: int) -> bool:
    """Whether a text has the same bits alone and in a batch.

    OpenVINO selects the kernel of a product by processor and number of rows, so this is tested on each machine.
    """
    ids = np.arange(_PROBED_TEXTS * length).reshape(_PROBED_TEXTS, length) % 4
    together, alone = run(ids), run(ids[-1:])
    return all(np.array_equal(batch[-1:], single) for batch, single in zip(together, alone, strict=True))


@cache
def _core() -> Any:
    return import_silenced("openvino").Core()
