"""Weights of a model's folder as float32, by their names in graphs: safetensors, `pytorch_model.bin` or ONNX.

Each format has a reader with `names` and `read`. A checkpoint joins the files of its folder (shards), removes the
prefix of an encoder inside a larger model, and checks shapes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.graphs.builder import Family
from nlgauge.encoders.onnx_file import OnnxFile, explain_missing
from nlgauge.encoders.torch_file import TorchFile, UnsafeFileError
from nlgauge.errors import ModelError, UnsupportedModelError
from nlgauge.io.store.hub import file_names, weight_files

FloatArray = NDArray[np.float32]

Read = TypeVar("Read")


class WeightsFile(Protocol):
    """A file of weights. An array may be a view of the mapped file, which changes with it."""

    @property
    def names(self) -> frozenset[str]: ...

    def read(self, name: str) -> FloatArray: ...


class SafetensorsFile:
    """A safetensors file; the format's own library checks its header."""

    def __init__(self, path: Path) -> None:
        from safetensors import safe_open

        # Opened here first, because safetensors reports an unreadable file as missing.
        with path.open("rb") as file:
            self._file: Any = safe_open(path, framework="numpy")
            self._bytes = np.memmap(file, dtype=np.uint8, mode="r")

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the arrays."""
        return frozenset(self._file.keys())

    def read(self, name: str) -> FloatArray:
        """An array as float32; a view if it is stored so."""
        kind = self._header[name]["dtype"]
        if kind == "F32" and sys.byteorder == "little":
            return np.require(self._span(name).view(np.float32), requirements="A").reshape(
                self._header[name]["shape"]
            )
        if kind == "BF16":  # numpy does not have it: the upper half of a float32
            wide = (self._span(name).view("<u2").astype(np.uint32) << 16).view(np.float32)
            return wide.reshape(self._header[name]["shape"])
        return np.ascontiguousarray(self._file.get_tensor(name), dtype=np.float32)

    def _span(self, name: str) -> NDArray[np.uint8]:
        start, end = self._header[name]["data_offsets"]
        return self._bytes[self._data_start + start : self._data_start + end]

    @cached_property
    def _header(self) -> dict[str, Any]:
        """The header: a JSON object after its length in eight bytes."""
        header: dict[str, Any] = json.loads(self._bytes[8 : self._data_start].tobytes())
        return header

    @cached_property
    def _data_start(self) -> int:
        return 8 + int.from_bytes(self._bytes[:8].tobytes(), "little")


class CheckpointWeights:
    """Reads the weights of a folder; the encoder may be part of a larger checkpoint."""

    def __init__(self, folder: Path, family: Family, *, model: str, engine: str, mapped: bool = False) -> None:
        """`mapped` saves a copy for engines that copy weights themselves; see `take`."""
        self._model = model
        self._mapped = mapped
        self._read: dict[str, FloatArray] = {}
        paths = [folder / name for name in weight_files(file_names(folder))]
        if not paths:
            msg = (
                f"model {model!r} has no model.safetensors, pytorch_model.bin or model.onnx, one of which engine "
                f"{engine!r} needs"
            )
            raise UnsupportedModelError(msg)
        self._first = paths[0]
        # The data files of an ONNX file are not weights of their own.
        opened = paths[:1] if paths[0].suffix == ".onnx" else paths
        files = [(path.name, self._open(path, paths[1:])) for path in opened]
        self._files = {name: (label, file) for label, file in files for name in file.names}
        prefix = next((p for p in family.prefixes if p + family.probe in self._files), "")
        self._spellings = _spellings(self._files, prefix)

    def take(self, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, FloatArray]:
        """The weights of these names, which must have these shapes.

        Mapped arrays are the bytes of the file and change with it, so release them when the engine has its copy.
        Others are read once and cached.
        """
        arrays = {name: self._view(name) if self._mapped else self._cached(name) for name in wanted}
        for name, array in arrays.items():
            if array.shape != wanted[name]:
                msg = (
                    f"the weights of model {self._model!r} do not match its config.json: {name!r} has the shape "
                    f"{array.shape}, expected {wanted[name]}"
                )
                raise ModelError(msg)
        return arrays

    def read(self, name: str) -> FloatArray:
        """A copy of the weights of a name, which is not cached."""
        return self._view(name).copy()

    def _cached(self, name: str) -> FloatArray:
        if name not in self._read:
            self._read[name] = self.read(name)
        return self._read[name]

    def _view(self, name: str) -> FloatArray:
        if name not in self._spellings:
            raise ModelError(self._missing(name))
        label, file = self._files[self._spellings[name]]
        return self._protect(label, lambda: file.read(self._spellings[name]))

    def _missing(self, name: str) -> str:
        msg = f"model {self._model!r} lacks the weight {name!r} in {self._first.name}"
        file = next((file for _, file in self._files.values()), None)
        if isinstance(file, OnnxFile):
            msg += f": {explain_missing(file.fused)}"
        return msg

    def _open(self, path: Path, beside: Sequence[Path]) -> WeightsFile:
        if path.suffix == ".onnx":
            return self._protect(path.name, lambda: OnnxFile(path, beside))
        if path.suffix == ".bin":
            return self._protect(path.name, lambda: TorchFile(path))
        return self._protect(path.name, lambda: SafetensorsFile(path))

    def _protect(self, label: str, read: Callable[[], Read]) -> Read:
        """What a reader returns, with its errors as ModelError."""
        from safetensors import SafetensorError

        try:
            return read()
        except OSError as error:
            msg = f"cannot read {label} of {self._model!r}: {error.strerror or error}"
            raise ModelError(msg) from error
        except UnsafeFileError as error:
            msg = (
                f"refused to read {label} of model {self._model!r}: it contains {error}; convert the model to "
                "model.safetensors with a tool that you trust, or use a folder with plain float weights"
            )
            raise UnsupportedModelError(msg) from error
        except (SafetensorError, TypeError, KeyError, AttributeError, ValueError) as error:  # damaged
            msg = f"cannot read {label} of {self._model!r} as float arrays: {error}"
            raise ModelError(msg) from error


def _spellings(stored: Iterable[str], prefix: str) -> dict[str, str]:
    """Names of weights in a checkpoint, by their names in graphs."""
    own = {name.removeprefix(prefix): name for name in stored if name.startswith(prefix)}
    # Checkpoints of 2018 call a normalisation's scale and shift gamma and beta.
    renamed = {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): spelling
        for name, spelling in own.items()
    }
    return renamed | own
