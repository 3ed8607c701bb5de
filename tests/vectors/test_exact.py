"""Exact transport: marginals, optimality against an LP solver, and the edge cases that hurt the peers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from nlgauge.errors import InputError
from nlgauge.vectors.transport import exact_transport, normalise_weights, squared_distances

quick = settings(max_examples=60, deadline=None)


@st.composite
def problems(draw: st.DrawFn, most: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    a, b = rng.random(rows), rng.random(columns)
    if draw(st.booleans()) and rows > 1:
        a[0] = 0.0  # a point without mass
    return a, b, rng.random((rows, columns))


def by_linear_programme(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> float:
    rows, columns = cost.shape
    sums = np.zeros((rows + columns, rows * columns))
    for i in range(rows):
        sums[i, i * columns : (i + 1) * columns] = 1
    for j in range(columns):
        sums[rows + j, j::columns] = 1
    result = linprog(cost.ravel(), A_eq=sums, b_eq=np.concatenate([a / a.sum(), b / b.sum()]), method="highs")
    assert result.success
    return float(result.fun)


@quick
@given(problem=problems())
def test_the_plan_is_a_plan_and_no_other_is_cheaper(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    a, b, cost = problem
    plan = exact_transport(a, b, cost)
    assert (plan.flow >= 0).all()
    np.testing.assert_allclose(plan.flow.sum(axis=1), a / a.sum(), atol=1e-12)
    np.testing.assert_allclose(plan.flow.sum(axis=0), b / b.sum(), atol=1e-12)
    assert plan.cost == pytest.approx((plan.flow * cost).sum())
    assert plan.cost == pytest.approx(by_linear_programme(a, b, cost), abs=1e-9)


@quick
@given(problem=problems(), seed=st.integers(0, 100))
def test_symmetry_and_permutation(problem: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int) -> None:
    a, b, cost = problem
    value = exact_transport(a, b, cost).cost
    assert exact_transport(b, a, cost.T).cost == pytest.approx(value, abs=1e-12)
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(a)), rng.permutation(len(b))
    assert exact_transport(a[i], b[j], cost[np.ix_(i, j)]).cost == pytest.approx(value, abs=1e-12)


@quick
@given(seed=st.integers(0, 10_000))
def test_triangle_inequality_for_a_metric_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clouds = [(rng.normal(size=(rng.integers(1, 8), 3))) for _ in range(3)]
    weights = [rng.random(len(cloud)) + 0.01 for cloud in clouds]

    def distance(i: int, j: int) -> float:
        return exact_transport(weights[i], weights[j], np.sqrt(squared_distances(clouds[i], clouds[j]))).cost

    assert distance(0, 2) <= distance(0, 1) + distance(1, 2) + 1e-9
    assert distance(0, 0) == pytest.approx(0.0, abs=1e-7)


def test_sums_that_differ_in_the_last_bits_are_no_difference() -> None:
    """POT 93 and 190: uniform float32 weights of 49 and 77 points were called infeasible."""
    rng = np.random.default_rng(0)
    a, b = np.full(49, 1 / 49, dtype=np.float32), np.full(77, 1 / 77, dtype=np.float32)
    plan = exact_transport(a, b, rng.random((49, 77)))
    np.testing.assert_allclose(plan.flow.sum(axis=1), 1 / 49, atol=1e-9)


def test_many_points_without_mass() -> None:
    """pyemd 57: zero-mass bins never returned."""
    a, b = np.zeros(30), np.zeros(40)
    a[[3, 7]], b[[0, 39]] = 1, 2
    cost = np.random.default_rng(0).random((30, 40))
    plan = exact_transport(a, b, cost)
    expected = min(cost[3, 0] + cost[7, 39], cost[3, 39] + cost[7, 0]) / 2
    assert plan.cost == pytest.approx(expected)
    assert set(zip(*np.nonzero(plan.flow), strict=True)) <= {(3, 0), (3, 39), (7, 0), (7, 39)}


def test_the_same_problem_gives_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    a, b, cost = rng.random(25), rng.random(31), rng.random((25, 31))
    first, second = exact_transport(a, b, cost), exact_transport(a, b, cost)
    assert first.cost == second.cost
    assert np.array_equal(first.flow, second.flow)


@pytest.mark.parametrize(
    ("a", "b", "cost", "message"),
    [
        ([], [1], np.zeros((0, 1)), "a: expected a non-empty"),
        ([0, 0], [1], np.zeros((2, 1)), "a: all weights are 0"),
        ([1], [1, -1], np.zeros((1, 2)), r"b\[1\]"),
        ([1], [float("nan")], np.zeros((1, 1)), r"b\[0\]"),
        ([1, 1], [1], np.zeros((1, 2)), "cost: expected shape"),
        ([1, 1], [1, 1], np.full((2, 2), np.inf), "finite"),
    ],
)
def test_transport_refuses_invalid_input(a: list[float], b: list[float], cost: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exact_transport(a, b, cost)


def test_weights_are_normalised_in_double_precision() -> None:
    weights = normalise_weights(np.full(3, 0.1, dtype=np.float32))
    assert weights.dtype == np.float64
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
