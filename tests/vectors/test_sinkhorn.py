"""Entropic transport: between independence and the exact plan, and honest about what does not converge."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from nlgauge.errors import RecipeError
from nlgauge.vectors.transport import exact_transport, sinkhorn_transport, squared_distances


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = (points / np.linalg.norm(points, axis=1, keepdims=True) for points in rng.normal(size=(2, 9, 6)))
    return rng.random(9), rng.random(9), squared_distances(x, y)


@pytest.mark.parametrize("seed", range(3))
def test_it_lies_between_the_exact_plan_and_the_product_of_the_marginals(seed: int) -> None:
    a, b, cost = problem(seed)
    exact = exact_transport(a, b, cost).cost
    independent = float(a @ cost @ b / (a.sum() * b.sum()))
    values = [sinkhorn_transport(a, b, cost, regularisation=reg).cost for reg in (0.01, 0.1, 1, 10, 1000)]
    assert values == sorted(values), "a larger regularisation spreads the mass more"
    assert values[0] == pytest.approx(exact, abs=2e-3)
    assert values[-1] == pytest.approx(independent, abs=2e-3)


def test_a_plan_at_rest_meets_both_marginals() -> None:
    a, b, cost = problem(5)
    plan = sinkhorn_transport(a, b, cost, regularisation=0.1)
    assert plan.converged
    np.testing.assert_allclose(plan.flow.sum(axis=1), a / a.sum(), atol=1e-7)
    np.testing.assert_allclose(plan.flow.sum(axis=0), b / b.sum(), atol=1e-7)
    assert plan.cost == pytest.approx((plan.flow * cost).sum())


@pytest.mark.heavy
def test_underflow_is_noticed_and_cured_by_logarithms() -> None:
    """exp(-1 / .001) is 0 in float64, so the plain iteration breaks down at the regularisation .001."""
    a, b, cost = problem(1)
    cost = cost + 1.0
    plain = sinkhorn_transport(a, b, cost, regularisation=0.001, stable=False)
    assert not plain.converged
    assert plain.cost < 0.5 < exact_transport(a, b, cost).cost
    stable = sinkhorn_transport(a, b, cost, regularisation=0.001)
    assert stable.cost == pytest.approx(exact_transport(a, b, cost).cost, abs=1e-2)


def test_points_without_mass_take_no_part() -> None:
    a, b, cost = problem(2)
    a[3] = 0
    plan = sinkhorn_transport(a, b, cost, regularisation=0.5)
    assert plan.flow[3].sum() == 0
    without = sinkhorn_transport(np.delete(a, 3), b, np.delete(cost, 3, axis=0), regularisation=0.5)
    assert plan.cost == pytest.approx(without.cost)


@pytest.mark.parametrize("regularisation", [0, -1, float("nan")])
def test_a_regularisation_is_positive(regularisation: float) -> None:
    with pytest.raises(RecipeError, match="above 0"):
        sinkhorn_transport([1], [1], np.ones((1, 1)), regularisation=regularisation)


def test_whoever_waits_may_end_the_iteration() -> None:
    rng = np.random.default_rng(3)
    costs = rng.random((40, 40))
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sinkhorn_transport(np.ones(40), np.ones(40), costs, regularisation=0.001, check=check)
    assert calls == 5


@pytest.mark.parametrize(("regularisation", "method"), [(0.1, "sinkhorn"), (0.001, "sinkhorn_log")])
def test_the_plan_is_that_of_pot_to_the_bit(regularisation: float, method: str) -> None:
    import ot

    rng = np.random.default_rng(4)
    costs, a, b = rng.random((12, 15)) * 2, rng.random(12), rng.random(15)
    settings = {"method": method, "numItermax": 300, "stopThr": 1e-9, "warn": False}
    expected = ot.sinkhorn(a / a.sum(), b / b.sum(), costs, regularisation, **settings)
    plan = sinkhorn_transport(a, b, costs, regularisation=regularisation, most_iterations=300, check=lambda: None)
    np.testing.assert_array_equal(plan.flow, expected)


def test_a_slow_plan_keeps_no_other_thread_waiting() -> None:
    costs = np.random.default_rng(5).random((60, 60))
    asked = 0

    def solve_another() -> None:
        nonlocal asked
        asked += 1
        other = threading.Thread(
            target=sinkhorn_transport, args=([1, 1], [1, 1], costs[:2, :2]), kwargs={"regularisation": 1}
        )
        # 50 iterations ask five times: the plain one first, then, as it does not converge, the one on logarithms.
        if asked > 5:
            other.start()
            other.join(60)
            assert not other.is_alive()

    sinkhorn_transport(np.ones(60), np.ones(60), costs, regularisation=0.005, most_iterations=50, check=solve_another)
    assert asked == 10
