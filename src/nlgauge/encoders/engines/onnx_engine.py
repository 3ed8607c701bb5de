"""The default engine: ONNX Runtime on CPU, no torch.

A text's vectors are the same bits whatever the batch and the number of threads, because batches hold texts of one
length (see `batching`) and ONNX Runtime's kernels work row by row; `tests/encoders` checks it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.engines.graph_encoder import GraphEncoder, Run
from nlgauge.encoders.engines.graphs.builder import Graph
from nlgauge.telemetry import import_silenced

__all__ = ["OnnxEncoder"]


class OnnxEncoder(GraphEncoder):
    """A model on ONNX Runtime."""

    name = "onnx"
    title = "ONNX Runtime"
    as_inputs = False

    @property
    def library(self) -> str:
        """ONNX Runtime and its version."""
        return f"onnxruntime-{import_silenced('onnxruntime').__version__}"

    def _session(self, graph: Graph, values: dict[str, NDArray[Any]]) -> Run:
        ort = import_silenced("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what goes wrong is raised, and is not to stand in the log as well
        # Its fused operators are slower than the plain ones they replace: SkipLayerNormalization is not vectorised.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        # Idle threads that spin would fight with other processes for the same cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        owned = [ort.OrtValue.ortvalue_from_numpy(value) for value in values.values()]
        options.add_external_initializers(list(values), owned)
        session = ort.InferenceSession(graph.data, options, providers=["CPUExecutionProvider"])

        def run(ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
            outputs: list[NDArray[np.float32]] = session.run(None, {"ids": ids})
            return outputs

        return run
