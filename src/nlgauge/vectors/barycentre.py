"""Free-support Wasserstein barycentre of several weighted clouds of the same size.

The points X of the barycentre move, their weights b stay. One step of the fixed-point iteration (Cuturi and
Doucet 2014, algorithm 2 without line search; POT's `free_support_barycenter`):

    T_l = argmin over plans from (b, X) to (w_l, x_l) of  <T, ||X_i - x_lj||^2>
    X  <- mean over l of  diag(1/b) T_l x_l
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.vectors.transport import check_size, exact_transport, squared_distances


class Barycentre(NamedTuple):
    """Points of a barycentre and how they were found."""

    points: NDArray[np.float64]
    steps: int
    """Iterations until nothing moved; 1 where the start was the answer."""
    solved: int
    """Transport problems that needed the solver."""


def free_support_barycentre(
    clouds: Sequence[NDArray[np.float64]],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    most_steps: int = 1000,
    stop: float = 1e-7,
) -> Barycentre:
    """Iterate from `start` until the points' total squared movement is at most `stop`.

    All clouds, and the barycentre, carry the same weights. Where every point of the barycentre is closer to
    its own counterpart than to any other, moving each point to its counterpart is the cheapest plan (no row
    can do better), and no solver is needed; that is the usual case for the layers of an encoder.
    """
    check_size(len(start), len(start), what="a barycentre", instead="score shorter texts, or with another metric")
    points, solved, steps = start, 0, 0
    moved = np.inf
    while moved > stop and steps < most_steps:
        steps += 1
        target = np.zeros_like(points)
        for cloud in clouds:
            cost = squared_distances(points, cloud)
            if (cost.diagonal() <= cost.min(axis=1)).all():
                target += cloud
            else:
                plan = exact_transport(weights, weights, cost)
                target += (plan.flow @ cloud) / weights[:, None]
                solved += 1
        target /= len(clouds)
        moved = float(((target - points) ** 2).sum())
        points = target
    return Barycentre(points, steps, solved)


def barycentre_from_origin(layers: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Barycentre of the layers' unit vectors under uniform weights, from X = 0, by POT's own function.

    At X = 0 every cost is 1, so the first plan is whatever vertex the solver meets first, and rounding
    decides between local optima. The vectors are scaled in float64, where ties are nearest to exact.
    """
    import ot

    check_size(len(layers[0]), len(layers[0]), what="a barycentre", instead="score shorter texts")
    clouds = []
    for layer in layers:
        wide = layer.astype(np.float64)
        clouds.append(wide / np.linalg.norm(wide, axis=1, keepdims=True))
    weights = np.full(len(clouds[0]), 1 / len(clouds[0]))
    points: NDArray[np.float64] = ot.lp.free_support_barycenter(
        clouds, [weights] * len(clouds), np.zeros_like(clouds[0]), b=weights, numItermax=1000, stopThr=1e-7
    )
    return points
