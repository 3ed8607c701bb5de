"""A map between two spaces that need not be a rotation: two normalising flows that meet in one latent space.

    source -> latent   z = couplings(((x - mean) / scale) W)
    target -> latent   z = couplings((y - mean) / scale)
    source -> target   the first, and then the second backwards          (dissertation, chapter 10, section 3)

Each flow is a Real-NVP (Dinh et al. 2017). A coupling leaves one half of the entries as they are and lets them say
what becomes of the other half, so that it can be undone exactly:

    s, t = two parts of a network of the half that stays;   s <- limit tanh(s)
    y    = x exp(s) + t            x = (y - t) exp(-s)            log |det| = sum of s

With networks that answer 0 this is the centred rotation W, which is where fitting starts. Applying takes numpy only;
fitting is `transforms/fit/flow_fit.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.files.frozen import read_arrays, write_arrays
from nlgauge.transforms.origin import Origin, Side, check_fitted

__all__ = ["SCALE_LIMIT", "Coupling", "FlowMap", "coupling_forward", "coupling_inverse"]

#: The most that a coupling stretches is e to this: an entry cannot run away in one step.
SCALE_LIMIT = 1.0


class Coupling(NamedTuple):
    """A layer: which half stays, and the network that looks at it (two products, ReLU between)."""

    first_stays: bool
    inner: NDArray[np.float32]
    """(width of the half that stays, hidden)"""
    inner_bias: NDArray[np.float32]
    outer: NDArray[np.float32]
    """(hidden, twice the width of the half that is moved): s, then t."""
    outer_bias: NDArray[np.float32]

    def halves(self, rows: NDArray[np.float32]) -> tuple[slice, slice]:
        """Columns that stay, and columns that are moved."""
        middle = rows.shape[1] // 2
        first, second = slice(0, middle), slice(middle, rows.shape[1])
        return (first, second) if self.first_stays else (second, first)

    def stretch_and_shift(self, staying: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """s (limited) and t."""
        hidden = np.maximum(staying @ self.inner + self.inner_bias, 0)
        both = hidden @ self.outer + self.outer_bias
        width = both.shape[1] // 2
        return np.float32(SCALE_LIMIT) * np.tanh(both[:, :width]), both[:, width:]


def coupling_forward(layer: Coupling, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rows after the layer, and log |det| of each."""
    stays, moves = layer.halves(rows)
    stretch, shift = layer.stretch_and_shift(rows[:, stays])
    moved = rows.copy()
    moved[:, moves] = rows[:, moves] * np.exp(stretch) + shift
    return moved, stretch.sum(axis=1)


