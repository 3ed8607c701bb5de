"""Wilcoxon's test for many pairs is scipy's for each of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon as of_scipy

from nlgauge.stats.paired_tests import wilcoxon


@pytest.mark.parametrize("n", [1, 2, 5, 12, 48, 50, 51, 200])
@pytest.mark.parametrize("kind", ["continuous", "ties", "zeros"])
def test_signed_rank_equals_scipy(n: int, kind: str) -> None:
    rng = np.random.default_rng([n, len(kind)])
    differences = rng.normal(0.3, 1, (n, 40))
    if kind != "continuous":
        differences = np.round(differences, 1) + (0.05 if kind == "ties" else 0)
    expected = []
    for column in differences.T:
        if not column.any():
            expected.append(1.0)
            continue
        # The choice of scipy's own default, written out, because it has changed between versions.
        exact = n <= 50 and (column != 0).all() and np.unique(np.abs(column)).size == n
        expected.append(of_scipy(column, method="exact" if exact else "asymptotic").pvalue)
    assert wilcoxon(differences)[0] == pytest.approx(expected, abs=1e-12)


def test_equal_scores_give_p_of_one() -> None:
    assert wilcoxon(np.zeros((6, 3)))[0].tolist() == [1, 1, 1]
