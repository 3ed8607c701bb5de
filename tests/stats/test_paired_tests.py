"""Tests between two systems, with scipy as an oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nlgauge.stats.paired_tests import centred_p, mood, paired_t, sign_test, t_statistics, wilcoxon

RNG = np.random.default_rng(7)
SMALL = RNG.normal(0.3, size=(12, 4))
LARGE = RNG.normal(0.1, size=(200, 4))
TIED = np.round(RNG.normal(0.2, size=(80, 4)), 0)


@pytest.mark.parametrize("differences", [SMALL, LARGE, TIED])
def test_t_is_that_of_scipy(differences: np.ndarray) -> None:
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert paired_t(differences, np.ones(len(differences))) == pytest.approx(expected)


@pytest.mark.parametrize("differences", [SMALL, LARGE, TIED, TIED[:20]])
def test_wilcoxon_is_that_of_scipy(differences: np.ndarray) -> None:
    expected = [stats.wilcoxon(column).pvalue for column in differences.T]
    if (differences == 0).any() and len(differences) <= 50:
        # scipy then deals out all signs anew; the normal approximation is ours.
        expected = [stats.wilcoxon(column, method="asymptotic").pvalue for column in differences.T]
    assert wilcoxon(differences)[0] == pytest.approx(expected)


@pytest.mark.parametrize("differences", [SMALL, LARGE, TIED])
def test_the_sign_test_is_scipys_binomial_test(differences: np.ndarray) -> None:
    wins, losses = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    ties = len(differences) - wins - losses
    dropped = [stats.binomtest(int(w), int(w + lost)).pvalue for w, lost in zip(wins, losses, strict=True)]
    kept = [stats.binomtest(int(max(w, lost)), len(differences)).pvalue for w, lost in zip(wins, losses, strict=True)]
    assert sign_test(wins, losses) == pytest.approx(dropped)
    assert sign_test(np.maximum(wins, losses), np.minimum(wins, losses), ties) == pytest.approx(kept)


def test_ties_that_stay_in_look_like_a_difference() -> None:
    """D4: two systems that are alike, and tie often."""
    wins, losses, ties = np.array([10]), np.array([10]), np.array([80])
    assert sign_test(wins, losses)[0] == 1
    assert sign_test(wins, losses, ties)[0] < 1e-10


@pytest.mark.parametrize("digits", [0, 3])
def test_mood_is_that_of_scipy(digits: int) -> None:
    first, second = (np.round(RNG.normal(size=(60, 5)) + shift, digits) for shift in (0.4, 0))
    expected = [stats.median_test(a, b).pvalue for a, b in zip(first.T, second.T, strict=True)]
    assert mood(first, second)[0] == pytest.approx(expected)


def test_equal_columns_have_p_1_in_every_test() -> None:
    none = np.zeros((20, 2))
    constant = np.full((20, 2), 3.0)
    assert paired_t(none, np.ones(20)).tolist() == [1, 1]
    assert wilcoxon(none)[0].tolist() == [1, 1]
    assert sign_test(np.array([0]), np.array([0])).tolist() == [1]
    assert mood(constant, constant)[0].tolist() == [1, 1]
    assert centred_p(none, np.zeros(2)).tolist() == [1, 1]


def test_a_constant_difference_leaves_no_doubt() -> None:
    shifted = np.full((20, 1), 0.1) + 0.2
    assert paired_t(shifted, np.ones(20)).tolist() == [0]
    assert t_statistics(shifted, np.ones(20))[1].tolist() == [0]


def test_the_error_of_documents_is_that_of_a_ratio() -> None:
    """By hand: documents of 1 and 3 instances with sums 2 and 3, mean 5/4, residuals 3/4 and -3/4."""
    means, errors = t_statistics(np.array([[2.0], [3.0]]), np.array([1.0, 3.0]))
    assert means.tolist() == [1.25]
    assert errors.tolist() == pytest.approx([np.sqrt(2 * (0.75**2 + 0.75**2)) / 4])


def test_p_from_draws_counts_the_observation_too() -> None:
    draws = np.array([[0.5], [1.0], [1.5], [3.0]])
    assert centred_p(draws, np.array([1.0])).tolist() == [2 / 5], "3 is 2 away from 1"
