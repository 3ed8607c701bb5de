"""Densities matched without pairs. The judge is the exact earth mover's distance, which no fit sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.studies.alignment.adversarial_fit import fit_adversarial, fit_gan_flow
from nlgauge.studies.alignment.training_loop import FlowOptions, energy_distance
from nlgauge.vectors.transforms import load_map
from nlgauge.vectors.transport import exact_transport, squared_distances

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

Rows = NDArray[np.float32]

OPTIONS = FlowOptions(
    couplings=4, hidden=64, epochs=100, patience=100, batch=256, learning_rate=3e-3, validation="density"
)


def bent_plane(count: int, seed: int) -> tuple[Rows, Rows]:
    """Normal points, and others on a parabola; no point of one side belongs to one of the other."""
    chance = np.random.default_rng(seed)
    x, y = chance.normal(size=(2, count, 2))
    y[:, 1] += y[:, 0] ** 2
    return x.astype(np.float32), y.astype(np.float32)


def mover_distance(left: Rows, right: Rows) -> float:
    cost = np.sqrt(squared_distances(left.astype(np.float64), right.astype(np.float64)))
    weights = np.full(len(left), 1 / len(left))
    return float((exact_transport(weights, weights, cost).flow * cost).sum())


def distances(seed: int, *, points: int, options: FlowOptions) -> tuple[float, float, float]:
    """Distance before and after a fit from the identity, on new points, and that of two samples of the target."""
    x, y = bent_plane(points, seed)
    new_x, new_y = bent_plane(512, 1000 + seed)
    fitted = fit_gan_flow(x, y, options=options)
    shift = y.mean(axis=0) - x.mean(axis=0)
    floor = mover_distance(bent_plane(512, 2000 + seed)[1], new_y)
    return mover_distance(new_x + shift, new_y), mover_distance(fitted.map.apply(new_x), new_y), floor


def test_a_short_fit_brings_the_densities_together() -> None:
    """Two seconds of training; without training the distance stays where it is, far above the floor."""
    before, after, floor = distances(0, points=1024, options=replace(OPTIONS, epochs=15))
    assert before > 2.5 * floor
    assert after < 0.7 * before


@pytest.mark.long
def test_the_distance_falls_to_the_noise_floor() -> None:
    """Median of ten seeds within 20 % of the floor."""
    ratios = []
    for seed in range(10):
        before, after, floor = distances(seed, points=2048, options=OPTIONS)
        print(f"seed {seed}: {before:.3f} to {after:.3f}, floor {floor:.3f}, ratio {after / floor:.2f}")
        ratios.append(after / floor)
    assert np.median(ratios) < 1.2


def turned_clusters(angle: float) -> tuple[Rows, Rows, Rows]:
    """Unequal clusters, and new points of them turned and moved; the rotation comes last."""
    centres, chance = np.array([[4.0, 0.0], [0.0, 2.0], [-1.0, -3.0]]), np.random.default_rng(0)
    words = [np.repeat(centres, (200, 150, 100), axis=0) + 0.5 * chance.normal(size=(450, 2)) for _ in range(2)]
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return words[0].astype(np.float32), (words[1] @ turn + 5).astype(np.float32), turn.astype(np.float32)


@pytest.mark.parametrize("constraint", ["none", "graph", "cross-correlation", "procrustes"])
def test_adversarial_rotation_is_recovered(constraint: str, tmp_path: Path) -> None:
    """Half a radian; no point of one side belongs to one of the other."""
    x, y, turn = turned_clusters(0.5)
    rounds = 1 if constraint == "none" else 2
    options = FlowOptions(
        epochs=30 // rounds,
        rounds=rounds,
        patience=30,
        batch=128,
        learning_rate=1e-2,
        constraint=constraint,
        validation="density",
    )
    fitted = fit_adversarial(x, y, options=options)
    (rotation,) = (step.array for step in fitted.map.operations if step.kind == "linear")
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(2), atol=1e-6)
    angle = float(np.arccos(np.clip(np.trace(rotation.T @ turn) / 2, -1, 1)))
    assert angle < 0.1  # from 0.5
    assert fitted.map.origin.method == "adversarial"
    fitted.map.save(tmp_path / "map.npz")
    assert load_map(tmp_path / "map.npz").digest == fitted.map.digest
    assert fit_adversarial(x, y, options=options).map.digest == fitted.map.digest


def test_energy_distance_by_hand() -> None:
    """Points 0 and 2 against 1: 2 * 1 - (0 + 2 + 2 + 0) / 4 - 0."""
    left, right = np.array([[0.0], [2.0]], np.float32), np.array([[1.0]], np.float32)
    assert energy_distance(left, right) == pytest.approx(1.0)
    assert energy_distance(left, left) == pytest.approx(0.0)


def test_density_criterion_sees_a_scale_that_cosines_do_not() -> None:
    from nlgauge.studies.alignment.training_loop import criterion

    x, _ = bent_plane(200, 0)
    assert criterion("semantic", 3 * x, x) == pytest.approx(criterion("semantic", x, x), abs=1e-6)
    assert criterion("density", 3 * x, x) < criterion("density", x, x) - 0.1
