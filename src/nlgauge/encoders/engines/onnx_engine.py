"""The default engine: ONNX Runtime on CPU, float32, no torch.

Sessions are made per set of layers, so a graph stops at the highest layer asked for. A text's vectors are
the same bits whatever the batch and the number of threads, because batches hold texts of one length (see
`batching`) and ONNX Runtime's kernels work row by row; `tests/encoders` checks it.
"""

from __future__ import annotations

import contextlib
import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import check_ids
from nlgauge.encoders.engines.architectures import (
    check_config,
    encoder_parameters,
    encoder_shape,
    position_capacity,
)
from nlgauge.errors import ModelError, UnsupportedModelError
from nlgauge.files.atomic import write_atomic
from nlgauge.files.cache_dir import cache_dir
from nlgauge.models.resolve import ModelFiles
from nlgauge.text import TextTokenizer

__all__ = ["OnnxEncoder"]


class OnnxEncoder:
    """A model's weights with one ONNX Runtime session per set of layers."""

    cacheable = True

    def __init__(self, files: ModelFiles, *, threads: int) -> None:
        self._files = files
        self._threads = threads
        self._sessions: dict[tuple[int, ...], Any] = {}
        self.model = files.name
        self.weights_digest = files.weights_digest
        self.config_digest = files.config_digest
        self.digest = files.digest
        self._config = files.config
        check_config(self._config, model=self.model)
        self._rows = int(self._config["vocab_size"])
        self.layers = int(self._config["num_hidden_layers"])
        self.hidden_size = int(self._config["hidden_size"])
        self.tokenizer = TextTokenizer.from_folder(
            files.path, positions=position_capacity(self._config), digest=files.tokenizer_digest
        )

    @property
    def engine(self) -> str:
        """Engine and version."""
        import onnxruntime

        return f"onnxruntime-{onnxruntime.__version__}-fp32"

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors of each layer asked for, for texts of one length."""
        if layers not in self._sessions:
            self._sessions[layers] = self._start_session(layers)
        check_ids(ids, self._rows, model=self.model)
        try:
            outputs: list[NDArray[np.float32]] = self._sessions[layers].run(None, {"ids": ids})
        except Exception as error:  # onnxruntime has an exception of its own for each status
            msg = f"ONNX Runtime cannot run model {self.model!r}: {error}"
            raise ModelError(msg) from error
        return outputs

    def _start_session(self, layers: tuple[int, ...]) -> Any:
        import onnxruntime as ort

        parameters = encoder_parameters(self._config, self._tensors, top=max(layers), model=self.model)
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what goes wrong is raised, and is not to stand in the log as well
        # Idle threads that spin would fight with other processes for the same cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        values = [ort.OrtValue.ortvalue_from_numpy(value) for value in parameters.values()]
        options.add_external_initializers(list(parameters), values)
        graph = cached_graph(self._config, layers, key=self.weights_digest)
        try:
            return ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has an exception of its own for each status
            msg = f"the weights of model {self.model!r} do not fit its config.json: {error}"
            raise ModelError(msg) from error

    @cached_property
    def _tensors(self) -> dict[str, NDArray[np.float32]]:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self._files.path / "model.safetensors"
        if not path.is_file():
            msg = (
                f"model {self.model!r} has no model.safetensors, which the ONNX engine reads; install the "
                "torch engine with pip install 'nlgauge[torch]' and use engine 'torch'"
            )
            raise UnsupportedModelError(msg)
        try:
            with path.open("rb"):  # safetensors calls a file that may not be read one that does not exist
                return dict(load_file(path))
        except OSError as error:
            msg = f"model.safetensors of {self.model!r} cannot be read: {error.strerror or error}"
            raise ModelError(msg) from error
        except (SafetensorError, TypeError, KeyError, AttributeError) as error:  # damaged, or bfloat16
            msg = f"model.safetensors of {self.model!r} cannot be read as float arrays: {error}"
            raise ModelError(msg) from error


def cached_graph(config: dict[str, Any], layers: tuple[int, ...], *, key: str) -> bytes:
    """The graph for these layers, from the cache folder or built and put there."""
    from nlgauge.encoders.engines.graph import GRAPH_VERSION, encoder_graph

    shape = encoder_shape(config)
    name = hashlib.sha256(f"{key} {shape} {layers} {GRAPH_VERSION}".encode()).hexdigest()
    path = cache_dir() / "graphs" / f"{key[:12]}-{'_'.join(map(str, layers))}-{name[:12]}.graph"
    try:
        stored = path.read_bytes()
    except OSError:
        stored = b""
    # The file is a sha256 and the graph: what a full disk or a crash left behind, and the graph of another model or
    # other layers, is built again.
    digest, graph = stored[:32], stored[32:]
    if _sum(name, graph) != digest:
        graph = encoder_graph(shape, layers)
        with contextlib.suppress(OSError):  # a cache that cannot be written is only slower
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, _sum(name, graph) + graph)
    return graph


def _sum(name: str, graph: bytes) -> bytes:
    return hashlib.sha256(name.encode() + graph).digest()