def coupling_inverse(layer: Coupling, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows before the layer."""
    stays, moves = layer.halves(rows)
    stretch, shift = layer.stretch_and_shift(rows[:, stays])
    before = rows.copy()
    before[:, moves] = (rows[:, moves] - shift) * np.exp(-stretch)
    return before


@dataclass(frozen=True, eq=False)
class FlowMap:
    """Two flows with a latent space in common. Frozen, and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-flow/1"

    rotation: NDArray[np.float32]
    """W (d, d), of the source's centred rows."""
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    scale: float
    """One number that both spaces are divided by."""
    source_layers: tuple[Coupling, ...]
    target_layers: tuple[Coupling, ...]
    origin: Origin = field(default_factory=Origin)

    @property
    def width(self) -> int:
        """Width of the vectors, the same on both sides."""
        return len(self.rotation)

    def apply(self, vectors: ArrayLike, *, side: Side = "source") -> NDArray[np.float32]:
        """Vectors (n, width) of the source, in the target's space; those of the target stay as they are."""
        rows = self._rows(vectors)
        if side not in {"source", "target"}:
            msg = f"side must be 'source' or 'target', got {side!r}"
            raise RecipeError(msg)
        if side == "target":
            return rows
        latent, _ = self.to_latent(rows, side="source")
        return self.from_latent(latent, side="target")

    def inverse(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Vectors of the target, in the source's space."""
        latent, _ = self.to_latent(vectors, side="target")
        return self.from_latent(latent, side="source")

    def to_latent(self, vectors: ArrayLike, *, side: Side) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Vectors of a side in the latent space, and log |det| of the way there for each."""
        rows, scale = self._rows(vectors), np.float32(self.scale)
        if side == "source":
            turned: NDArray[np.float32] = (rows - self.source_mean) / scale
            rows = turned @ self.rotation
        else:
            rows = (rows - self.target_mean) / scale
        log_det = np.full(len(rows), -self.width * np.log(self.scale))
        for layer in self.source_layers if side == "source" else self.target_layers:
            rows, own = coupling_forward(layer, rows)
            log_det += own
        return rows, log_det

    def from_latent(self, latent: NDArray[np.float32], *, side: Side) -> NDArray[np.float32]:
        """The way back to a side."""
        rows = latent
        for layer in reversed(self.source_layers if side == "source" else self.target_layers):
            rows = coupling_inverse(layer, rows)
        rows = rows * np.float32(self.scale)
        if side == "source":
            rows = rows @ self.rotation.T
        moved: NDArray[np.float32] = rows + (self.source_mean if side == "source" else self.target_mean)
        return moved

    def _rows(self, vectors: ArrayLike) -> NDArray[np.float32]:
        rows = np.asarray(vectors, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            msg = f"the flow is for vectors of width {self.width}, got an array of shape {rows.shape}"
            raise InputError(msg)
        return rows

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to; notes for people are not part of it."""
        head = f"{self.FORMAT}\n{self.origin.weights}\n{self.origin.layer}\n{self.scale!r}\n{SCALE_LIMIT}\n"
        state = hashlib.sha256(head.encode())
        for name, array in self._arrays().items():
            state.update(f"{name} {array.shape}\n".encode())
            state.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
        return state.hexdigest()

    def check_model(self, weights: str, *, layer: int, width: int) -> None:
        """Refuse vectors that the flow was not fitted on."""
        check_fitted(self.origin, self.width, weights=weights, layer=layer, width=width)

    def save(self, path: Path) -> None:
        """Write an .npz file, whole or not at all; equal flows give equal bytes."""
        header = {
            "format": self.FORMAT,
            "digest": self.digest,
            "scale": self.scale,
            "source_layers": [layer.first_stays for layer in self.source_layers],
            "target_layers": [layer.first_stays for layer in self.target_layers],
            "origin": self.origin._asdict(),
        }
        write_arrays(path, header, self._arrays())

    def _arrays(self) -> dict[str, NDArray[np.float32]]:
        arrays = {"rotation": self.rotation, "source_mean": self.source_mean, "target_mean": self.target_mean}
        for side, layers in (("source", self.source_layers), ("target", self.target_layers)):
            for number, layer in enumerate(layers):
                start = f"{side}{number}_{'first' if layer.first_stays else 'second'}"
                for name in ("inner", "inner_bias", "outer", "outer_bias"):
                    arrays[f"{start}_{name}"] = getattr(layer, name)
        return arrays

    @classmethod
    def load(cls, path: Path) -> FlowMap:
        """Read a file that `save` wrote, and check its digest."""
        fix = "make one with 'nlgauge align fit --method flow'"
        return read_arrays(path, form=cls.FORMAT, what="flow", fix=fix, make=cls._from_arrays)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FlowMap:
        sides: dict[str, tuple[Coupling, ...]] = {}
        for side in ("source", "target"):
            layers = []
            for number, first in enumerate(header[f"{side}_layers"]):
                start = f"{side}{number}_{'first' if first else 'second'}"
                parts = [arrays[f"{start}_{name}"] for name in ("inner", "inner_bias", "outer", "outer_bias")]
                layers.append(Coupling(bool(first), *parts))
            sides[f"{side}_layers"] = tuple(layers)
        fixed = [arrays[name] for name in ("rotation", "source_mean", "target_mean")]
        if not all(np.isfinite(array).all() for array in fixed):
            msg = "numbers in it are not finite"
            raise ValueError(msg)
        return cls(fixed[0], fixed[1], fixed[2], float(header["scale"]), origin=Origin(**header["origin"]), **sides)
