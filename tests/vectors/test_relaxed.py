"""The relaxed bound: below exact transport, the same in parts, and worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import InputError
from nlgauge.vectors.transport import exact_transport, relaxed_transport


def test_relaxed_transport_matches_hand_calculation() -> None:
    """Rows go to their nearest columns for .5 * 0 + .5 * 1; columns to their nearest rows for .75 * 0 + .25 * 1."""
    result = relaxed_transport([1, 1], [3, 1], [np.array([[0.0, 2.0], [2.0, 1.0]])])
    assert (result.cost, result.rows_move) == (0.5, True)
    assert result.plan([1, 1], [3, 1]).flow.tolist() == [[0.5, 0], [0, 0.5]]
    turned = relaxed_transport([3, 1], [1, 1], [np.array([[0.0, 2.0], [2.0, 1.0]])])
    assert (turned.cost, turned.rows_move) == (0.5, False)
    assert turned.plan([3, 1], [1, 1]).flow.tolist() == [[0.5, 0], [0, 0.5]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.integers(1, 5))
def test_relaxed_cost_is_a_lower_bound_for_any_block_size(seed: int, rows: int, columns: int, step: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.random((rows, columns))
    a, b = rng.random(rows) + 0.01, rng.random(columns) + 0.01
    whole = relaxed_transport(a, b, [costs])
    parts = relaxed_transport(a, b, (costs[start : start + step] for start in range(0, rows, step)))
    assert parts.cost == whole.cost
    assert parts.column_target.tolist() == whole.column_target.tolist()
    assert whole.cost <= exact_transport(a, b, costs).cost + 1e-12
    assert np.vdot(whole.plan(a, b).flow, costs) == pytest.approx(whole.cost)


def test_a_point_without_mass_is_no_place_to_go_to() -> None:
    """The cheap column and the cheap row weigh nothing."""
    costs = np.array([[0.0, 5.0], [0.0, 0.0]])
    assert relaxed_transport([1, 0], [0, 1], [costs]).cost == 5


def test_weights_are_checked() -> None:
    with pytest.raises(InputError, match="b: all weights are 0"):
        relaxed_transport([1], [0], [np.zeros((1, 1))])
