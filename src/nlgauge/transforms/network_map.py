"""What maps by a network have in common: rows of one width, a digest of the numbers, and a file.

Where the two sides are of different widths, the wider one is first brought to the other's along its principal
directions; the file holds that step too, and says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.files.frozen import arrays_digest, write_arrays
from nlgauge.transforms.origin import Origin, Side, check_fitted, side_rows

__all__ = ["NetworkMap", "Reduction", "read_reductions"]

Rows = NDArray[np.float32]


class Reduction(NamedTuple):
    """Principal directions of a side that is wider than the other."""

    mean: Rows
    directions: Rows
    """(width before, width after)"""

    def apply(self, rows: Rows) -> Rows:
        """Rows of the smaller width."""
        centred: Rows = rows - self.mean
        return centred @ self.directions


class NetworkMap(ABC):
    """A frozen map from the source's space to the target's, named by a digest."""

    FORMAT: ClassVar[str]
    NAME: ClassVar[str]
    """What messages call it."""

    origin: Origin
    reductions: Mapping[Side, Reduction]
    """Of a side that is wider than the network; usually none."""

    @property
    @abstractmethod
    def inner_width(self) -> int:
        """Width of the vectors that the network itself takes."""

    @property
    def width(self) -> int:
        """Width of the source's vectors."""
        return self.width_of("source")

    def width_of(self, side: Side) -> int:
        """Width of a side's vectors before they are mapped."""
        wider = self.reductions.get(side)
        return self.inner_width if wider is None else len(wider.directions)

    def apply(self, vectors: ArrayLike, *, side: Side = "source") -> Rows:
        """Vectors (n, width) of the source, in the target's space; those of the target stay as they are."""
        rows = self.rows_of(vectors, side)
        return self.map_source(rows) if side == "source" else rows

    @abstractmethod
    def map_source(self, rows: Rows) -> Rows:
        """Rows of the source (of the network's width) in the target's space."""

    def rows_of(self, vectors: ArrayLike, side: Side) -> Rows:
        """A side's vectors as the network takes them."""
        rows = side_rows(vectors, side, width=self.width_of(side), what=self.NAME, form=np.float32)
        wider = self.reductions.get(side)
        return rows if wider is None else wider.apply(rows)

    def check_model(self, weights: str, *, layer: int, width: int) -> None:
        """Refuse vectors that the map was not fitted on."""
        check_fitted(self.origin, self.width, weights=weights, layer=layer, width=width)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to; notes for people are not part of it."""
        named = ((f"{name} {array.shape}", array) for name, array in self._all_arrays().items())
        return arrays_digest((self.FORMAT, *self.origin.named, *self.numbers()), named, form="<f4")

    @abstractmethod
    def numbers(self) -> tuple[object, ...]:
        """What the digest names beside arrays."""

    @abstractmethod
    def arrays(self) -> dict[str, Rows]:
        """Of the network, by name."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What the file's header says beside format, digest and origin."""

    def save(self, path: Path) -> None:
        """Write an .npz file, whole or not at all; equal maps give equal bytes."""
        named = {"format": self.FORMAT, "digest": self.digest, **self.header(), "origin": self.origin._asdict()}
        reduced = {side: list(step.directions.shape) for side, step in self.reductions.items()}
        write_arrays(path, named | ({"reduced": reduced} if reduced else {}), self._all_arrays())

    def _all_arrays(self) -> dict[str, Rows]:
        reduced = {
            f"{side}_reduction_{name}": array
            for side, step in sorted(self.reductions.items())
            for name, array in step._asdict().items()
        }
        return self.arrays() | reduced


def read_reductions(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[Side, Reduction]:
    """Those of a file, after its header."""
    sides: tuple[Side, ...] = ("source", "target")
    return {
        side: Reduction(arrays[f"{side}_reduction_mean"], arrays[f"{side}_reduction_directions"])
        for side in sides
        if side in header.get("reduced", {})
    }
