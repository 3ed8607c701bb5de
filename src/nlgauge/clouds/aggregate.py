"""From several layers to one vector per token: power means, routing, and the barycentre.

Power means (MoverScore, equations 4 and 5), element by element over the layers z_1 ... z_L:

    h(p) = ((z_1^p + ... + z_L^p) / L)^(1/p)        p = 1 mean, 0 geometric, -inf minimum, +inf maximum

and the token's vector is the concatenation of h(p) over the exponents.

Routing (MoverScore, appendix A.2; the paper leaves alpha, epsilon, the distance and the start open, and no
code exists, D5.11). The reading here: one vector v per token, squared distance between unit vectors, Epanechnikov
kernel k(d) = max(0, 1 - d), softmax over layers, start at the mean, by default alpha = 1 (`step`) and epsilon = 0.05.
Inside the kernel's support k' is constant, so v is the mean of the layers with d < 1, weighted by gamma. Routing of
many inputs to many outputs, as in capsule networks, is in `examples/nlp-capsule`.

Barycentre (BaryScore): each layer is a weighted cloud, and the vectors are the points of the cloud that is
nearest to all of them in transport. It starts at the mean of each token's layers, which it seldom leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import RecipeError
from nlgauge.transport import Barycentre, free_support_barycentre, normalised_weights

__all__ = ["barycentre_of_layers", "kde_routing_of_layers", "power_mean", "power_means"]

_MOST_ROUNDS = 100


def power_mean(layers: NDArray[np.float32], exponent: float) -> NDArray[np.float32]:
    """Power mean over the first axis.

    Coordinates of a vector are negative as often as not, where roots and logarithms are not defined. A whole
    odd exponent keeps the sign, a whole even one loses it, as the formula says; for 0 and for fractions the
    powers are taken of the magnitude and carry the sign along.
    """
    if math.isnan(exponent):
        msg = f"a power mean's exponent is a number, inf or -inf, got {exponent!r}"
        raise RecipeError(msg)
    if exponent == 1:
        mean: NDArray[np.float32] = layers.mean(axis=0)
        return mean
    if math.isinf(exponent):
        extreme: NDArray[np.float32] = layers.max(axis=0) if exponent > 0 else layers.min(axis=0)
        return extreme
    values = layers.astype(np.float64)
    size = np.abs(values)
    if exponent == 0:
        with np.errstate(divide="ignore"):  # log 0 is -inf, and the geometric mean is 0 then
            result = np.exp(np.log(size).mean(axis=0)) * np.sign(np.sign(values).sum(axis=0))
        return np.asarray(result, dtype=np.float32)
    keeps_sign = not (float(exponent).is_integer() and exponent % 2 == 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 to a negative power: its mean is 0 again
        powers = size**exponent * (np.sign(values) if keeps_sign else 1.0)
        mean64 = powers.mean(axis=0)
        result = np.abs(mean64) ** (1 / exponent) * np.sign(mean64)
    return np.asarray(np.nan_to_num(result, nan=0.0, posinf=0.0, neginf=0.0), dtype=np.float32)


def power_means(layers: Sequence[NDArray[np.float32]], exponents: Sequence[float]) -> NDArray[np.float32]:
    """Power means of the layers for each exponent, side by side."""
    stack = np.stack(list(layers))
    return np.concatenate([power_mean(stack, exponent) for exponent in exponents], axis=-1)


def kde_routing_of_layers(
    layers: Sequence[NDArray[np.float32]], *, step: float = 1.0, epsilon: float = 0.05
) -> NDArray[np.float32]:
    """KDE routing over layers, token by token (each stops on its own, so no token looks at another)."""
    stack = np.stack(list(layers)).astype(np.float64)
    result = np.empty(stack.shape[1:])
    for token in range(stack.shape[1]):
        result[token] = _route(stack[:, token], step, epsilon)
    return result.astype(np.float32)


def barycentre_of_layers(layers: Sequence[NDArray[np.float32]], weights: NDArray[np.float64]) -> Barycentre:
    """Barycentre of the layers, a point per token, each with the token's weight (all above 0)."""
    clouds = [layer.astype(np.float64) for layer in layers]
    return free_support_barycentre(clouds, normalised_weights(weights), np.mean(clouds, axis=0))


def _route(layers: NDArray[np.float64], step: float, epsilon: float) -> NDArray[np.float64]:
    gamma = np.zeros(len(layers))
    vector: NDArray[np.float64] = layers.mean(axis=0)
    previous = math.inf
    for _ in range(_MOST_ROUNDS):
        share = np.exp(gamma - gamma.max())
        gamma = share / share.sum()
        near = ((layers - vector) ** 2).sum(axis=1) < 1
        weight = gamma * near if near.any() else gamma
        vector = weight @ layers / weight.sum()
        kernel = np.maximum(0.0, 1.0 - ((layers - vector) ** 2).sum(axis=1))
        gamma = gamma + step * kernel
        loss = math.log(max(float(gamma @ kernel), 1e-300))
        if abs(loss - previous) < epsilon:
            break
        previous = loss
    return vector
