"""Solvers by name, and the size that a problem may have."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import RecipeError, TooLongError
from nlgauge.vectors.transport import check_size, exact_transport, regularisation, sinkhorn_transport, solve


def test_each_name_is_its_solver() -> None:
    rng = np.random.default_rng(2)
    a, b, costs = rng.random(9), rng.random(7), rng.random((9, 7))
    exact = solve("exact", a, b, costs)
    assert exact.cost == exact_transport(a, b, costs).cost
    soft = solve("sinkhorn-0.1", a, b, costs)
    expected = sinkhorn_transport(a, b, costs, regularisation=0.1)
    assert (soft.cost, soft.converged) == (expected.cost, True)
    assert solve("relaxed", a, b, costs).cost < exact.cost < soft.cost


@pytest.mark.parametrize(
    "name", ["sinkhorn", "sinkhorn-", "sinkhorn-0", "sinkhorn--1", "sinkhorn-nan", "sinkhorn-inf"]
)
def test_a_regularisation_is_a_number_above_0(name: str) -> None:
    with pytest.raises(RecipeError, match=f"with a number R above 0, got '{name}'"):
        regularisation(name)


def test_a_matrix_that_would_fill_the_memory_is_refused() -> None:
    check_size(8192, 8192, what="transport", instead="")
    says = r"transport of 20000 x 20000 points needs a matrix of 3\.2 GB .*\(8,192 x 8,192\): use a bound"
    with pytest.raises(TooLongError, match=says):
        check_size(20_000, 20_000, what="transport", instead="use a bound")
