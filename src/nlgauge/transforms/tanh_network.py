"""FCNN: three fully connected layers, tanh after each, from one space to another (dissertation, chapter 10).

    y = scale tanh(tanh(tanh(((x - mean) / scale) A + a) B + b) C + c) + mean of the target

A plain network that only parallel text can teach, beside which a flow is judged. It cannot be undone. Applying takes
numpy only; fitting is `transforms/fit/fcnn_fit.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.files.frozen import read_arrays, write_arrays
from nlgauge.transforms.origin import Origin, Side, check_fitted

__all__ = ["TanhNetwork"]


@dataclass(frozen=True, eq=False)
class TanhNetwork:
    """Layers in order. Frozen, and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-fcnn/1"

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    """A matrix and what is added to the product with it, of each layer."""
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    source_scale: float
    target_scale: float
    """No entry of a target is further from its mean, so that tanh reaches all of them."""
    origin: Origin = field(default_factory=Origin)

    @property
    def width(self) -> int:
        """Width of the vectors."""
        return len(self.source_mean)

    def apply(self, vectors: ArrayLike, *, side: Side = "source") -> NDArray[np.float32]:
        """Vectors (n, width) of the source, in the target's space; those of the target stay as they are."""
        rows = np.asarray(vectors, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            msg = f"the network is for vectors of width {self.width}, got an array of shape {rows.shape}"
            raise InputError(msg)
        if side == "target":
            return rows
        rows = (rows - self.source_mean) / np.float32(self.source_scale)
        for matrix, bias in self.layers:
            rows = np.tanh(rows @ matrix + bias)
        moved: NDArray[np.float32] = rows * np.float32(self.target_scale) + self.target_mean
        return moved

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to; notes for people are not part of it."""
        scales = f"{self.source_scale!r}\n{self.target_scale!r}\n"
        state = hashlib.sha256(f"{self.FORMAT}\n{self.origin.weights}\n{self.origin.layer}\n{scales}".encode())
        for name, array in self._arrays().items():
            state.update(f"{name} {array.shape}\n".encode())
            state.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
        return state.hexdigest()

    def check_model(self, weights: str, *, layer: int, width: int) -> None:
        """Refuse vectors that the network was not fitted on."""
        check_fitted(self.origin, self.width, weights=weights, layer=layer, width=width)

    def save(self, path: Path) -> None:
        """Write an .npz file, whole or not at all; equal networks give equal bytes."""
        header = {
            "format": self.FORMAT,
            "digest": self.digest,
            "layers": len(self.layers),
            "scales": [self.source_scale, self.target_scale],
            "origin": self.origin._asdict(),
        }
        write_arrays(path, header, self._arrays())

    def _arrays(self) -> dict[str, NDArray[np.float32]]:
        arrays = {"source_mean": self.source_mean, "target_mean": self.target_mean}
        for number, (matrix, bias) in enumerate(self.layers):
            arrays |= {f"matrix{number}": matrix, f"bias{number}": bias}
        return arrays

    @classmethod
    def load(cls, path: Path) -> TanhNetwork:
        """Read a file that `save` wrote, and check its digest."""
        fix = "make one with 'nlgauge align fit --method fcnn'"
        return read_arrays(path, form=cls.FORMAT, what="network", fix=fix, make=cls._from_arrays)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TanhNetwork:
        layers = tuple((arrays[f"matrix{n}"], arrays[f"bias{n}"]) for n in range(header["layers"]))
        source, target = map(float, header["scales"])
        means = arrays["source_mean"], arrays["target_mean"]
        return cls(layers, *means, source, target, Origin(**header["origin"]))
