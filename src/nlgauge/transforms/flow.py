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

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.files.frozen import read_arrays
from nlgauge.transforms.network_map import NetworkMap, Reduction, read_reductions
from nlgauge.transforms.origin import Origin, Side

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
        # In place: an array of its own for each of these steps costs as much as the products do.
        hidden: NDArray[np.float32] = staying @ self.inner
        hidden += self.inner_bias
        np.maximum(hidden, 0, out=hidden)
        both: NDArray[np.float32] = hidden @ self.outer
        both += self.outer_bias
        width = both.shape[1] // 2
        stretch: NDArray[np.float32] = np.tanh(both[:, :width])
        if SCALE_LIMIT != 1:
            stretch *= np.float32(SCALE_LIMIT)
        return stretch, both[:, width:]


def coupling_forward(layer: Coupling, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rows after the layer, and log |det| of each."""
    moved = rows.copy()
    return moved, _forward(layer, moved).sum(axis=1)


def coupling_inverse(layer: Coupling, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows before the layer."""
    before = rows.copy()
    _backward(layer, before)
    return before


def _forward(layer: Coupling, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move rows where they are; s of each."""
    stays, moves = layer.halves(rows)
    stretch, shift = layer.stretch_and_shift(rows[:, stays])
    moved = rows[:, moves]
    moved *= np.exp(stretch)
    moved += shift
    return stretch


def _backward(layer: Coupling, rows: NDArray[np.float32]) -> None:
    """Undo it where they are."""
    stays, moves = layer.halves(rows)
    stretch, shift = layer.stretch_and_shift(rows[:, stays])
    moved = rows[:, moves]
    moved -= shift
    np.negative(stretch, out=stretch)
    moved *= np.exp(stretch, out=stretch)


@dataclass(frozen=True, eq=False)
class FlowMap(NetworkMap):
    """Two flows with a latent space in common. Frozen, and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-flow/1"
    NAME: ClassVar[str] = "flow"

    rotation: NDArray[np.float32]
    """W (d, d), of the source's centred rows."""
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    scale: float
    """One number that both spaces are divided by."""
    source_layers: tuple[Coupling, ...]
    target_layers: tuple[Coupling, ...]
    origin: Origin = field(default_factory=Origin)
    reductions: Mapping[Side, Reduction] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def inner_width(self) -> int:
        """Width of the latent space."""
        return len(self.rotation)

    def map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows of the source in the target's space."""
        latent = self._centred(rows, "source")
        for layer in self.source_layers:
            _forward(layer, latent)
        return self._back(latent, "target")

    def inverse(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Vectors of the target, in the source's space."""
        if "source" in self.reductions:
            msg = "the source was brought to a smaller width before the flow, which cannot be undone"
            raise InputError(msg)
        latent, _ = self.to_latent(vectors, side="target")
        return self.from_latent(latent, side="source")

    def to_latent(self, vectors: ArrayLike, *, side: Side) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Vectors of a side in the latent space, and log |det| of the way there for each."""
        rows = self._centred(self.rows_of(vectors, side), side)
        log_det = np.full(len(rows), -self.inner_width * np.log(self.scale))
        for layer in self._layers(side):
            log_det += _forward(layer, rows).sum(axis=1)
        return rows, log_det

    def from_latent(self, latent: NDArray[np.float32], *, side: Side) -> NDArray[np.float32]:
        """The way back to a side."""
        return self._back(np.array(latent, dtype=np.float32), side)

    def _layers(self, side: Side) -> tuple[Coupling, ...]:
        return self.source_layers if side == "source" else self.target_layers

    def _centred(self, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        """New rows: about their mean, by the scale, and those of the source turned."""
        centred: NDArray[np.float32] = rows - (self.source_mean if side == "source" else self.target_mean)
        centred /= np.float32(self.scale)
        return centred @ self.rotation if side == "source" else centred

    def _back(self, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        """The other way, in the same memory."""
        for layer in reversed(self._layers(side)):
            _backward(layer, rows)
        rows *= np.float32(self.scale)
        if side == "source":
            rows = rows @ self.rotation.T
        rows += self.source_mean if side == "source" else self.target_mean
        return rows

    def numbers(self) -> tuple[object, ...]:
        """The scale, and how far a coupling may stretch."""
        return repr(self.scale), SCALE_LIMIT

    def header(self) -> dict[str, Any]:
        """The scale, and which half stays in each layer."""
        return {
            "scale": self.scale,
            "source_layers": [layer.first_stays for layer in self.source_layers],
            "target_layers": [layer.first_stays for layer in self.target_layers],
        }

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Rotation, means, and what the layers' networks hold."""
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
        return cls(
            fixed[0],
            fixed[1],
            fixed[2],
            float(header["scale"]),
            sides["source_layers"],
            sides["target_layers"],
            Origin(**header["origin"]),
            read_reductions(header, arrays),
        )
