"""Model families that run without torch, by the `model_type` of `config.json`; their weights and cached graphs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.graphs.builder import Family, Graph, GraphBuilder
from nlgauge.encoders.graphs.modernbert import ModernBert
from nlgauge.encoders.graphs.post_norm import RELATIVES, DebertaV2
from nlgauge.errors import ModelError, UnsupportedModelError
from nlgauge.io.storage import cache_dir, write_atomic

#: Increased when the graphs change, so cached graphs of an older version are not used.
GRAPH_VERSION = 2


FAMILIES: dict[str, Family] = {**RELATIVES, "deberta-v2": DebertaV2(), "modernbert": ModernBert()}


def family_of(config: Mapping[str, Any], *, model: str, engine: str = "onnx") -> Family:
    """The family of a `config.json`, after checking its entries."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        reason = f"model_type {kind!r}"
    else:
        reason = ", ".join(f"{name}={config[name]!r}" for name in FAMILIES[kind].unsupported(config))
    if reason:
        msg = (
            f"engine {engine!r} does not support {reason} of model {model!r} (supported: {', '.join(FAMILIES)}); "
            "install the torch engine with pip install 'nlgauge[torch]' and use engine 'torch'"
        )
        raise UnsupportedModelError(msg)
    family = FAMILIES[str(kind)]
    family.check(config, model=model)
    return family


def encoder_graph(
    family: Family,
    config: Mapping[str, Any],
    layers: tuple[int, ...],
    *,
    as_inputs: bool = False,
    build: GraphBuilder | None = None,
) -> Graph:
    """A graph from token ids (batch, length) to the requested layers, each (batch, length, hidden).

    Layer 0 is the output of the embeddings. The graph ends at the highest requested layer.
    """
    build = build or GraphBuilder()
    width = family.dimensions(config).hidden
    rows = list(family.build(build, config, max(layers)))
    shape = build.node("Shape", ["ids"], "texts.shape")
    whole = build.node("Concat", [shape, build.constant("width", [width])], "by_text", axis=0)
    outputs = [(build.node("Reshape", [rows[layer], whole], f"layer{layer}"), width) for layer in layers]
    return build.finish(outputs, as_inputs=as_inputs)


FloatArray = NDArray[np.float32]


