"""RD and CV by hand, and the paired bootstrap of an order."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from tests.stats.made_scores import clustered_scores

from nlgauge.errors import InputError
from nlgauge.stats.numeric import coefficient_of_variation, relative_difference
from nlgauge.stats.paired_tests import paired_order


def test_rd_by_hand() -> None:
    # Chen et al. 2022, section 5: (a - b) / b * 100; the base is the second.
    assert relative_difference(0.6, 0.8) == pytest.approx(-25.0, abs=1e-12)
    assert relative_difference(0.8, 0.6) == pytest.approx(100 / 3, abs=1e-9)
    assert relative_difference(-0.3, 0.6) == pytest.approx(-150.0, abs=1e-12)
    assert relative_difference(0.5, 0.5) == 0.0


def test_cv_by_hand() -> None:
    # mean .7; squared deviations .01 + 0 + .01 = .02: sd .1 (by n - 1), sqrt(.02 / 3) (by n).
    values = [0.6, 0.7, 0.8]
    assert coefficient_of_variation(values) == pytest.approx(100 * 0.1 / 0.7, abs=1e-10)
    assert coefficient_of_variation(values, ddof=0) == pytest.approx(100 * math.sqrt(0.02 / 3) / 0.7, abs=1e-10)
    assert coefficient_of_variation([0.4, 0.4]) == 0.0


def test_cv_is_that_of_the_standard_library() -> None:
    values = [0.351, 0.349, 0.338, 0.302]
    assert coefficient_of_variation(values) == pytest.approx(
        100 * statistics.stdev(values) / statistics.mean(values), rel=1e-12
    )
    assert coefficient_of_variation(values, ddof=0) == pytest.approx(
        100 * statistics.pstdev(values) / statistics.mean(values), rel=1e-12
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: relative_difference(1.0, 0.0),
        lambda: relative_difference(math.nan, 1.0),
        lambda: coefficient_of_variation([1.0]),
        lambda: coefficient_of_variation([1.0, -1.0]),
        lambda: coefficient_of_variation([1.0, 2.0], ddof=2),
        lambda: paired_order([1.0, 2.0], [1.0]),
    ],
)
def test_undefined_statistics_are_refused(call: object) -> None:
    with pytest.raises(InputError):
        call()  # type: ignore[operator]


def test_a_clear_order_holds_and_a_tie_does_not() -> None:
    rng = np.random.default_rng(1)
    low = rng.normal(size=200)
    assert paired_order(low + 0.2, low) == pytest.approx(1 / 1001)
    assert paired_order(low, low + 0.2) == 1.0
    noisy = paired_order(low, rng.permutation(low))  # equal means: about half of the resamples are on either side
    assert 0.3 < noisy < 0.7
    assert paired_order(low, low) == 1.0, "equal is not above"


def test_an_order_over_documents() -> None:
    """By hand: documents of three segments and one, whose sums are drawn, not their means."""
    result = paired_order([1.0, 1.0, 1.0, -2.0], [0.0] * 4, clusters=["a", "a", "a", "b"], resamples=400, seed=1)
    draw = np.random.default_rng(1).integers(0, 2, size=(400, 2))
    against = np.array([3.0, -2.0])[draw].sum(axis=1) <= 0
    assert result == (against.sum() + 1) / 401
    with pytest.raises(InputError, match="each of 2 values, got 3"):
        paired_order([1.0, 2.0], [1.0, 1.0], clusters="abc")


def test_rows_of_a_document_make_an_order_too_sure_and_documents_do_not() -> None:
    result = {"rows": 0, "documents": 0}
    for seed in range(200):
        (first, second), _, documents = clustered_scores(seed)
        for name, clusters in (("rows", None), ("documents", documents)):
            result[name] += paired_order(first, second, clusters=clusters, resamples=150) <= 0.05
    assert result["documents"] <= 22  # 10 of 200 expected
    assert result["rows"] >= 45
