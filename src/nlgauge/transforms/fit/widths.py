"""Two spaces of different widths: the wider one along as many of its principal directions as the other has (PCA)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.blas import one_blas_thread
from nlgauge.errors import InputError
from nlgauge.transforms.fit.procrustes import principal_directions
from nlgauge.transforms.network_map import Reduction
from nlgauge.transforms.origin import Side
from nlgauge.transforms.remap import Operation

__all__ = ["reduction_steps", "same_width"]

Matrix = NDArray[np.float64]


def same_width(source: ArrayLike, target: ArrayLike) -> tuple[Matrix, Matrix, dict[Side, Reduction]]:
    """Both sides at the smaller width, and what brought the wider one there; nothing if they are alike."""
    x, z = (np.asarray(rows, dtype=np.float64) for rows in (source, target))
    if x.ndim != 2 or z.ndim != 2 or x.shape[1] == z.shape[1]:
        return x, z, {}  # what is no matrix is refused where it is used
    side: Side = "source" if x.shape[1] > z.shape[1] else "target"
    wide, width = (x, z.shape[1]) if side == "source" else (z, x.shape[1])
    if not np.isfinite(wide).all():
        msg = f"the {side} vectors are not finite"
        raise InputError(msg)
    with one_blas_thread:
        mean = wide.mean(axis=0).astype(np.float32)
        step = Reduction(mean, principal_directions(wide, count=width).astype(np.float32))
        reduced = (wide - step.mean) @ step.directions
    return (reduced, z, {side: step}) if side == "source" else (x, reduced, {side: step})


def reduction_steps(reductions: dict[Side, Reduction]) -> tuple[Operation, ...]:
    """The same as steps of a re-mapping, which come before all others."""
    return tuple(
        Operation(kind, array.astype(np.float64), target_only=side == "target")
        for side, step in reductions.items()
        for kind, array in (("shift", -step.mean[None]), ("linear", step.directions))
    )
