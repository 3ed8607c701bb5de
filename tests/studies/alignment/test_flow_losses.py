"""Losses of a flow against numpy, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.studies.alignment.flow_fit import best_rotation, constraint_loss
from nlgauge.studies.alignment.training_loop import criterion, structural_criterion

CHANCE = np.random.default_rng(0)
MOVED, TARGET = (CHANCE.normal(size=(40, 3)).astype(np.float32) for _ in range(2))


@pytest.mark.torch
def test_cross_correlation_is_pearsons() -> None:
    """Eq. 5 with the square root that print has lost (D10.4): numpy's own correlation of each column."""
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    rho = [np.corrcoef(MOVED[:, d], TARGET[:, d])[0, 1] for d in range(3)]
    moved, target = (torch.from_numpy(rows) for rows in (MOVED, TARGET))
    result = float(constraint_loss(torch, "cross-correlation", moved, moved, target))
    assert result == pytest.approx(np.mean([(item - 1) ** 2 for item in rho]), abs=1e-5)
    assert float(constraint_loss(torch, "cross-correlation", moved, 3 * target + 1, target)) == pytest.approx(
        0, abs=1e-6
    )


@pytest.mark.torch
def test_the_graph_is_kept_by_a_rotation() -> None:
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    turn = np.linalg.qr(CHANCE.normal(size=(3, 3)))[0].astype(np.float32)
    moved, target = torch.from_numpy(TARGET @ turn), torch.from_numpy(TARGET)
    assert float(constraint_loss(torch, "graph", moved, moved, target)) == pytest.approx(0, abs=1e-6)
    assert float(constraint_loss(torch, "graph", moved, torch.from_numpy(MOVED), target)) > 0.1


@pytest.mark.torch
def test_the_graph_is_that_of_cosines_by_hand() -> None:
    """Eq. 4 on vectors of length 1, as a mean (D10.11): the cosines of two words are 0, and .6 after the map."""
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    moved, target = torch.tensor([[2.0, 0.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 5.0]])
    result = float(constraint_loss(torch, "graph", moved, moved, target))
    assert result == pytest.approx((0 + 0.36 + 0.36 + 0) / 4)


@pytest.mark.torch
def test_procrustes_holds_the_rotation() -> None:
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    turn = np.linalg.qr(CHANCE.normal(size=(3, 3)))[0].astype(np.float32)
    x, y = torch.from_numpy(MOVED), torch.from_numpy(MOVED @ turn)
    rotation = best_rotation(torch, x, y)
    np.testing.assert_allclose(rotation.numpy(), turn, atol=1e-5)
    few = slice(0, 2)  # fewer rows than directions: the rotation is still that of all
    for part in (slice(None), few):
        for shift in (0, 1):
            result = constraint_loss(torch, "procrustes", x[part], y[part] + shift, y[part], rotation=rotation)
            assert float(result) == pytest.approx(shift, abs=1e-5)


def test_structure_does_not_see_a_rotation_and_sees_a_stretch() -> None:
    """Doubling a space adds log 2 to each of three singular values."""
    turn = np.linalg.qr(CHANCE.normal(size=(3, 3)))[0].astype(np.float32)
    assert structural_criterion(TARGET @ turn, TARGET) == pytest.approx(0, abs=1e-5)
    assert structural_criterion(2 * TARGET, TARGET) == pytest.approx(-3 * np.log(2) ** 2, abs=1e-4)
    assert criterion("semantic", np.full_like(TARGET, np.nan), TARGET) == -np.inf
