"""Trimming the small masses of a flow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgauge.errors import InputError, RecipeError
from nlgauge.vectors.transport import exact_transport, trim_flow


def test_trimming_matches_hand_calculation() -> None:
    """Ten masses: k = 3, so the third smallest is the threshold and two are dropped."""
    flow = np.diag([0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.15, 0.2, 0.2, 0.2])
    result = trim_flow(flow, np.ones((10, 10)))
    assert result.cost == pytest.approx(0.97)
    assert np.count_nonzero(result.flow) == 8


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(deadline=None)  # the first call imports the solver
def test_texts_of_one_length_with_uniform_weights_lose_nothing(size: int, seed: int) -> None:
    """All masses are 1/n, so none is below the threshold (D8.5)."""
    cost = np.random.default_rng(seed).random((size, size))
    plan = exact_transport(np.ones(size), np.ones(size), cost)
    assert trim_flow(plan.flow, cost).cost == pytest.approx(plan.cost)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_trimming_never_costs_more_and_few_masses_lose_none(m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = rng.random((m, n))
    plan = exact_transport(rng.random(m) + 0.1, rng.random(n) + 0.1, cost)
    trimmed = trim_flow(plan.flow, cost)
    assert trimmed.cost <= plan.cost + 1e-12
    dropped = np.where(trimmed.flow > 0, 0.0, plan.flow)
    assert trimmed.cost + float((dropped * cost).sum()) == pytest.approx(plan.cost)
    if np.count_nonzero(plan.flow > 1e-12) < 7:  # int(0.3 * 6) = 1: the smallest is the threshold
        assert trimmed.cost == pytest.approx(plan.cost)


def test_trimming_refuses_invalid_input() -> None:
    with pytest.raises(InputError, match=r"\(2, 2\) and \(2, 3\)"):
        trim_flow(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(RecipeError, match="below 1, got 1"):
        trim_flow(np.ones((2, 2)), np.ones((2, 2)), share=1)
    assert trim_flow(np.zeros((2, 2)), np.ones((2, 2))).cost == 0
