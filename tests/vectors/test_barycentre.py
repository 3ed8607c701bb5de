"""The free-support barycentre, beside POT's own."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.vectors.transport import free_support_barycentre

ot = pytest.importorskip("ot")


def layers(seed: int, *, noise: float, tokens: int = 9) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(tokens, 16))
    clouds = [base + noise * rng.normal(size=base.shape) for _ in range(5)]
    return [cloud / np.linalg.norm(cloud, axis=1, keepdims=True) for cloud in clouds]


@pytest.mark.parametrize("noise", [0.1, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_pot_from_the_same_start(seed: int, noise: float) -> None:
    clouds = layers(seed, noise=noise)
    weights = np.random.default_rng(seed).random(9) + 0.1
    weights /= weights.sum()
    start = np.mean(clouds, axis=0)
    ours = free_support_barycentre(clouds, weights, start)
    theirs = ot.lp.free_support_barycenter(clouds, [weights] * 5, start, b=weights, numItermax=1000)
    np.testing.assert_allclose(ours.points, theirs, atol=1e-9)


def test_layers_whose_tokens_stay_apart_have_their_mean_as_barycentre() -> None:
    clouds = layers(3, noise=0.2)
    result = free_support_barycentre(clouds, np.full(9, 1 / 9), np.mean(clouds, axis=0))
    assert (result.steps, result.solved) == (1, 0)
    np.testing.assert_allclose(result.points, np.mean(clouds, axis=0), atol=1e-12)


def test_the_order_of_tokens_does_not_matter() -> None:
    clouds = layers(4, noise=1.5)
    weights = np.arange(1, 10) / 45
    order = np.random.default_rng(0).permutation(9)
    plain = free_support_barycentre(clouds, weights, np.mean(clouds, axis=0)).points
    shuffled = [cloud[order] for cloud in clouds]
    permuted = free_support_barycentre(shuffled, weights[order], np.mean(shuffled, axis=0)).points
    np.testing.assert_allclose(permuted, plain[order], atol=1e-9)