class CheckpointWeights:
    """Reads weights of a `model.safetensors` as float32; the encoder may be part of a larger checkpoint."""

    def __init__(self, folder: Path, family: Family, *, model: str, engine: str, mapped: bool = False) -> None:
        """`mapped` saves a copy for engines that copy weights themselves; see `take`."""
        self._path = folder / "model.safetensors"
        self._model = model
        self._mapped = mapped
        self._read: dict[str, FloatArray] = {}
        if not self._path.is_file():
            msg = (
                f"model {model!r} has no model.safetensors, which engine {engine!r} needs; install the torch engine "
                "with pip install 'nlgauge[torch]' and use engine 'torch'"
            )
            raise UnsupportedModelError(msg)
        self._file, self._bytes = self._open()
        stored = frozenset(self._file.keys())
        prefix = next((p for p in family.prefixes if p + family.probe in stored), "")
        self._spellings = _spellings(stored, prefix)

    def take(self, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, FloatArray]:
        """The weights of these names, which must have these shapes.

        Mapped arrays are the bytes of the file and change with it, so release them when the engine has its copy.
        Others are read once and cached.
        """
        arrays = self._views(wanted) if self._mapped else {name: self._cached(name) for name in wanted}
        for name, array in arrays.items():
            if array.shape != wanted[name]:
                msg = (
                    f"the weights of model {self._model!r} do not match its config.json: {name!r} has the shape "
                    f"{array.shape}, expected {wanted[name]}"
                )
                raise ModelError(msg)
        return arrays

    def read(self, name: str) -> FloatArray:
        """Read the weights of a name, without caching them."""
        if name not in self._spellings:
            msg = f"model {self._model!r} lacks the weight {name!r} in model.safetensors"
            raise ModelError(msg)
        return self._load(self._spellings[name])

    def _cached(self, name: str) -> FloatArray:
        if name not in self._read:
            self._read[name] = self.read(name)
        return self._read[name]

    def _views(self, names: Iterable[str]) -> dict[str, FloatArray]:
        """Weights as views of the mapped file; those that are not float32 are read."""
        views = {}
        for name in names:
            entry = self._header.get(self._spellings.get(name, ""), {"dtype": ""})
            if entry["dtype"] != "F32" or sys.byteorder != "little":
                views[name] = self.read(name)
                continue
            start, end = entry["data_offsets"]
            array = self._bytes[self._data_start + start : self._data_start + end].view(np.float32)
            views[name] = (array if array.flags.aligned else array.copy()).reshape(entry["shape"])
        return views

    def _load(self, name: str) -> FloatArray:
        from safetensors import SafetensorError

        try:
            kind = self._file.get_slice(name).get_dtype()
            array = self._bfloat16(name) if kind == "BF16" else self._file.get_tensor(name)
            return np.ascontiguousarray(array, dtype=np.float32)
        except (SafetensorError, TypeError, KeyError, AttributeError, ValueError) as error:
            raise self._unreadable(error) from error

    def _bfloat16(self, name: str) -> FloatArray:
        """Convert bfloat16, which numpy does not have: it is the upper half of a float32."""
        start, end = self._header[name]["data_offsets"]
        halves = self._bytes[self._data_start + start : self._data_start + end].view("<u2")
        return (halves.astype(np.uint32) << 16).view(np.float32).reshape(self._header[name]["shape"])

    @cached_property
    def _header(self) -> dict[str, Any]:
        """The header of the safetensors file: a JSON object after its length in eight bytes."""
        header: dict[str, Any] = json.loads(self._bytes[8 : self._data_start].tobytes())
        return header

    @cached_property
    def _data_start(self) -> int:
        return 8 + int.from_bytes(self._bytes[:8].tobytes(), "little")

    def _open(self) -> tuple[Any, NDArray[np.uint8]]:
        """Open the file with safetensors, which checks its header, and map its bytes."""
        from safetensors import SafetensorError, safe_open

        try:
            # Opened here first, because safetensors reports an unreadable file as missing.
            with self._path.open("rb") as file:
                return safe_open(self._path, framework="numpy"), np.memmap(file, dtype=np.uint8, mode="r")
        except OSError as error:
            msg = f"cannot read model.safetensors of {self._model!r}: {error.strerror or error}"
            raise ModelError(msg) from error
        except (SafetensorError, TypeError, KeyError, AttributeError) as error:  # damaged
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ModelError:
        return ModelError(f"cannot read model.safetensors of {self._model!r} as float arrays: {error}")


def _spellings(stored: Iterable[str], prefix: str) -> dict[str, str]:
    """Names of weights in a checkpoint, by their names in graphs."""
    own = {name.removeprefix(prefix): name for name in stored if name.startswith(prefix)}
    # Checkpoints of 2018 call a normalisation's scale and shift gamma and beta.
    renamed = {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): spelling
        for name, spelling in own.items()
    }
    return renamed | own


def stored_graph(config: Mapping[str, Any], kind: str, *, key: str, make: Callable[[], Graph]) -> Graph:
    """A graph of a model, by its kind (layers and form), from the cache folder or built and stored there."""
    from nlgauge.encoders.graphs.families import GRAPH_VERSION

    described = json.dumps([key, config, kind, GRAPH_VERSION], sort_keys=True)
    name = hashlib.sha256(described.encode()).hexdigest()
    path = cache_dir() / "graphs" / f"{key[:12]}-{kind}-{name[:12]}.graph"
    try:
        stored = path.read_bytes()
    except OSError:
        stored = b""
    # The file is a sha256 and the graph; a damaged file, or the graph of another model or other layers, is rebuilt.
    digest, data = stored[:32], stored[32:]
    if _sum(name, data) == digest:
        return Graph.from_bytes(data)
    graph = make()
    data = graph.to_bytes()
    with contextlib.suppress(OSError):  # without a writable cache, graphs are built again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, _sum(name, data) + data)
    return graph


def _sum(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + data).digest()
