"""RCSLS (Joulin et al. 2018, Equation 7): the loss and its gradient by loops, and planted maps."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.vectors import rcsls
from nlgauge.vectors.rcsls import cut_singular_values, loss_and_gradient, relaxed_csls
from nlgauge.vectors.remap import fit_remapping, procrustes


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def loss_by_loops(w: np.ndarray, x: np.ndarray, z: np.ndarray, k: int) -> float:
    """Equation 7, row by row."""
    total = 0.0
    for a, b in zip(x, z, strict=True):
        forth = sorted((a @ w @ other for other in z), reverse=True)[:k]
        back = sorted((other @ w @ b for other in x), reverse=True)[:k]
        total += -2 * (a @ w @ b) + sum(forth) / k + sum(back) / k
    return total / len(x)


def test_the_loss_and_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rcsls, "NEIGHBOURS", 3)
    chance = np.random.default_rng(0)
    x, z, w = unit(chance.normal(size=(12, 4))), unit(chance.normal(size=(12, 4))), chance.normal(size=(4, 4))
    space = rcsls._space(x, z)
    value, gradient = loss_and_gradient(w, space)
    assert value == pytest.approx(loss_by_loops(w, x, z, 3))
    for i, j in ((0, 0), (2, 1), (3, 3)):
        step = np.zeros((4, 4))
        step[i, j] = 1e-6
        slope = (loss_by_loops(w + step, x, z, 3) - loss_by_loops(w - step, x, z, 3)) / 2e-6
        assert gradient[i, j] == pytest.approx(slope, abs=1e-6)


def test_a_planted_rotation_is_recovered() -> None:
    """Noise on all pairs; the rotation finds the translation of each word, and singular values stay at most 1."""
    chance = np.random.default_rng(1)
    x = chance.normal(size=(400, 12))
    turn = np.linalg.qr(chance.normal(size=(12, 12)))[0]
    z = x @ turn + 0.1 * chance.normal(size=x.shape)
    fitted = fit_remapping(x, z, method="rcsls")
    mapped = unit(fitted.apply(x).astype(np.float64))
    assert np.array_equal((mapped @ unit(z).T).argmax(axis=1), np.arange(400))
    (step,) = fitted.operations
    assert np.linalg.norm(step.array / np.linalg.norm(step.array, 2) - turn, 2) < 0.2
    assert np.linalg.svd(step.array)[1].max() <= 1 + 1e-9
    assert fitted.origin.method == "rcsls"


def test_the_loss_falls_below_that_of_the_rotation() -> None:
    """Languages that are no rotation of each other, with a hub: each further iteration lowers the loss."""
    chance = np.random.default_rng(2)
    x = unit(chance.normal(size=(300, 20)) + 0.8 * chance.normal(size=20))
    stretched = x @ chance.normal(size=(20, 20)) @ np.diag(np.linspace(0.2, 2, 20))
    z = unit(stretched + 0.6 * chance.normal(size=20))
    space, start = rcsls._space(x, z), procrustes(x, z)
    maps = [start, *(relaxed_csls(x, z, start=start, iterations=count) for count in (1, 4, 20))]
    losses = [loss_and_gradient(w, space)[0] for w in maps]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.02


def test_equal_pairs_count_once_and_zero_rows_are_left_out() -> None:
    chance = np.random.default_rng(3)
    x, z = chance.normal(size=(2, 30, 5))
    start = procrustes(x, z)
    repeated = [np.vstack([rows, rows[:7], np.zeros((2, 5))]) for rows in (x, z)]
    np.testing.assert_allclose(relaxed_csls(*repeated, start=start), relaxed_csls(x, z, start=start), atol=1e-12)
    with pytest.raises(InputError, match="1 of 2 pairs have a vector on both sides"):
        relaxed_csls([[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], start=np.eye(2))


def test_singular_values_are_cut_at_one() -> None:
    matrix = np.random.default_rng(4).normal(size=(6, 6))
    values = np.linalg.svd(cut_singular_values(matrix))[1]
    np.testing.assert_allclose(values, np.minimum(np.linalg.svd(matrix)[1], 1))
