"""Soft pairwise accuracy, tie-calibrated accuracy and pairwise-difference Pearson."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.meta import (
    MetricScores,
    calibration_curve,
    compare_tie_accuracies,
    pairwise_difference_pearson,
    pairwise_p_values,
    random_sentinel,
    soft_pairwise_accuracies,
    soft_pairwise_accuracy,
    tie_calibrated_accuracy,
)
from nlgauge.stats import swap_signs

Array = NDArray[np.float64]
NAN = math.nan

#: Two matrices of systems x segments of small integers, some human scores missing.
tables = st.tuples(st.integers(2, 5), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape, elements=st.integers(0, 6).map(float)),
        arrays(float, shape, elements=st.sampled_from([0.0, 1.0, 2.0, NAN])),
    )
)

# --- SPA


def made_systems(seed: int = 0, systems: int = 5, segments: int = 60) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    human = np.linspace(0, 1, systems)[:, None] + rng.normal(size=(systems, segments))
    return human, human + rng.normal(size=human.shape)


def test_p_values_equal_the_definition_with_the_published_draws() -> None:
    human, _ = made_systems()
    # mt-metrics-eval's pce.py: numpy's default_rng(4), float32 uniforms rounded to 0 or 1, as signs.
    signs = 2 * np.rint(np.random.default_rng(4).random(size=(1000, 60), dtype=np.float32)) - 1
    found = pairwise_p_values(human[None])[0]
    for i, j in itertools.product(range(5), repeat=2):
        if i < j:
            difference = human[i] - human[j]
            assert found[i, j] == np.mean((signs * difference).sum(axis=1) >= difference.sum())
        else:
            assert math.isnan(found[i, j])


def test_draws_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    human, scores = made_systems(segments=37)
    whole = soft_pairwise_accuracy(MetricScores("m", scores), human)
    monkeypatch.setattr("nlgauge.meta.soft_accuracy._CELLS", 37 * 11)
    assert soft_pairwise_accuracy(MetricScores("m", scores), human) == whole


def test_the_example_of_the_published_code() -> None:
    # pce.py explains itself with these five segments: system A leads by .6 everywhere, so among all 32 sign
    # vectors only the one that flips nothing reaches the observed difference; rounding must not hide it.
    a, b = [0.8, 0.9, 0.7, 1.0, 0.6], [0.2, 0.3, 0.1, 0.4, 0.0]
    p = pairwise_p_values([[a, b]], resamples=20_000)[0, 0, 1]
    assert p == pytest.approx(1 / 32, abs=0.004)


def test_people_agree_with_themselves_and_a_reversed_metric_does_not() -> None:
    human, scores = made_systems()
    itself, noisy, reverse = soft_pairwise_accuracies(
        [MetricScores("h", human), MetricScores("m", scores), MetricScores("r", -human)], human
    )
    assert itself.value == 1
    assert 0.5 < noisy.value < 1
    assert reverse.value < 0.5
    assert soft_pairwise_accuracy(MetricScores("d", -human, higher_is_better=False), human).value == 1
    assert (itself.pairs, itself.segments, itself.unjudged) == (10, 60, 0)


def test_only_segments_judged_for_all_systems_count() -> None:
    human, scores = made_systems()
    gaps = human.copy()
    gaps[2, [3, 7]] = NAN
    found = soft_pairwise_accuracy(MetricScores("m", scores), gaps)
    rest = np.delete(np.arange(60), [3, 7])
    assert found.value == soft_pairwise_accuracy(MetricScores("m", scores[:, rest]), human[:, rest]).value
    assert (found.segments, found.unjudged) == (58, 2)
    gaps[0] = NAN
    with pytest.raises(InputError, match="no segment was judged for every system"):
        soft_pairwise_accuracy(MetricScores("m", scores), gaps)


def test_a_metric_that_separates_nothing_has_no_accuracy() -> None:
    human, scores = made_systems()
    blind = MetricScores("source", np.tile(scores[0], (5, 1)))
    with pytest.raises(InputError, match="'source' has no soft pairwise accuracy: all systems get the same"):
        soft_pairwise_accuracy(blind, human)
    found = soft_pairwise_accuracy(blind, human, undefined="nan")
    assert math.isnan(found.value)
    assert found.reason == "all systems get the same scores"


# --- acc_eq


def naive_accuracy(metric: Array, human: Array, epsilon: float) -> float:
    """The definition, pair by pair; nan where no item has a pair."""
    shares = []
    for ours, theirs in zip(metric.T, human.T, strict=True):
        judged = np.flatnonzero(~np.isnan(theirs))
        right = []
        for i, j in itertools.combinations(judged, 2):
            difference = ours[i] - ours[j]
            sign = 0 if abs(difference) <= epsilon else np.sign(difference)
            right.append(sign == np.sign(theirs[i] - theirs[j]))
        if right:
            shares.append(np.mean(right))
    return float(np.mean(shares)) if shares else NAN


@given(tables)
def test_accuracy_equals_the_naive_search(pair: tuple[Array, Array]) -> None:
    metric, human = pair
    scores = MetricScores("m", metric)
    if math.isnan(naive_accuracy(metric, human, 0)):
        with pytest.raises(InputError, match=r"no segment has two|not a single"):
            tie_calibrated_accuracy(scores, human)
        return
    candidates = sorted({0.0} | set(np.abs(metric[:, None] - metric).ravel()))
    accuracies = [naive_accuracy(metric, human, epsilon) for epsilon in candidates]
    found = tie_calibrated_accuracy(scores, human)
    assert found.value == pytest.approx(max(accuracies))
    assert naive_accuracy(metric, human, found.epsilon) == pytest.approx(max(accuracies))
    assert all(value < max(accuracies) - 1e-13 for value in accuracies[: candidates.index(found.epsilon)])
    assert found.without_ties == pytest.approx(accuracies[0])
    for epsilon in (0.5, 2.0, 99.0):
        assert tie_calibrated_accuracy(scores, human, epsilon=epsilon).value == pytest.approx(
            naive_accuracy(metric, human, epsilon)
        )


# The next three are the examples in mt-metrics-eval's tau_optimization_test.py.
def test_epsilon_zero_can_be_best() -> None:
    metric = MetricScores("m", np.array([[0, 2, 6, 8]]).T)
    curve = calibration_curve(metric, [[1], [2], [3], [4]])
    assert curve.epsilons.tolist() == [0, 2, 4, 6, 8]
    assert curve.accuracies == pytest.approx([6 / 6, 4 / 6, 3 / 6, 1 / 6, 0])
    found = tie_calibrated_accuracy(metric, [[1], [2], [3], [4]])
    assert (found.value, found.epsilon) == (pytest.approx(1), 0)


def test_a_larger_epsilon_can_be_best() -> None:
    metric, human = MetricScores("m", np.array([[0, 2, 6, 8]]).T), [[1], [1], [1], [4]]
    assert calibration_curve(metric, human).accuracies == pytest.approx([3 / 6, 3 / 6, 4 / 6, 4 / 6, 3 / 6])
    found = tie_calibrated_accuracy(metric, human)
    assert (found.value, found.epsilon) == (pytest.approx(4 / 6), 4)


def test_missing_scores_as_in_the_published_regression_test() -> None:
    # There a score may be missing on either side; here a missing metric score takes its human score along.
    # Row 5, which has no score at all, is left out of the average there as it is here.
    metric = np.array([[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5])
    human = np.array([[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5])
    human[np.isnan(metric)] = NAN
    curve = calibration_curve(MetricScores("m", metric.T), human.T)
    assert curve.epsilons.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert curve.accuracies == pytest.approx(
        [0.46666667, 0.49166667, 0.38333333, 0.29166667, 0.26666667, 0.2, 0.15833333, 0.15833333, 0.11666667]
    )
    found = tie_calibrated_accuracy(MetricScores("m", metric.T), human.T)
    assert (found.value, found.epsilon, found.skipped) == (pytest.approx(0.4916666666666668), 1, 1)


@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_a_random_metric_reaches_the_chance_level(levels: int) -> None:
    human = np.random.default_rng(1).integers(0, levels, size=(8, 2000)).astype(float)
    found = tie_calibrated_accuracy(random_sentinel(8, 2000), human)
    # People tie two random outputs with probability 1 / levels.
    expected = max(1 / levels, (1 - 1 / levels) / 2)
    assert found.human_ties == pytest.approx(1 / levels, abs=0.01)
    assert found.chance == pytest.approx(expected, abs=0.01)
    assert found.value == pytest.approx(found.chance, abs=0.01)
    held_out = tie_calibrated_accuracy(random_sentinel(8, 2000), human, epsilon=0.3)
    assert held_out.value == pytest.approx(held_out.chance, abs=0.01)
    assert not held_out.calibrated


def test_a_constant_metric_ties_everything() -> None:
    human = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    found = tie_calibrated_accuracy(MetricScores("flat", np.ones((3, 2))), human)
    assert found.metric_ties == 1
    assert found.value == pytest.approx(found.human_ties)


def test_epsilon_must_be_a_distance() -> None:
    with pytest.raises(InputError, match=r"epsilon must be .* got -1"):
        tie_calibrated_accuracy(MetricScores("m", np.eye(2)), np.eye(2), epsilon=-1)


@pytest.mark.parametrize(("epsilon", "published"), [(0.0, 0.6), (2.0, 0.4), (None, 0.7)])
def test_values_of_the_published_unit_tests(epsilon: float | None, published: float) -> None:
    # mt-metrics-eval, stats_test.py: testKendallVariants (acc23) and testKendallWithTiesOpt.
    metric, human = MetricScores("m", np.array([[2, 1, 1.5, 5, 3]]).T), np.array([[1, 2, 2, 3, 4]]).T
    assert tie_calibrated_accuracy(metric, human, epsilon=epsilon).value == pytest.approx(published)


def test_compared_accuracies_equal_swapping_pair_by_pair() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(0, 4, size=(5, 40)).astype(float)
    human[2, 3] = NAN
    metrics = [
        MetricScores(f"m{k}", human + noise * rng.normal(size=human.shape)) for k, noise in enumerate((9, 1, 1.1))
    ]
    metrics = [MetricScores(m.name, np.nan_to_num(m.values)) for m in metrics]
    found = compare_tie_accuracies(metrics, human, resamples=200, seed=3)
    values = {m.name: tie_calibrated_accuracy(m, human) for m in metrics}
    assert [one.value for one in found.accuracies] == sorted((one.value for one in values.values()), reverse=True)
    comparison = found.comparison
    assert comparison.names[2] == "m0"
    assert comparison.ranks == (1, 1, 2)
    assert comparison.unbeaten == (True, True, False)
    # By the definition: right or wrong of every pair, swapped with the same signs.
    signs = np.concatenate(list(swap_signs(found.accuracies[0].pairs, 200, 3)))
    by_name = {m.name: m.values for m in metrics}
    for first, second in ((0, 1), (0, 2), (1, 2)):
        weighted = []
        for one in (found.accuracies[first], found.accuracies[second]):
            scores, right, weight = by_name[one.metric], [], []
            for i, j in itertools.combinations(range(5), 2):
                for item in np.flatnonzero(~np.isnan(human[i] - human[j])):
                    difference = scores[i, item] - scores[j, item]
                    sign = 0 if abs(difference) <= one.epsilon else np.sign(difference)
                    right.append(sign == np.sign(human[i, item] - human[j, item]))
                    judged = (~np.isnan(human[:, item])).sum()
                    weight.append(1 / math.comb(judged, 2) / 40)
            weighted.append(np.array(right) * weight)
        difference = weighted[0] - weighted[1]
        expected = np.mean(signs.T @ difference >= difference.sum() - 1e-12)
        assert comparison.p_values[first, second] == pytest.approx(expected)


# --- pairwise differences


@given(tables)
def test_difference_pearson_equals_pearson_over_formed_pairs(pair: tuple[Array, Array]) -> None:
    metric, human = pair
    x, y = [], []
    for ours, theirs in zip(metric.T, human.T, strict=True):
        judged = np.flatnonzero(~np.isnan(theirs))
        for i, j in itertools.permutations(judged, 2):
            x.append(ours[i] - ours[j])
            y.append(theirs[i] - theirs[j])
    if not x:
        with pytest.raises(InputError, match=r"no segment has two|not a single"):
            pairwise_difference_pearson(MetricScores("m", metric), human)
        return
    found = pairwise_difference_pearson(MetricScores("m", metric), human, undefined="nan")
    assert found.pairs == len(x) / 2
    if any(x) and any(y):
        assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    else:
        assert math.isnan(found.value)
        assert "do not differ" in str(found.reason)
        with pytest.raises(InputError, match="do not differ"):
            pairwise_difference_pearson(MetricScores("m", metric), human)


def test_difference_pearson_ignores_what_a_segment_adds_to_all() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 30))
    scores = human + rng.normal(size=human.shape)
    value = pairwise_difference_pearson(MetricScores("m", scores), human).value
    moved = MetricScores("m", scores + 100 * rng.normal(size=30))
    assert pairwise_difference_pearson(moved, human).value == pytest.approx(value)
