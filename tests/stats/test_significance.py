"""Tests between two correlations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.stats import (
    bonferroni,
    bootstrap_correlations,
    correlate,
    correlation_interval,
    holm,
    paired_bootstrap,
    pearson,
    permutation_both,
    permutation_both_pearson,
    permutation_both_pearson_of_means,
    swap_signs,
    williams,
)

Array = NDArray[np.float64]


def made_scores(metrics: int = 3, rows: int = 120, seed: int = 0) -> tuple[Array, Array]:
    """Metrics that follow people less and less."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=rows)
    noise = rng.normal(size=(metrics, rows)) * np.linspace(0.5, 2, metrics)[:, None]
    return 3 + 7 * (human + noise), human


# --- Williams


def test_williams_of_given_correlations() -> None:
    # The specification's check value for (.65, .55, .3, n = 50).
    found = williams(0.65, 0.55, 0.3, 50)
    assert found.t == pytest.approx(0.81608, abs=5e-6)
    assert found.p_value == pytest.approx(0.20929, abs=5e-6)
    assert found.df == 47


def test_williams_on_released_wmt15_scores(data_folder: Path) -> None:
    # BERTScore F1 beside BLEU on WMT15 de-en: r = .722091 and .536782, between them .748106, t = 8.3514.
    path = data_folder / "wmt15" / "15_de-en_formated.json"
    if not path.is_file():
        pytest.skip("NLGAUGE_DATA has no wmt15/15_de-en_formated.json")
    scores = [item["system"]["wmt15"]["scores"] for item in json.loads(path.read_text(encoding="utf-8")).values()]
    human, bert, bleu = (
        np.array([np.ravel(row[name])[0] for row in scores], dtype=float)
        for name in ("human", "bert_score_f1", "bleu")
    )
    first, second, between = (pearson(a, b).value for a, b in ((bert, human), (bleu, human), (bert, bleu)))
    assert (first, second, between) == pytest.approx((0.722091, 0.536782, 0.748106), abs=1e-6)
    found = williams(first, second, between, len(human))
    assert found.t == pytest.approx(8.3514, abs=1e-4)
    assert found.p_value == pytest.approx(3.4e-16, rel=0.02)


def test_williams_is_one_sided() -> None:
    up, down = williams(0.6, 0.5, 0.7, 80), williams(0.5, 0.6, 0.7, 80)
    assert up.t == pytest.approx(-down.t)
    assert up.p_value + down.p_value == pytest.approx(1)
    assert williams(0.5, 0.5, 1.0, 10).p_value == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2, 0.5, 0.3, 50), "first must be"),
        ((0.5, float("nan"), 0.3, 50), "second must be"),
        ((0.5, 0.4, 0.3, 3), "at least 4"),
        ((0.99, -0.99, 0.9, 50), "no three lists"),
    ],
)
def test_williams_refuses(arguments: tuple[float, float, float, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        williams(*arguments)


# --- corrections


def test_corrections_by_hand() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]
    assert bonferroni(p_values) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    # Sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, made monotone: .02 .03 .06 .06
    # (R: p.adjust(c(.01, .04, .03, .005), "holm")).
    assert holm(p_values) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).max() == 1
    with pytest.raises(InputError, match=r"1\.5 at index 1"):
        holm([0.1, 1.5])


# --- PERM-BOTH


def naive(a: Array, b: Array, statistic: Callable[[Array], float], swaps: Array) -> float:
    """The definition, draw by draw; `swaps` is rows x draws."""
    z = [(scores - scores.mean()) / scores.std() for scores in (a, b)]
    delta = statistic(z[0]) - statistic(z[1])
    reached = 0
    for swap in swaps.T.reshape(-1, *a.shape) < 0:
        swapped = [np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1])]
        reached += statistic(swapped[0]) - statistic(swapped[1]) >= delta - 1e-12
    return reached / swaps.shape[1]


def signs_of(rows: int, draws: int, seed: int) -> Array:
    return np.concatenate(list(swap_signs(rows, draws, seed)))


def test_all_pairs_at_once_equal_the_definition() -> None:
    scores, human = made_scores()
    found = permutation_both_pearson(scores, human, resamples=300, seed=7)
    signs = signs_of(human.size, 300, 7)

    def r(values: Array) -> float:
        return pearson(values, human).value

    assert found.correlations == pytest.approx([r(row) for row in scores])
    for i in range(3):
        for j in range(3):
            if i == j:
                assert np.isnan(found.p_values[i, j])
            else:
                assert found.p_values[i, j] == naive(scores[i], scores[j], r, signs)
                alone = permutation_both(scores[i], scores[j], r, resamples=300, seed=7)
                assert alone.p_value == found.p_values[i, j]
                assert alone.delta == pytest.approx(found.correlations[i] - found.correlations[j])
    assert found.p_values[0, 2] < 0.05 < found.p_values[2, 0]


