"""What score tables look like, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.compare.made_scores import table

from nlgauge.studies.compare.rankings import count_wins
from nlgauge.studies.compare.systems import diagnose, outlier_share

VALUES = np.array([[1.0, 2.0, 2.0], [4.0, 3.0, 5.0]])


def test_by_hand() -> None:
    result = diagnose(table(VALUES), count_wins(VALUES))
    assert result.ties == pytest.approx(1 / 6), "one of three pairs on one of two instances"
    assert result.instance_deviation == pytest.approx((np.sqrt(1 / 3) + 1) / 2)
    assert result.difficulty_deviation == pytest.approx((4 - 5 / 3) / np.sqrt(2))
    # Ranks: 3, 1.5, 1.5 and 2, 3, 1.
    expected = {"a": np.sqrt(0.5), "b": 1.5 / np.sqrt(2), "c": 0.5 / np.sqrt(2)}
    assert result.rank_deviations == pytest.approx(expected)


def test_outliers_lie_beyond_one_and_a_half_interquartile_ranges() -> None:
    # Quartiles 2 and 4, so outliers are below -1 and above 7.
    assert outlier_share(np.array([1.0, 2.0, 3.0, 4.0, 7.0])) == 0
    assert outlier_share(np.array([1.0, 2.0, 3.0, 4.0, 7.1])) == 0.2
    assert outlier_share(np.array([-1.1, 2.0, 3.0, 4.0, 4.0])) == 0.2


def test_one_system_and_one_instance_have_no_deviations() -> None:
    first = diagnose(table(VALUES[:, :1]), count_wins(VALUES[:, :1]))
    assert (first.instance_deviation, first.ties, first.rank_deviations) == (None, 0.0, {})
    row = diagnose(table(VALUES[:1]), count_wins(VALUES[:1]))
    assert (row.difficulty_deviation, row.rank_deviations) == (None, {})
