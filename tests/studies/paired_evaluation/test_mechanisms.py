"""Rankings of a frame, and the measures between them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from nlgauge.studies.paired_evaluation import (
    MECHANISMS,
    RankingOptions,
    average,
    measure_pairs,
    rank_frame,
    rank_frames,
    tau,
)

#: Figure 1 of the paper, as the released notebook has it: systems A, B, C on five instances.
FIGURE_1 = np.array([[1.0, 2, 5], [5, 6, 11], [11, 7, 12], [12, 13, 17], [17, 18, 1]])


def test_the_example_of_figure_1() -> None:
    """Expected values: the released code on the same numbers."""
    result = rank_frame(FIGURE_1, MECHANISMS, RankingOptions())
    assert result["mean"].tolist() == pytest.approx([9.2, 9.2, 9.2])
    assert result["median"].tolist() == [11, 7, 11]
    assert result["BT"].tolist() == pytest.approx([0.094191, 0.248790, 0.657019], abs=1e-6)
    assert result["Elo"].tolist() == pytest.approx([1451.937, 1501.493, 1546.570], abs=1e-3)
    assert result["TrueSkill"].tolist() == pytest.approx([22.0748, 25.7131, 28.6613], abs=1e-4)


def test_measures_equal_hand_computation() -> None:
    scores = {"mean": np.array([4.0, 3, 2, 1]), "BT": np.array([3.0, 4, 1, 2])}
    ((pair, values),) = measure_pairs(scores).items()
    assert pair == ("mean", "BT")
    # Two of six pairs are ordered differently; another system wins; the top three are {0, 1, 2} and {0, 1, 3}.
    assert values.tolist() == [[pytest.approx(1 / 3), 1, 1]]


def test_a_ranking_of_ties_is_left_out_of_the_average() -> None:
    (values,) = measure_pairs({"mean": np.array([1.0, 2]), "median": np.array([3.0, 3])}).values()
    assert np.isnan(values[0, 0])
    assert average([values, np.array([0.5, 1, 0])])[0] == 0.5
    assert np.isnan(average([values])[0])


def test_a_draw_of_all_rows_ranks_like_the_frame() -> None:
    options = RankingOptions(ties="half")
    whole = rank_frame(FIGURE_1, ("mean", "median", "BT"), options)
    drawn = rank_frames(FIGURE_1[np.array([[4, 0, 2, 1, 3], [0, 0, 0, 0, 0]])], options)
    for name, values in whole.items():
        assert drawn[name].shape == (2, 3)
        assert drawn[name][0] == pytest.approx(values, abs=1e-12)
    assert drawn["mean"][1].tolist() == [1, 2, 5]


def test_tau_equals_scipy() -> None:
    rng = np.random.default_rng(3)
    first, other = rng.integers(0, 6, (2, 20, 8)).astype(float)
    assert tau(first, other) == pytest.approx(
        [kendalltau(*pair).statistic for pair in zip(first, other, strict=True)]
    )
    assert np.isnan(tau(np.array([[1.0, 2, 3]]), np.ones((1, 3)))).all()
