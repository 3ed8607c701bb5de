"""Neural maps between two spaces: a flow, and a plain network as a baseline.

A map has one width. If the two sides differ in width, the wider one is first reduced along its principal directions
(`Reduction`), which the file contains too. Applying a map needs numpy only.

`FlowMap` is two normalising flows that meet in one latent space (dissertation, chapter 10, section 3):

    source -> latent   z = couplings(((x - mean) / scale) W)
    target -> latent   z = couplings((y - mean) / scale)
    source -> target   the first, and then the second backwards

Each flow is a Real-NVP (Dinh et al. 2017). A coupling keeps one half of the entries and transforms the other half as
a function of the first, so it can be inverted exactly:

    s, t = two parts of a network of the half that stays;   s <- limit tanh(s)
    y    = x exp(s) + t            x = (y - t) exp(-s)            log |det| = sum of s

If the networks return 0, this is the centred rotation W, with which fitting starts.

`TanhNetwork` (FCNN) has three fully connected layers with tanh after each. It is fitted on parallel text, and cannot
be inverted:

    y = scale tanh(tanh(tanh(((x - mean) / scale) A + a) B + b) C + c) + mean of the target
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.io.storage import arrays_digest
from nlgauge.vectors.remap import Origin, Side, SpaceMap, side_rows

Rows = NDArray[np.float32]

#: Logarithm of the largest stretch of a coupling, which keeps entries bounded.
SCALE_LIMIT = 1.0


class Reduction(NamedTuple):
    """Principal directions of a side that is wider than the other."""

    mean: Rows
    directions: Rows
    """(width before, width after)"""

    def apply(self, rows: Rows) -> Rows:
        """Rows of the smaller width."""
        centred: Rows = rows - self.mean
        return centred @ self.directions


class NetworkMap(SpaceMap):
    """A map computed by a network."""

    reductions: Mapping[Side, Reduction]
    """Reductions of sides that are wider than the network; usually none."""

    @property
    @abstractmethod
    def inner_width(self) -> int:
        """Width of the network's input."""

    def width_of(self, side: Side) -> int:
        wider = self.reductions.get(side)
        return self.inner_width if wider is None else len(wider.directions)

    def apply(self, vectors: ArrayLike, *, side: Side = "source") -> Rows:
        """Map vectors (n, width) of the source to the target's space; those of the target do not change."""
        rows = self.rows_of(vectors, side)
        return self.map_source(rows) if side == "source" else rows

    @abstractmethod
    def map_source(self, rows: Rows) -> Rows:
        """Map rows of the source (of the network's width) to the target's space."""

    def rows_of(self, vectors: ArrayLike, side: Side) -> Rows:
        """A side's vectors as input of the network."""
        rows = side_rows(vectors, side, width=self.width_of(side), what=self.KIND, form=np.float32)
        wider = self.reductions.get(side)
        return rows if wider is None else wider.apply(rows)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and their origin, without notes."""
        named = ((f"{name} {array.shape}", array) for name, array in self.arrays().items())
        return arrays_digest((self.FORMAT, *self.origin.named, *self.numbers()), named, form="<f4")

    @abstractmethod
    def numbers(self) -> tuple[object, ...]:
        """Numbers outside the arrays, for the digest."""

    @abstractmethod
    def network_arrays(self) -> dict[str, Rows]:
        """The network's arrays by name."""

    @abstractmethod
    def network_header(self) -> dict[str, Any]:
        """The network's entries in the file's header."""

    def header(self) -> dict[str, Any]:
        """The network, its origin, and the shapes of reductions."""
        reduced = {side: list(step.directions.shape) for side, step in self.reductions.items()}
        named = {**self.network_header(), "origin": self.origin._asdict()}
        return named | ({"reduced": reduced} if reduced else {})

    def arrays(self) -> dict[str, Rows]:
        reduced = {
            f"{side}_reduction_{name}": array
            for side, step in sorted(self.reductions.items())
            for name, array in step._asdict().items()
        }
        return self.network_arrays() | reduced


