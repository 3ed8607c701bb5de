"""Tests between systems, pooled over frames: each is scipy's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, median_test, ttest_rel, wilcoxon
from tests.studies.compare.made_scores import scores_of

from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.paired_evaluation import FrameSet, RankingOptions
from nlgauge.studies.paired_measures import TESTS, conditional_shares, find_differences


def made_frame(instances: int = 60) -> SystemScores:
    """Six systems that get better from left to right; rounded, so that some scores tie."""
    rng = np.random.default_rng(11)
    values = np.round(rng.normal(np.linspace(0.4, 0.7, 6), 0.25, (instances, 6)), 1)
    return scores_of("made", tuple("abcdef"), values)


def of_scipy(one: np.ndarray, other: np.ndarray) -> list[float]:
    """The calls of the released code: ties count in n, and are wins of the later system where the best is chosen."""
    wins, losses = int((one > other).sum()), int((one < other).sum())
    ties = len(one) - wins - losses
    best = wins if wins >= losses + ties else losses
    return [
        ttest_rel(one, other).pvalue,
        median_test(one, other)[1],
        binomtest(best, len(one), 0.5).pvalue,
        wilcoxon(one, other, method="asymptotic").pvalue,
        binomtest(wins, wins + losses, 0.5).pvalue,
    ]


def test_each_test_is_that_of_the_released_code() -> None:
    frame = made_frame()
    result = find_differences([FrameSet("made", "none", {"made": frame})], RankingOptions(full=True))
    columns = itertools.combinations(frame.values.T, 2)
    expected = [[p < 0.05 for p in of_scipy(*pair)] for pair in columns]
    assert result.tolist() == expected
    assert 0 < result.mean() < 1
    assert result.shape == (15, len(TESTS))


def test_conditional_shares_equal_hand_computation() -> None:
    result = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
    shares = conditional_shares(result)
    assert shares[0].tolist() == pytest.approx([0.75, 2 / 3, 0])
    assert shares[1].tolist() == pytest.approx([1, 0.5, 0])
    assert np.isnan(shares[2, :2]).all(), "the third test finds nothing to ask about"
    assert shares[2, 2] == 0


def test_draws_are_of_random_frames_and_rows() -> None:
    sets = [FrameSet("made", "none", {"a": made_frame(), "b": made_frame(40)})]
    first, again, other = (find_differences(sets, RankingOptions(draws=3, seed=seed)) for seed in (1, 1, 4))
    assert first.shape == (45, len(TESTS))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_a_tolerance_makes_ties() -> None:
    """All of a system's wins are in the last bits: no test finds them once they are ties."""
    rng = np.random.default_rng(2)
    base = rng.uniform(0.3, 0.6, (40, 1))
    frame = scores_of("bits", ("a", "b"), np.hstack([np.nextafter(base, 1), base]))
    sets = [FrameSet("made", "none", {"bits": frame})]
    exact, tolerant = (
        find_differences(sets, RankingOptions(full=True, ties="half", tie_tolerance=tolerance))[0]
        for tolerance in (0.0, 1e-9)
    )
    named = dict(zip(TESTS, zip(exact.tolist(), tolerant.tolist(), strict=True), strict=True))
    assert named["t"] == (True, False)
    assert named["Wilcoxon"] == (True, False)
    assert named["sign, ties out"] == (True, False)
