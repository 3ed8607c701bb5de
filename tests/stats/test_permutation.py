"""Swapping two metrics' scores at random (PERM-BOTH), against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stats.made_scores import Array, clustered_scores, made_scores, naive_p, signs_of

from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.permutation import (
    permutation_both_pearson,
    permutation_both_pearson_of_means,
    permutation_of_outcomes,
)
from nlgauge.stats.resampling import unit_numbers


def test_all_pairs_at_once_equal_the_definition() -> None:
    scores, human = made_scores()
    result = permutation_both_pearson(scores, human, resamples=300, seed=7)
    signs = signs_of(human.size, 300, 7)

    def r(values: Array) -> float:
        return correlate(values, human).value

    assert result.correlations == pytest.approx([r(row) for row in scores])
    for i in range(3):
        for j in range(3):
            if i == j:
                assert np.isnan(result.p_values[i, j])
            else:
                assert result.p_values[i, j] == naive_p(scores[i], scores[j], r, signs)
    assert result.p_values[0, 2] < 0.05 < result.p_values[2, 0]


def test_grouped_correlations_equal_the_definition() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat([4, 9, 2, 7, 5], [12, 5, 1, 8, 6])
    order = np.argsort(groups, kind="stable")  # draws go to rows in the order of groups
    groups = groups[order]
    human = rng.integers(0, 5, size=groups.size).astype(float)
    human[groups == 7] = 3.0  # says nothing
    scores = human + rng.normal(size=(3, groups.size)) * np.array([[0.6], [1.0], [2.0]])

    def r(values: Array) -> float:
        return float(np.mean([correlate(values[groups == g], human[groups == g]).value for g in (4, 5, 9)]))

    result = permutation_both_pearson(scores, human, groups=groups, resamples=200, seed=3)
    assert result.correlations == pytest.approx([r(row) for row in scores])
    signs = signs_of(human.size, 200, 3)
    for i, j in ((0, 1), (1, 0), (0, 2), (1, 2)):
        assert result.p_values[i, j] == naive_p(scores[i], scores[j], r, signs)


def test_system_level_equals_the_definition() -> None:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=6)
    cube = quality[:, None] + rng.normal(size=(3, 6, 40)) * np.array([1.0, 3.0, 6.0])[:, None, None]

    def r(values: Array) -> float:
        return correlate(values.mean(axis=1), quality).value

    result = permutation_both_pearson_of_means(cube, quality, resamples=200, seed=11)
    assert result.correlations == pytest.approx([r(metric) for metric in cube])
    signs = signs_of(6 * 40, 200, 11)
    for i, j in ((0, 1), (0, 2), (2, 1)):
        assert result.p_values[i, j] == naive_p(cube[i], cube[j], r, signs)


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=300)
    groups = np.arange(300) // 7
    whole = permutation_both_pearson(scores, human, groups=groups, resamples=70, seed=1)
    monkeypatch.setattr("nlgauge.stats.permutation._ROWS", 16)
    pieces = permutation_both_pearson(scores, human, groups=groups, resamples=70, seed=1)
    assert np.array_equal(whole.p_values, pieces.p_values, equal_nan=True)


def test_a_seed_names_the_draws_and_scale_does_not_matter() -> None:
    scores, human = made_scores(rows=60)
    first = permutation_both_pearson(scores, human, seed=1).p_values
    assert np.array_equal(first, permutation_both_pearson(scores, human, seed=1).p_values, equal_nan=True)
    assert not np.array_equal(first, permutation_both_pearson(scores, human, seed=2).p_values, equal_nan=True)
    scaled = scores * np.array([[1.0], [50.0], [0.01]]) + 4
    assert np.array_equal(first, permutation_both_pearson(scaled, human, seed=1).p_values, equal_nan=True)


def test_equal_metrics_are_never_significant_and_add_one_avoids_zero() -> None:
    scores, human = made_scores(rows=200)
    twice = permutation_both_pearson([scores[0], scores[0] * 2 + 1], human, resamples=100)
    assert twice.p_values[0, 1] == twice.p_values[1, 0] == 1
    noise = np.random.default_rng(99).normal(size=200)
    plain = permutation_both_pearson([scores[0], noise], human, resamples=99)
    kept = permutation_both_pearson([scores[0], noise], human, resamples=99, add_one=True)
    assert plain.p_values[0, 1] == 0
    assert kept.p_values[0, 1] == 0.01


def test_p_values_are_uniform_when_the_metrics_are_equally_good() -> None:
    small = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=50)
        scores = human + rng.normal(size=(2, 50))
        small += bool(permutation_both_pearson(scores, human, resamples=200).p_values[0, 1] <= 0.1)
    assert 3 <= small <= 20  # expected 10 of 100; beyond these bounds with a chance of one in a thousand


@pytest.mark.parametrize(
    ("scores", "human", "message"),
    [
        ([[1, 1, 1], [1, 2, 3]], [1, 2, 3], "metric 0 is constant"),
        ([[1, 2, 3], [1, float("nan"), 3]], [1, 2, 3], "metric 1 has nan at index 1"),
        ([[1, 2, 3], [3, 1, 2]], [1, 1, 1], "human scores are constant"),
        ([[1, 2, 3], [3, 1, 2]], [1, 2, float("inf")], "human needs finite"),
        ([[1, 2, 3]], [1, 2, 3], "2 or more metrics"),
        ([[1, 2], [2, 1]], [1, 2, 3], "2 or more metrics x 3 rows"),
    ],
)
def test_perm_both_refuses_invalid_input(scores: list[list[float]], human: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        permutation_both_pearson(scores, human)


def test_a_metric_constant_in_every_group_is_named() -> None:
    with pytest.raises(InputError, match="metric 1 is constant wherever"):
        permutation_both_pearson([[1, 2, 5, 3], [1, 1, 2, 2]], [1, 2, 1, 2], groups=[0, 0, 1, 1])


def test_whole_documents_are_swapped() -> None:
    scores, human = made_scores(rows=60)
    documents = np.random.default_rng(4).integers(0, 12, size=60)
    groups = np.repeat([0, 1, 2], 20)
    numbers = unit_numbers(documents, 60)
    signs = signs_of(12, 200, 7)[numbers]

    def r(values: Array) -> float:
        return correlate(values, human).value

    def mean_r(values: Array) -> float:
        return float(np.mean([correlate(values[groups == g], human[groups == g]).value for g in range(3)]))

    for of, statistic in ((None, r), (groups, mean_r)):
        result = permutation_both_pearson(scores, human, groups=of, clusters=documents, resamples=200, seed=7)
        for i, j in ((0, 1), (1, 0), (1, 2)):
            assert result.p_values[i, j] == naive_p(scores[i], scores[j], statistic, signs)


def test_a_document_for_each_row_changes_no_bit() -> None:
    scores, human = made_scores()
    plain, single = (
        permutation_both_pearson(scores, human, clusters=clusters, resamples=100) for clusters in (None, range(120))
    )
    assert plain.p_values.tobytes() == single.p_values.tobytes()
    assert plain.correlations.tobytes() == single.correlations.tobytes()


def test_rows_of_a_document_make_the_test_too_eager_and_documents_do_not() -> None:
    """Both metrics are equally good: either should lead at p <= .05 in one of twenty sets, so one of both in ten."""
    result = {"rows": 0, "documents": 0}
    for seed in range(200):
        scores, human, documents = clustered_scores(seed)
        for name, clusters in (("rows", None), ("documents", documents)):
            p_values = permutation_both_pearson(scores, human, clusters=clusters, resamples=150, seed=seed).p_values
            result[name] += bool(np.nanmin(p_values) <= 0.05)
    assert result["documents"] <= 35  # 20 expected; 35 is 3.5 standard deviations above
    assert result["rows"] >= 90


def test_outcomes_of_a_document_are_swapped_together() -> None:
    rng = np.random.default_rng(6)
    right, weights, documents = rng.random((2, 50)) < [[0.7], [0.5]], rng.random(50), rng.integers(0, 9, size=50)
    result = permutation_of_outcomes(right, weights, clusters=documents, resamples=300, seed=2)
    signs = signs_of(9, 300, 2)[unit_numbers(documents, 50)]
    difference = weights * (right[0].astype(float) - right[1])
    assert result.p_values[0, 1] == np.mean(signs.T @ difference >= difference.sum() - 1e-12)