def test_grouped_correlations_equal_the_definition() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat([4, 9, 2, 7, 5], [12, 5, 1, 8, 6])
    order = np.argsort(groups, kind="stable")  # draws go to rows in the order of groups
    groups = groups[order]
    human = rng.integers(0, 5, size=groups.size).astype(float)
    human[groups == 7] = 3.0  # says nothing
    scores = human + rng.normal(size=(3, groups.size)) * np.array([[0.6], [1.0], [2.0]])

    def r(values: Array) -> float:
        return float(np.mean([pearson(values[groups == g], human[groups == g]).value for g in (4, 5, 9)]))

    found = permutation_both_pearson(scores, human, groups=groups, resamples=200, seed=3)
    assert (found.groups, found.skipped) == (3, 2)
    assert found.correlations == pytest.approx([r(row) for row in scores])
    signs = signs_of(human.size, 200, 3)
    for i, j in ((0, 1), (1, 0), (0, 2), (1, 2)):
        assert found.p_values[i, j] == naive(scores[i], scores[j], r, signs)


def test_system_level_equals_the_definition() -> None:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=6)
    cube = quality[:, None] + rng.normal(size=(3, 6, 40)) * np.array([1.0, 3.0, 6.0])[:, None, None]

    def r(values: Array) -> float:
        return pearson(values.mean(axis=1), quality).value

    found = permutation_both_pearson_of_means(cube, quality, resamples=200, seed=11)
    assert found.correlations == pytest.approx([r(metric) for metric in cube])
    signs = signs_of(6 * 40, 200, 11)
    for i, j in ((0, 1), (0, 2), (2, 1)):
        assert found.p_values[i, j] == naive(cube[i], cube[j], r, signs)


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=300)
    groups = np.arange(300) // 7
    whole = permutation_both_pearson(scores, human, groups=groups, resamples=70, seed=1)
    monkeypatch.setattr("nlgauge.stats.permutation._ROWS", 16)
    pieces = permutation_both_pearson(scores, human, groups=groups, resamples=70, seed=1)
    assert np.array_equal(whole.p_values, pieces.p_values, equal_nan=True)


def test_a_seed_names_the_draws_and_scale_does_not_matter() -> None:
    scores, human = made_scores(rows=60)
    one = permutation_both_pearson(scores, human, seed=1).p_values
    assert np.array_equal(one, permutation_both_pearson(scores, human, seed=1).p_values, equal_nan=True)
    assert not np.array_equal(one, permutation_both_pearson(scores, human, seed=2).p_values, equal_nan=True)
    scaled = scores * np.array([[1.0], [50.0], [0.01]]) + 4
    assert np.array_equal(one, permutation_both_pearson(scaled, human, seed=1).p_values, equal_nan=True)


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
def test_perm_both_refuses(scores: list[list[float]], human: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        permutation_both_pearson(scores, human)


def test_a_metric_constant_in_every_group_is_named() -> None:
    with pytest.raises(InputError, match="metric 1 is constant wherever"):
        permutation_both_pearson([[1, 2, 5, 3], [1, 1, 2, 2]], [1, 2, 1, 2], groups=[0, 0, 1, 1])


# --- bootstrap


def test_bootstrap_of_pearson_equals_correlating_each_resample(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=40)
    found = bootstrap_correlations(scores, human, resamples=50, seed=5)
    rows = np.random.default_rng(5).integers(0, 40, size=(50, 40))
    expected = [[pearson(metric[row], human[row]).value for metric in scores] for row in rows]
    assert found.draws == pytest.approx(np.array(expected))
    monkeypatch.setattr("nlgauge.stats.correlation_bootstrap._CELLS", 130)
    assert bootstrap_correlations(scores, human, resamples=50, seed=5).draws == pytest.approx(found.draws)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_clear_difference_is_found_and_a_copy_is_not(kind: str) -> None:
    scores, human = made_scores(rows=150)
    found = paired_bootstrap(scores[0], scores[2], human, kind=kind, resamples=200)
    observed = [correlate(row, human, kind=kind).value for row in scores]
    assert found.delta == pytest.approx(observed[0] - observed[2])
    assert found.p_value < 0.05
    assert 0 < found.low < found.delta < found.high
    assert paired_bootstrap(scores[0], scores[0], human, kind=kind, resamples=50).p_value == 1


def test_the_interval_of_r_is_near_fishers() -> None:
    rng = np.random.default_rng(8)
    human = rng.normal(size=800)
    metric = human + rng.normal(size=800)
    found = correlation_interval(metric, human, resamples=2000)
    fisher = np.tanh(np.arctanh(found.value) + np.array([-1.96, 1.96]) / np.sqrt(797))
    assert (found.low, found.high) == pytest.approx(tuple(fisher), abs=0.01)
    assert found.undefined == 0


def test_resamples_without_a_value_are_counted() -> None:
    found = correlation_interval([1, 2, 4], [1, 2, 3], resamples=400)
    # A resample of three rows repeats one row three times with probability 3/27.
    assert found.undefined == pytest.approx(400 / 9, rel=0.4)
    assert np.isfinite([found.low, found.high]).all()


def test_bootstrap_refuses() -> None:
    with pytest.raises(InputError, match="metric is constant"):
        correlation_interval([1, 1, 1], [1, 2, 3])
    with pytest.raises(InputError, match="equal length"):
        paired_bootstrap([1, 2], [1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="level"):
        correlation_interval([1, 2, 3], [1, 2, 3], level=2)
