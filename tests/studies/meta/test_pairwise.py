"""Agreement on pairs: acc_eq, soft pairwise accuracy and differences within a segment."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from tests.studies.meta.made_tables import NAN, Array, tables

from nlgauge.errors import InputError
from nlgauge.studies.meta.pairwise import (
    calibration_curve,
    outcome_pairs,
    pairwise_difference_pearson,
    pairwise_p_values,
    soft_pairwise_accuracies,
    tie_calibrated_accuracy,
)


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
    scores = metric
    if math.isnan(naive_accuracy(metric, human, 0)):
        with pytest.raises(InputError, match=r"no segment has two|all human scores are missing"):
            tie_calibrated_accuracy(scores, human)
        return
    candidates = sorted({0.0} | set(np.abs(metric[:, None] - metric).ravel()))
    accuracies = [naive_accuracy(metric, human, epsilon) for epsilon in candidates]
    result = tie_calibrated_accuracy(scores, human)
    assert result.value == pytest.approx(max(accuracies))
    assert naive_accuracy(metric, human, result.epsilon) == pytest.approx(max(accuracies))
    assert all(value < max(accuracies) - 1e-13 for value in accuracies[: candidates.index(result.epsilon)])
    assert result.without_ties == pytest.approx(accuracies[0])
    for epsilon in (0.5, 2.0, 99.0):
        assert tie_calibrated_accuracy(scores, human, epsilon=epsilon).value == pytest.approx(
            naive_accuracy(metric, human, epsilon)
        )


# The next three are the examples in mt-metrics-eval's tau_optimization_test.py.
def test_epsilon_zero_can_be_best() -> None:
    metric = np.array([[0, 2, 6, 8]]).T
    epsilons, accuracies = calibration_curve(outcome_pairs(metric, [[1], [2], [3], [4]]))
    assert epsilons.tolist() == [0, 2, 4, 6, 8]
    assert accuracies == pytest.approx([6 / 6, 4 / 6, 3 / 6, 1 / 6, 0])
    result = tie_calibrated_accuracy(metric, [[1], [2], [3], [4]])
    assert (result.value, result.epsilon) == (pytest.approx(1), 0)


def test_a_larger_epsilon_can_be_best() -> None:
    metric, human = np.array([[0, 2, 6, 8]]).T, [[1], [1], [1], [4]]
    _, accuracies = calibration_curve(outcome_pairs(metric, human))
    assert accuracies == pytest.approx([3 / 6, 3 / 6, 4 / 6, 4 / 6, 3 / 6])
    result = tie_calibrated_accuracy(metric, human)
    assert (result.value, result.epsilon) == (pytest.approx(4 / 6), 4)


def test_missing_scores_as_in_the_published_regression_test() -> None:
    # There a score may be missing on either side; here a missing metric score takes its human score along.
    # Row 5, which has no score at all, is left out of the average there as it is here.
    metric = np.array([[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5])
    human = np.array([[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5])
    human[np.isnan(metric)] = NAN
    epsilons, accuracies = calibration_curve(outcome_pairs(metric.T, human.T))
    assert epsilons.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert accuracies == pytest.approx(
        [0.46666667, 0.49166667, 0.38333333, 0.29166667, 0.26666667, 0.2, 0.15833333, 0.15833333, 0.11666667]
    )
    result = tie_calibrated_accuracy(metric.T, human.T)
    assert (result.value, result.epsilon, result.skipped) == (pytest.approx(59 / 120), 1, 1)


@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_a_random_metric_reaches_the_chance_level(levels: int) -> None:
    human = np.random.default_rng(1).integers(0, levels, size=(8, 2000)).astype(float)
    result = tie_calibrated_accuracy(np.random.default_rng(12345).random((8, 2000)), human)
    # People tie two random outputs with probability 1 / levels.
    expected = max(1 / levels, (1 - 1 / levels) / 2)
    assert result.human_ties == pytest.approx(1 / levels, abs=0.01)
    assert result.chance == pytest.approx(expected, abs=0.01)
    assert result.value == pytest.approx(result.chance, abs=0.01)
    held_out = tie_calibrated_accuracy(np.random.default_rng(12345).random((8, 2000)), human, epsilon=0.3)
    assert held_out.value == pytest.approx(held_out.chance, abs=0.01)
    assert not held_out.calibrated


def test_a_constant_metric_ties_everything() -> None:
    human = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    result = tie_calibrated_accuracy(np.ones((3, 2)), human)
    assert result.metric_ties == 1
    assert result.value == pytest.approx(result.human_ties)


def test_epsilon_must_be_a_distance() -> None:
    with pytest.raises(InputError, match=r"epsilon must be .* got -1"):
        tie_calibrated_accuracy(np.eye(2), np.eye(2), epsilon=-1)


@pytest.mark.parametrize(("epsilon", "published"), [(0.0, 0.6), (2.0, 0.4), (None, 0.7)])
def test_values_of_the_published_unit_tests(epsilon: float | None, published: float) -> None:
    # mt-metrics-eval, stats_test.py: testKendallVariants (acc23) and testKendallWithTiesOpt.
    metric, human = np.array([[2, 1, 1.5, 5, 3]]).T, np.array([[1, 2, 2, 3, 4]]).T
    assert tie_calibrated_accuracy(metric, human, epsilon=epsilon).value == pytest.approx(published)


def made_systems(seed: int = 0, systems: int = 5, segments: int = 60) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    human = np.linspace(0, 1, systems)[:, None] + rng.normal(size=(systems, segments))
    return human, human + rng.normal(size=human.shape)


def test_p_values_equal_the_definition_with_the_published_draws() -> None:
    human, _ = made_systems()
    # mt-metrics-eval's pce.py: numpy's default_rng(4), float32 uniforms rounded to 0 or 1, as signs.
    signs = 2 * np.rint(np.random.default_rng(4).random(size=(1000, 60), dtype=np.float32)) - 1
    result = pairwise_p_values(human[None])[0]
    for i, j in itertools.product(range(5), repeat=2):
        if i < j:
            difference = human[i] - human[j]
            assert result[i, j] == np.mean((signs * difference).sum(axis=1) >= difference.sum())
        else:
            assert math.isnan(result[i, j])


def test_draws_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    human, scores = made_systems(segments=37)
    whole = soft_pairwise_accuracies({"m": scores}, human)[0]
    monkeypatch.setattr("nlgauge.stats.numeric.BLOCK_CELLS", 37 * 11)
    assert soft_pairwise_accuracies({"m": scores}, human)[0] == whole


def test_the_example_of_the_published_code() -> None:
    # pce.py explains itself with these five segments: system A leads by .6 everywhere, so among all 32 sign
    # vectors only the one that flips nothing reaches the observed difference; rounding must not hide it.
    a, b = [0.8, 0.9, 0.7, 1.0, 0.6], [0.2, 0.3, 0.1, 0.4, 0.0]
    p = pairwise_p_values([[a, b]], resamples=20_000)[0, 0, 1]
    assert p == pytest.approx(1 / 32, abs=0.004)


def test_soft_accuracy_of_human_scores_is_1_and_of_reversed_scores_is_0() -> None:
    human, scores = made_systems()
    itself, noisy, reverse = soft_pairwise_accuracies({"h": human, "m": scores, "r": -human}, human)
    assert itself.value == 1
    assert 0.5 < noisy.value < 1
    assert reverse.value < 0.5
    assert (itself.pairs, itself.segments, itself.unjudged) == (10, 60, 0)


def test_only_segments_judged_for_all_systems_count() -> None:
    human, scores = made_systems()
    gaps = human.copy()
    gaps[2, [3, 7]] = NAN
    result = soft_pairwise_accuracies({"m": scores}, gaps)[0]
    rest = np.delete(np.arange(60), [3, 7])
    assert result.value == soft_pairwise_accuracies({"m": scores[:, rest]}, human[:, rest])[0].value
    assert (result.segments, result.unjudged) == (58, 2)
    gaps[0] = NAN
    with pytest.raises(InputError, match="no segment was judged for every system"):
        soft_pairwise_accuracies({"m": scores}, gaps)[0]


def test_metric_with_equal_scores_has_no_soft_accuracy() -> None:
    human, scores = made_systems()
    blind = {"source": np.tile(scores[0], (5, 1))}
    with pytest.raises(InputError, match="'source' has no soft pairwise accuracy: all systems get the same"):
        soft_pairwise_accuracies(blind, human)
    (result,) = soft_pairwise_accuracies(blind, human, undefined="nan")
    assert math.isnan(result.value)
    assert result.reason == "all systems get the same scores"


def test_segments_of_a_document_are_swapped_together() -> None:
    human, scores = made_systems()
    documents = np.repeat(np.arange(12), 5)
    signs = 2 * np.rint(np.random.default_rng(4).random(size=(1000, 12), dtype=np.float32)) - 1
    result = pairwise_p_values(human[None], clusters=documents)[0]
    difference = human[1] - human[3]
    assert result[1, 3] == np.mean((signs[:, documents] * difference).sum(axis=1) >= difference.sum() - 1e-9)
    assert (
        soft_pairwise_accuracies({"m": scores}, human, documents=range(60))[0]
        == soft_pairwise_accuracies({"m": scores}, human)[0]
    )
    assert (
        soft_pairwise_accuracies({"m": scores}, human, documents=documents)[0]
        != soft_pairwise_accuracies({"m": scores}, human)[0]
    )


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
        with pytest.raises(InputError, match=r"no segment has two|all human scores are missing"):
            pairwise_difference_pearson(metric, human)
        return
    result = pairwise_difference_pearson(metric, human, undefined="nan")
    assert result.pairs == len(x) / 2
    if any(x) and any(y):
        assert result.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    else:
        assert math.isnan(result.value)
        assert "do not differ" in str(result.reason)
        with pytest.raises(InputError, match="do not differ"):
            pairwise_difference_pearson(metric, human)


def test_difference_pearson_ignores_segment_offsets() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 30))
    scores = human + rng.normal(size=human.shape)
    value = pairwise_difference_pearson(scores, human).value
    moved = scores + 100 * rng.normal(size=30)
    assert pairwise_difference_pearson(moved, human).value == pytest.approx(value)