def _read_reductions(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[Side, Reduction]:
    """Read the reductions of a file."""
    sides: tuple[Side, ...] = ("source", "target")
    return {
        side: Reduction(arrays[f"{side}_reduction_mean"], arrays[f"{side}_reduction_directions"])
        for side in sides
        if side in header.get("reduced", {})
    }


@dataclass(frozen=True, eq=False)
class TanhNetwork(NetworkMap):
    """A network of fully connected layers, frozen and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-fcnn/1"
    KIND: ClassVar[str] = "network"
    FIX: ClassVar[str] = "make one with 'nlgauge align fit --method fcnn'"

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    """Matrix and bias of each layer."""
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    source_scale: float
    target_scale: float
    """Largest distance of a target's entry from its mean, so tanh can reach all of them."""
    origin: Origin = field(default_factory=Origin)
    reductions: Mapping[Side, Reduction] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def inner_width(self) -> int:
        return len(self.source_mean)

    def map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        rows = (rows - self.source_mean) / np.float32(self.source_scale)
        for matrix, bias in self.layers:
            rows = np.tanh(rows @ matrix + bias)
        moved: NDArray[np.float32] = rows * np.float32(self.target_scale) + self.target_mean
        return moved

    def numbers(self) -> tuple[object, ...]:
        return repr(self.source_scale), repr(self.target_scale)

    def network_header(self) -> dict[str, Any]:
        """The number of layers, and the scales."""
        return {"layers": len(self.layers), "scales": [self.source_scale, self.target_scale]}

    def network_arrays(self) -> dict[str, NDArray[np.float32]]:
        arrays = {"source_mean": self.source_mean, "target_mean": self.target_mean}
        for number, (matrix, bias) in enumerate(self.layers):
            arrays |= {f"matrix{number}": matrix, f"bias{number}": bias}
        return arrays

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TanhNetwork:
        layers = tuple((arrays[f"matrix{n}"], arrays[f"bias{n}"]) for n in range(header["layers"]))
        source, target = map(float, header["scales"])
        means = arrays["source_mean"], arrays["target_mean"]
        return cls(layers, *means, source, target, Origin(**header["origin"]), _read_reductions(header, arrays))


class Coupling(NamedTuple):
    """A layer of a flow: which half stays, and the network of that half (two products with ReLU between)."""

    first_stays: bool
    inner: Rows
    """(width of the half that stays, hidden)"""
    inner_bias: Rows
    outer: Rows
    """(hidden, twice the width of the other half): s, then t."""
    outer_bias: Rows


class _Step(NamedTuple):
    """A coupling or its inverse, prepared for speed.

    A product of 25 rows takes microseconds, as long as numpy's overhead for slices. So halves, s and t are separate
    contiguous arrays, nothing is copied or converted, and the scale is part of the weights.
    """

    stays: int
    """Index of the half that stays."""
    undo: bool
    inner: Rows
    inner_bias: Rows
    outer: Rows
    """(2, hidden, width of the other half): s, or -s for the inverse, and t."""
    outer_bias: Rows

    @classmethod
    def of(cls, layer: Coupling, scale: float, *, undo: bool) -> _Step:
        factors = np.array([-1 if undo else 1, scale], dtype=np.float32)
        outer = np.stack(np.split(layer.outer, 2, axis=1)) * factors[:, None, None]
        bias = np.stack(np.split(layer.outer_bias, 2)) * factors[:, None]
        inner = layer.inner / np.float32(scale)
        return cls(0 if layer.first_stays else 1, undo, inner, layer.inner_bias, outer, bias[:, None])

    def run(self, halves: tuple[Rows, Rows]) -> None:
        """Transform one half in place."""
        hidden: Rows = halves[self.stays] @ self.inner
        hidden += self.inner_bias
        np.maximum(hidden, 0, out=hidden)
        both: Rows = hidden @ self.outer
        both += self.outer_bias
        stretch, shift = both
        np.tanh(stretch, out=stretch)
        if SCALE_LIMIT != 1:
            stretch *= np.float32(SCALE_LIMIT)
        np.exp(stretch, out=stretch)
        moved = halves[1 - self.stays]
        if self.undo:
            moved -= shift
            moved *= stretch
        else:
            moved *= stretch
            moved += shift


@dataclass(frozen=True, eq=False)
class FlowMap(NetworkMap):
    """Two flows with a common latent space, frozen and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-flow/1"
    KIND: ClassVar[str] = "flow"
    FIX: ClassVar[str] = "make one with 'nlgauge align fit --method flow'"

    rotation: Rows
    """W (d, d), of the source's centred rows."""
    source_mean: Rows
    target_mean: Rows
    scale: float
    """The number by which both spaces are divided."""
    source_layers: tuple[Coupling, ...]
    target_layers: tuple[Coupling, ...]
    origin: Origin = field(default_factory=Origin)
    reductions: Mapping[Side, Reduction] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def inner_width(self) -> int:
        return len(self.rotation)

    def map_source(self, rows: Rows) -> Rows:
        centred: Rows = rows - self.source_mean
        halves = centred @ self._turn[0], centred @ self._turn[1]
        for step in self._steps:
            step.run(halves)
        moved: Rows = np.concatenate(halves, axis=1)
        moved += self.target_mean
        return moved

    @cached_property
    def _steps(self) -> tuple[_Step, ...]:
        """From the source to the latent space, and from there to the target."""
        return (
            *(_Step.of(layer, self.scale, undo=False) for layer in self.source_layers),
            *(_Step.of(layer, self.scale, undo=True) for layer in reversed(self.target_layers)),
        )

    @property
    def _layers(self) -> dict[Side, tuple[Coupling, ...]]:
        return {"source": self.source_layers, "target": self.target_layers}

    @cached_property
    def _turn(self) -> tuple[Rows, Rows]:
        """The columns of W for each half."""
        middle = self.inner_width // 2
        return np.ascontiguousarray(self.rotation[:, :middle]), np.ascontiguousarray(self.rotation[:, middle:])

    def numbers(self) -> tuple[object, ...]:
        """The scale, and the limit of a coupling's stretch."""
        return repr(self.scale), SCALE_LIMIT

    def network_header(self) -> dict[str, Any]:
        """The scale, and which half stays in each layer."""
        return {
            "scale": self.scale,
            **{f"{side}_layers": [layer.first_stays for layer in layers] for side, layers in self._layers.items()},
        }

    def network_arrays(self) -> dict[str, Rows]:
        """Rotation, means, and weights of the layers' networks."""
        arrays = {"rotation": self.rotation, "source_mean": self.source_mean, "target_mean": self.target_mean}
        for side, layers in self._layers.items():
            for number, layer in enumerate(layers):
                start = f"{side}{number}_{'first' if layer.first_stays else 'second'}"
                for name in ("inner", "inner_bias", "outer", "outer_bias"):
                    arrays[f"{start}_{name}"] = getattr(layer, name)
        return arrays

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FlowMap:
        fixed = {name: arrays[name] for name in ("rotation", "source_mean", "target_mean")}
        if not all(np.isfinite(array).all() for array in fixed.values()):
            msg = "the file contains numbers that are not finite"
            raise ValueError(msg)
        return cls(
            **fixed,
            scale=float(header["scale"]),
            source_layers=_read_couplings("source", header, arrays),
            target_layers=_read_couplings("target", header, arrays),
            origin=Origin(**header["origin"]),
            reductions=_read_reductions(header, arrays),
        )


def _read_couplings(
    side: Side, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[Coupling, ...]:
    layers = []
    for number, first in enumerate(header[f"{side}_layers"]):
        start = f"{side}{number}_{'first' if first else 'second'}"
        parts = [arrays[f"{start}_{name}"] for name in ("inner", "inner_bias", "outer", "outer_bias")]
        layers.append(Coupling(bool(first), *parts))
    return tuple(layers)
