"""Ranks of metrics by significance."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from tests.stats.made_scores import naive_p, signs_of
from tests.studies.meta.made_tables import NAN, Array

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.paired_tests import bonferroni, holm
from nlgauge.stats.permutation import swap_signs
from nlgauge.studies.meta.levels import grouped_level, segment_level, system_level
from nlgauge.studies.meta.pairwise import tie_calibrated_accuracy
from nlgauge.studies.meta.ranks import assign_ranks, compare_metrics, compare_tie_accuracies


def made_metrics(
    noise: tuple[float, ...] = (2.0, 0.6, 0.65), systems: int = 6, segments: int = 50, seed: int = 0
) -> tuple[dict[str, Array], Array]:
    rng = np.random.default_rng(seed)
    human = np.linspace(0, 1, systems)[:, None] + rng.normal(size=(systems, segments))
    metrics = {f"m{k}": human + level * rng.normal(size=human.shape) for k, level in enumerate(noise)}
    return metrics, human


def test_ranks_are_greedy_clusters() -> None:
    # Four metrics, best first. 2 is beaten by 0 only, 3 by 1 only: so 2 opens rank 2, and nobody in rank 2 beats 3.
    p = np.ones((4, 4))
    p[0, 2] = 0.01
    p[1, 3] = 0.01
    assert assign_ranks(p) == (1, 1, 2, 2)
    p[2, 3] = 0.05  # the bound itself is significant, as in mt-metrics-eval
    assert assign_ranks(p) == (1, 1, 2, 3)
    assert assign_ranks(p, alpha=0.001) == (1, 1, 1, 1)
    with pytest.raises(InputError, match="square"):
        assign_ranks(np.ones((2, 3)))


@pytest.mark.parametrize("level", ["segment", "item", "by-system", "system"])
def test_the_better_metrics_come_first(level: str) -> None:
    metrics, human = made_metrics(noise=(8.0, 0.3, 0.3), segments=200)
    result = compare_metrics(metrics, human, level=level, resamples=200)  # type: ignore[arg-type]
    assert result.names[2] == "m0"
    assert set(result.names[:2]) == {"m1", "m2"}
    assert (np.diff(result.correlations) <= 0).all()
    if level != "system":  # six systems are too few to tell there
        assert result.ranks == (1, 1, 2)
        assert result.unbeaten == (True, True, False)
    assert np.isnan(result.p_values[np.tril_indices(3)]).all()
    assert np.isfinite(result.p_values[np.triu_indices(3, 1)]).all()


@pytest.mark.parametrize("level", ["segment", "item", "by-system", "system"])
def test_fast_permutation_equals_naive_permutation(level: str) -> None:
    metrics, human = made_metrics(noise=(0.75, 0.7), segments=20)
    human[1, 4] = human[3, 4] = np.nan
    result = compare_metrics(metrics, human, level=level, resamples=100)  # type: ignore[arg-type]
    better, worse = (metrics[name] for name in result.names)
    levels = {
        "segment": segment_level,
        "item": grouped_level,
        "by-system": partial(grouped_level, by="system"),
        "system": system_level,
    }
    assert result.correlations == pytest.approx([levels[level](metric, human).value for metric in (better, worse)])
    # Draws go to outputs in the order of groups: item by item at item level, else system by system.
    where = np.ones(human.shape, dtype=bool) if level == "system" else ~np.isnan(human)
    systems, items = np.nonzero(where)
    order = np.lexsort((systems, items)) if level == "item" else np.arange(systems.size)
    places = systems[order], items[order]

    def statistic(values: Array) -> float:
        table = np.full(human.shape, np.nan)
        table[places] = values
        return levels[level](table, human).value

    slow = naive_p(better[places], worse[places], statistic, signs_of(places[0].size, 100))
    assert result.p_values[0, 1] == slow
    assert 0 < slow < 1


@pytest.mark.parametrize("level", ["segment", "item", "by-system", "system"])
@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_ranks_are_those_of_correlating_every_draw(level: str, kind: str) -> None:
    metrics, human = made_metrics(noise=(0.75, 0.7), systems=5, segments=8, seed=1)
    human = np.round(2 * human)
    human[1, 4] = human[3, 4] = np.nan
    rounded = {name: np.round(2 * values) for name, values in metrics.items()}
    messages: list[int] = []
    result = compare_metrics(rounded, human, level=level, kind=kind, resamples=40, advance=messages.append)  # type: ignore[arg-type]
    levels = {
        "segment": segment_level,
        "item": grouped_level,
        "by-system": partial(grouped_level, by="system"),
        "system": system_level,
    }
    # Draws go to outputs system by system.
    where = np.ones(human.shape, dtype=bool) if level == "system" else ~np.isnan(human)

    def statistic(values: Array) -> float:
        table = np.full(human.shape, np.nan)
        table[where] = values
        return levels[level](table, human, kind=kind, undefined="nan").value

    better, worse = (rounded[name] for name in result.names)
    slow = naive_p(better[where], worse[where], statistic, signs_of(int(where.sum()), 40))
    assert result.p_values[0, 1] == slow
    assert 0 < slow < 1
    assert messages == [1]


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_a_function_aggregates_as_its_name_does(kind: str) -> None:
    metrics, human = made_metrics(segments=9)
    named = compare_metrics(metrics, human, level="system", kind=kind, aggregate="median", resamples=40)
    called = compare_metrics(
        metrics, human, level="system", kind=kind, aggregate=lambda table: np.median(table, axis=1), resamples=40
    )
    assert np.array_equal(named.p_values, called.p_values, equal_nan=True)


@pytest.mark.parametrize("level", ["segment", "system", "item"])
@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_rank_coefficients_are_tested_too(level: str, kind: str) -> None:
    metrics, human = made_metrics(noise=(4.0, 0.2), segments=15)
    result = compare_metrics(metrics, human, level=level, kind=kind, resamples=30)  # type: ignore[arg-type]
    assert result.names == ("m1", "m0")
    if level != "system":
        assert result.p_values[0, 1] < 0.1


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "williams"])
def test_three_tests_agree_on_clear_cases(test: str) -> None:
    metrics, human = made_metrics()
    result = compare_metrics(metrics, human, test=test, resamples=300)  # type: ignore[arg-type]
    assert result.names[2] == "m0"
    assert result.p_values[0, 2] < 0.01
    assert result.p_values[0, 1] > 0.01


def test_median_is_an_aggregate() -> None:
    metrics, human = made_metrics(segments=15)
    result = compare_metrics(metrics, human, level="system", aggregate="median", resamples=20)
    values = [system_level(scores, human, aggregate="median").value for scores in metrics.values()]
    assert result.correlations == pytest.approx(sorted(values, reverse=True))


def test_official_system_scores_can_be_compared() -> None:
    metrics, human = made_metrics()
    official = human.mean(axis=1)
    whole = compare_metrics(metrics, human, level="system", resamples=100)
    result = compare_metrics(metrics, official, level="system", resamples=100)
    assert np.array_equal(result.p_values, whole.p_values, equal_nan=True)
    official[2] = np.nan
    assert compare_metrics(metrics, official, level="system", resamples=100).correlations.size == 3


def test_corrections_count_the_pairs_tested() -> None:
    metrics, human = made_metrics()
    upper = np.triu_indices(3, 1)
    raw = compare_metrics(metrics, human).p_values[upper]
    for name, function in (("bonferroni", bonferroni), ("holm", holm)):
        result = compare_metrics(metrics, human, correction=name)  # type: ignore[arg-type]
        assert result.p_values[upper] == pytest.approx(function(raw))


def test_a_metric_without_a_value_is_refused_or_named() -> None:
    metrics, human = made_metrics()
    metrics["flat"] = np.ones(human.shape)
    with pytest.raises(InputError, match="'flat' has no pearson at segment level: metric is constant"):
        compare_metrics(metrics, human)
    result = compare_metrics(metrics, human, undefined="leave out")
    assert len(result.names) == 3
    assert "constant" in result.left_out["flat"]


def test_one_metric_has_rank_one() -> None:
    metrics, human = made_metrics()
    result = compare_metrics({"m0": metrics["m0"]}, human)
    assert (result.ranks, result.unbeaten) == ((1,), (True,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "document"}, "'document'"),
        ({"test": "t"}, "'t'"),
        ({"correction": "sidak"}, "'sidak'"),
        ({"undefined": "zero"}, "'zero'"),
        ({"test": "williams", "kind": "kendall"}, "Williams"),
        ({"test": "bootstrap", "level": "item"}, "means over groups"),
        ({"alpha": 1.0}, "alpha"),
        ({"kind": "taub"}, "'taub'"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    metrics, human = made_metrics()
    with pytest.raises(RecipeError, match=message):
        compare_metrics(metrics, human, **options)  # type: ignore[arg-type]


def test_compared_accuracies_equal_swapping_pair_by_pair() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(0, 4, size=(5, 40)).astype(float)
    human[2, 3] = NAN
    metrics = {
        f"m{k}": np.nan_to_num(human + noise * rng.normal(size=human.shape)) for k, noise in enumerate((9, 1, 1.1))
    }
    result = compare_tie_accuracies(metrics, human, resamples=200, seed=3)
    values = {name: tie_calibrated_accuracy(scores, human) for name, scores in metrics.items()}
    assert [accuracy.value for accuracy in result.accuracies] == sorted(
        (entry.value for entry in values.values()), reverse=True
    )
    comparison = result.comparison
    assert comparison.names[2] == "m0"
    assert comparison.ranks == (1, 1, 2)
    assert comparison.unbeaten == (True, True, False)
    # By the definition: right or wrong of every pair, swapped with the same signs.
    signs = np.concatenate(list(swap_signs(result.accuracies[0].pairs, 200, 3)))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        weighted = []
        for entry in (result.accuracies[first], result.accuracies[second]):
            scores, right, weight = metrics[entry.metric], [], []
            for i, j in itertools.combinations(range(5), 2):
                for item in np.flatnonzero(~np.isnan(human[i] - human[j])):
                    difference = scores[i, item] - scores[j, item]
                    sign = 0 if abs(difference) <= entry.epsilon else np.sign(difference)
                    right.append(sign == np.sign(human[i, item] - human[j, item]))
                    judged = (~np.isnan(human[:, item])).sum()
                    weight.append(1 / math.comb(judged, 2) / 40)
            weighted.append(np.array(right) * weight)
        difference = weighted[0] - weighted[1]
        expected = np.mean(signs.T @ difference >= difference.sum() - 1e-12)
        assert comparison.p_values[first, second] == pytest.approx(expected)


def test_outcomes_of_a_document_are_swapped_together() -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(0, 4, size=(4, 30)).astype(float)
    metrics = {f"m{k}": human + noise * rng.normal(size=human.shape) for k, noise in enumerate((2, 3))}
    documents = np.repeat(np.arange(10), 3)
    result = compare_tie_accuracies(metrics, human, documents=documents, resamples=200, seed=3)
    first, second = (by_pair(metrics[accuracy.metric], human, accuracy.epsilon) for accuracy in result.accuracies)
    signs = np.concatenate(list(swap_signs(10, 200, 3)))[documents]  # of items: a pair of outputs has its item's
    difference = (first - second).sum(axis=0)
    expected = np.mean(signs.T @ difference >= difference.sum() - 1e-9)
    assert result.comparison.p_values[0, 1] == pytest.approx(expected)


def by_pair(metric: Array, human: Array, epsilon: float) -> Array:
    """1 where a pair of outputs (rows) of an item (columns) is right."""
    rows = []
    for i, j in itertools.combinations(range(len(human)), 2):
        difference = metric[i] - metric[j]
        sign = np.where(np.abs(difference) <= epsilon, 0, np.sign(difference))
        rows.append((sign == np.sign(human[i] - human[j])).astype(float))
    return np.array(rows)
