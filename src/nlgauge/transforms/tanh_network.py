"""FCNN: three fully connected layers, tanh after each, from one space to another (dissertation, chapter 10).

    y = scale tanh(tanh(tanh(((x - mean) / scale) A + a) B + b) C + c) + mean of the target

A plain network that only parallel text can teach, beside which a flow is judged. It cannot be undone. Applying takes
numpy only; fitting is `transforms/fit/fcnn_fit.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.files.frozen import read_arrays
from nlgauge.transforms.network_map import NetworkMap, Reduction, read_reductions
from nlgauge.transforms.origin import Origin, Side

__all__ = ["TanhNetwork"]


@dataclass(frozen=True, eq=False)
class TanhNetwork(NetworkMap):
    """Layers in order. Frozen, and named by a digest."""

    FORMAT: ClassVar[str] = "nlgauge-fcnn/1"
    NAME: ClassVar[str] = "network"

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    """A matrix and what is added to the product with it, of each layer."""
    source_mean: NDArray[np.float32]
    target_mean: NDArray[np.float32]
    source_scale: float
    target_scale: float
    """No entry of a target is further from its mean, so that tanh reaches all of them."""
    origin: Origin = field(default_factory=Origin)
    reductions: Mapping[Side, Reduction] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def inner_width(self) -> int:
        """Width of the vectors that the layers take."""
        return len(self.source_mean)

    def map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows of the source in the target's space."""
        rows = (rows - self.source_mean) / np.float32(self.source_scale)
        for matrix, bias in self.layers:
            rows = np.tanh(rows @ matrix + bias)
        moved: NDArray[np.float32] = rows * np.float32(self.target_scale) + self.target_mean
        return moved

    def numbers(self) -> tuple[object, ...]:
        """Both scales."""
        return repr(self.source_scale), repr(self.target_scale)

    def header(self) -> dict[str, Any]:
        """How many layers, and the scales."""
        return {"layers": len(self.layers), "scales": [self.source_scale, self.target_scale]}

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Means and layers."""
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
        return cls(layers, *means, source, target, Origin(**header["origin"]), read_reductions(header, arrays))
