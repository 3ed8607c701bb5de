"""Gain of an average of metrics over its better member."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.published.average_gains import Gain, ensemble_gains, standardised


def test_the_gain_is_relative_to_the_better_member() -> None:
    # By hand: a and b are uncorrelated and of equal variance, people are their sum, so that r is sqrt(1/2) for each
    # and 1 for the two together.
    a, b = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    (gain,) = ensemble_gains({"a": a, "b": b}, a + b, ["de-en"] * 4)
    assert (gain.langpair, gain.rows) == ("de-en", 4)
    assert gain.best == pytest.approx(np.sqrt(0.5), abs=1e-12)
    assert gain.ensemble == pytest.approx(1.0, abs=1e-12)
    assert gain.relative == pytest.approx(np.sqrt(2) - 1, abs=1e-12)


def test_members_that_oppose_people_have_no_gain() -> None:
    assert Gain("de-en", 0.2, -0.1, "a", 5).relative is None


def test_scores_that_cannot_be_standardised_are_errors() -> None:
    with pytest.raises(InputError, match="all 3 scores of chrf are 5, so it cannot be standardised"):
        standardised(np.full(3, 5.0), name="chrf")
    with pytest.raises(InputError, match="score 1 of chrf is missing"):
        standardised(np.array([1.0, np.nan, 2.0]), name="chrf")
    with pytest.raises(InputError, match="no score of chrf"):
        standardised(np.array([]), name="chrf")
    with pytest.raises(InputError, match="at least two metrics, got 1"):
        ensemble_gains({"a": np.arange(3.0)}, np.arange(3.0), ["en"] * 3)
    members = {name: np.arange(3.0) for name in "ab"}
    with pytest.raises(InputError, match="en has 1 rows, but a correlation needs at least 2"):
        ensemble_gains(members, np.arange(3.0), ["de", "de", "en"])
