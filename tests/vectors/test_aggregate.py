"""Power means by hand, and the routing's stated reading."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlgauge.errors import RecipeError
from nlgauge.vectors.points import Routing, kde_routing_of_layers, power_mean, power_means

STACK = np.array([[[1.0, -2.0]], [[4.0, 2.0]], [[2.0, -8.0]]], dtype=np.float32)


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (1, [7 / 3, -8 / 3]),
        (-math.inf, [1, -8]),
        (math.inf, [4, 2]),
        (0, [2, -(32 ** (1 / 3))]),
        (2, [math.sqrt(7), math.sqrt(24)]),
        (3, [(73 / 3) ** (1 / 3), -((512 / 3) ** (1 / 3))]),
        (-1, [3 / (1 + 1 / 4 + 1 / 2), -3 / (1 / 8)]),
    ],
)
def test_power_means_by_hand(exponent: float, expected: list[float]) -> None:
    np.testing.assert_allclose(power_mean(STACK, exponent)[0], expected, rtol=1e-6)


def test_exponents_are_laid_side_by_side() -> None:
    both = power_means(list(STACK), (-math.inf, math.inf))
    assert both.tolist() == [[1.0, -8.0, 4.0, 2.0]]
    with pytest.raises(RecipeError, match="exponent"):
        power_mean(STACK, math.nan)


def test_routing_of_equal_layers_is_that_layer() -> None:
    layer = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    layer /= np.linalg.norm(layer, axis=1, keepdims=True)
    np.testing.assert_allclose(kde_routing_of_layers([layer] * 5), layer, atol=1e-6)


def test_routing_leaves_out_a_layer_that_lies_apart() -> None:
    """Four layers agree, the fifth is their opposite: its distance to the centre is over 1, its kernel 0."""
    rng = np.random.default_rng(1)
    layer = rng.normal(size=(3, 8))
    layer /= np.linalg.norm(layer, axis=1, keepdims=True)
    result = kde_routing_of_layers([layer.astype(np.float32)] * 4 + [-layer.astype(np.float32)])
    np.testing.assert_allclose(result, layer, atol=1e-6)


def test_routing_looks_at_one_token_at_a_time() -> None:
    layers = list(np.random.default_rng(2).normal(size=(5, 6, 8)).astype(np.float32) / 3)
    whole = kde_routing_of_layers(layers)
    assert np.array_equal(kde_routing_of_layers([layer[2:3] for layer in layers])[0], whole[2])


def test_routing_with_the_gaussian_kernel_keeps_a_layer_that_lies_apart() -> None:
    """Layers 1, 1 and -1 with equal gamma: v -> (2 - q) / (2 + q) with q = exp(-2v), from 1/3 in two rounds.

    By hand: v = 1/3, .59147, .73432. The Epanechnikov kernel gives 1.
    """
    layers = [np.array([[value]], dtype=np.float32) for value in (1, 1, -1)]
    routing = Routing(step=1e-9, epsilon=1e6, kernel="gaussian")  # gamma stays equal; two rounds
    assert kde_routing_of_layers(layers, routing).item() == pytest.approx(0.73432, abs=1e-5)
    assert kde_routing_of_layers(layers, Routing(step=1e-9, epsilon=1e6)).item() == pytest.approx(1)


@pytest.mark.parametrize("kernel", ["epanechnikov", "gaussian"])
def test_published_denominator_divides_by_the_sum_of_slopes(kernel: str) -> None:
    """Two orthogonal layers have equal gamma (1/2) and slopes, so v is a quarter of their sum, not half."""
    layers = [np.array([row], dtype=np.float32) for row in ([1, 0], [0, 1])]
    result = kde_routing_of_layers(layers, Routing(kernel=kernel, denominator="published"))
    np.testing.assert_allclose(result, [[0.25, 0.25]], atol=1e-7)
    np.testing.assert_allclose(kde_routing_of_layers(layers, Routing(kernel=kernel)), [[0.5, 0.5]], atol=1e-7)
