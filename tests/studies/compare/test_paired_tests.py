"""All pairs of systems: tests keep their error rate, find what is there, and say what they could find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.studies.compare.made_scores import made, table

from nlgauge.studies.compare.comparison import TESTS, CompareSettings, PairRow
from nlgauge.studies.compare.paired_tests import Sample, bootstrap_scores, pair_rows
from nlgauge.studies.compare.system_scores import SystemScores


def statistics(scores: SystemScores, **options: object) -> Columns:
    settings = CompareSettings(**{"permutations": 1000, **options})  # type: ignore[arg-type]
    sample = Sample.of(scores)
    (draws,) = bootstrap_scores([sample], resamples=settings.score_draws, seed=settings.seed)
    return Columns(pair_rows(sample, draws, settings))


class Columns:
    """Fields of all pairs as arrays; None where no pair has a value."""

    def __init__(self, rows: list[PairRow]) -> None:
        self.rows = rows
        self.p = {name: np.array([row.p[name] for row in rows]) for name in rows[0].p}
        self.side = np.array([0 if row.favoured is None else 1 if row.favoured == row.first else -1 for row in rows])

    def __getattr__(self, name: str) -> Any:
        values = [getattr(row, name) for row in self.rows]
        return None if values[0] is None else np.array(values)


def test_numbers_of_a_pair() -> None:
    values = np.round(made(50, 3), 1)
    result = statistics(table(values), tests_shown=TESTS)
    for index, (i, j) in enumerate(zip(*np.triu_indices(3, 1), strict=True)):
        difference = values[:, i] - values[:, j]
        assert result.difference[index] == pytest.approx(difference.mean())
        assert result.effect[index] == pytest.approx(difference.mean() / difference.std(ddof=1))
        assert (result.wins[index], result.losses[index]) == ((difference > 1e-9).sum(), (difference < -1e-9).sum())
        assert result.wins[index] + result.ties[index] + result.losses[index] == 50
        assert result.p["t"][index] == pytest.approx(stats.ttest_rel(values[:, i], values[:, j]).pvalue)
        assert result.p["mood"][index] == pytest.approx(stats.median_test(values[:, i], values[:, j]).pvalue)
    assert set(result.p) == set(TESTS)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [10, 60])
@pytest.mark.parametrize("test", ["bootstrap", "randomisation", "t", "wilcoxon"])
def test_five_in_a_hundred_equal_pairs_are_called_different(test: str, n: int) -> None:
    """Ten systems that do not differ; five pairs of neighbours, 200 times over, are 1,000 independent pairs."""
    options = CompareSettings(test=test, tests_shown=(), permutations=400)  # type: ignore[arg-type]
    rows, columns = np.triu_indices(10, 1)
    apart = (rows % 2 == 0) & (columns == rows + 1)
    result = []
    for seed in range(200):
        sample = Sample.of(table(np.random.default_rng(seed).normal(size=(n, 10))))
        (draws,) = bootstrap_scores([sample], resamples=400, seed=seed)
        result.append(np.array([row.p[options.test] for row in pair_rows(sample, draws, options)])[apart])
    p = np.concatenate(result)
    # Four standard errors of .05 over 1,000 pairs.
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.028)
    assert p.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * 1000))


def test_tests_of_means_agree_on_a_large_sample() -> None:
    result = statistics(table(made(400, 4, spread=0.3)), tests_shown=TESTS, permutations=10_000)
    assert result.p["bootstrap"] == pytest.approx(result.p["t"], abs=0.02)
    assert result.p["randomisation"] == pytest.approx(result.p["t"], abs=0.02)


@pytest.mark.parametrize("n", [12, 60])
def test_intervals_of_differences_are_students(n: int) -> None:
    values = made(n, 3)
    result = statistics(table(values), resamples=4000)
    expected = stats.ttest_rel(values[:, 0], values[:, 2]).confidence_interval(0.95)
    assert result.low is not None
    assert result.high is not None
    slack = 1e-9 if n < 30 else 0.03
    assert (result.low[1], result.high[1]) == pytest.approx(tuple(expected), abs=slack)


def test_many_pairs_raise_the_bar() -> None:
    scores = table(made(60, 6, spread=0.8))
    corrected, plain = statistics(scores, test="t"), statistics(scores, test="t", correction="none")
    assert corrected.p_adjusted is not None
    assert plain.p_adjusted is not None
    assert (corrected.p_adjusted >= plain.p_adjusted).all()
    assert corrected.significant.sum() < plain.significant.sum()
    assert np.array_equal(plain.p_adjusted, plain.p["t"])


def test_what_is_called_detectable_is_found_in_eight_of_ten_samples() -> None:
    n = 50
    detectable = statistics(table(np.column_stack([made(n, 1)[:, 0], np.zeros(n)])), test="t").detectable
    assert detectable is not None
    deviation = made(n, 1)[:, 0].std(ddof=1)
    rng = np.random.default_rng(5)
    samples = rng.normal(detectable[0], deviation, size=(3000, n))
    assert (stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.03)


def test_a_difference_that_does_not_count_is_not_significant() -> None:
    values = made(200, 2, spread=1.0)
    assert statistics(table(values)).significant.tolist() == [True]
    assert statistics(table(values), smallest_difference=2.0).significant.tolist() == [False]


def test_below_ten_instances_nothing_is_significant() -> None:
    values = np.column_stack([np.arange(9.0), np.arange(9.0) + 5 + np.arange(9) / 100])
    result = statistics(table(values), test="t")
    assert result.p["t"][0] < 1e-6
    assert result.significant.tolist() == [False]
    assert result.low is not None
    few = statistics(table(values[:3]), test="t")
    assert (few.low, few.high, few.detectable) == (None, None, None)
    first = statistics(table(values[:1]), test="t")
    assert "t" not in first.p
    assert first.p_adjusted is None


def test_documents_widen_what_instances_would_make_narrow() -> None:
    rng = np.random.default_rng(8)
    shared = np.repeat(rng.normal(size=(40, 2)), 10, axis=0) + 0.1 * rng.normal(size=(400, 2))
    names = tuple(np.repeat([str(index) for index in range(40)], 10))
    by_instance, by_document = statistics(table(shared)), statistics(table(shared, documents=names))
    for ends in ("low", "high"):
        assert getattr(by_instance, ends) is not None
    width = [float(result.high[0] - result.low[0]) for result in (by_instance, by_document)]  # type: ignore[index]
    assert width[1] > 2 * width[0]
    assert by_document.p["t"][0] > by_instance.p["t"][0]


def test_a_corpus_score_is_tested_on_its_counts() -> None:
    rng = np.random.default_rng(6)
    length = np.full((80, 2), 20.0)
    right = np.column_stack([rng.binomial(20, 0.5, size=80), rng.binomial(20, 0.6, size=80)]).astype(float)
    scores = table(np.zeros((80, 2)), counts=np.stack([right, length], axis=-1))
    result = statistics(scores, tests_shown=TESTS)
    assert result.difference[0] == pytest.approx(right[:, 0].sum() / 1600 - right[:, 1].sum() / 1600)
    assert result.p["bootstrap"][0] < 0.01
    assert result.p["randomisation"][0] < 0.01
    assert result.p["t"][0] == 1, "the scores of instances are all 0"
    assert result.detectable is not None
    assert result.detectable[0] > 0


def steady_and_wild(n: int = 40) -> np.ndarray:
    """`a` wins 36 of 40 instances by .1, `b` four of them by far; so the mean of b is the higher one."""
    a = np.full(n, 0.5) + np.arange(n) / 1e4
    return np.column_stack([a, np.where(np.arange(n) < 4, a + 9, a - 0.1)])


@pytest.mark.parametrize("test", ["sign", "sign-ties-in", "wilcoxon"])
def test_a_test_on_the_other_side_than_the_scores_is_no_verdict(test: str) -> None:
    result = statistics(table(steady_and_wild()), test=test)
    assert result.difference[0] < 0, "b has the higher mean"
    assert result.p[test][0] < 0.001  # type: ignore[index]
    assert (result.side.tolist(), result.significant.tolist(), result.opposed.tolist()) == ([1], [False], [True])
    turned = statistics(table(steady_and_wild()[:, ::-1]), test=test)
    assert (turned.side.tolist(), turned.significant.tolist(), turned.opposed.tolist()) == ([-1], [False], [True])


def test_moods_test_has_a_side_of_its_own() -> None:
    """36 of a's scores lie above the common median, 4 of b's; yet the mean of b is higher."""
    result = statistics(table(steady_and_wild()), test="mood")
    assert (result.side.tolist(), result.significant.tolist(), result.opposed.tolist()) == ([1], [False], [True])


def test_a_test_of_instances_may_oppose_a_corpus_score() -> None:
    """`b` is right on the four long segments and wrong on 36 short ones: better over the corpus, worse on average."""
    long = np.arange(40) < 4
    length = np.where(long, 1000.0, 10.0)
    right = np.column_stack([np.where(long, 100.0, 9.0 - np.arange(40) % 2), np.where(long, 900.0, 1.0)])
    counts = np.stack([right, np.column_stack([length, length])], axis=-1)
    scores = table(right / length[:, None], counts=counts)
    result = statistics(scores, test="t")
    assert result.difference[0] < 0
    assert result.effect[0] > 0
    assert result.p_adjusted is not None
    assert result.p_adjusted[0] < 0.05
    assert (result.significant.tolist(), result.opposed.tolist()) == ([False], [True])
    assert statistics(scores).opposed.tolist() == [False], "the bootstrap is of the corpus score itself"


def test_equal_means_are_no_verdict_whatever_the_wins() -> None:
    result = statistics(table(np.column_stack([np.zeros(40), np.where(np.arange(40) < 4, 9.0, -1.0)])), test="sign")
    assert result.difference.tolist() == [0]
    assert (result.side.tolist(), result.significant.tolist(), result.opposed.tolist()) == ([1], [False], [True])


def test_a_side_that_agrees_is_a_verdict() -> None:
    for test in TESTS:
        result = statistics(table(made(200, 2, spread=1.0)), test=test)
        assert (result.side.tolist(), result.significant.tolist(), result.opposed.tolist()) == ([-1], [True], [False])


def test_interval_and_bootstrap_test_are_of_the_same_draws() -> None:
    """One takes both tails together and the other each by itself; so they part at the very threshold only."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        values = np.column_stack([rng.normal(size=60), np.zeros(60)])
        # p about .05: two standard errors off.
        values[:, 0] += 2 * values[:, 0].std(ddof=1) / np.sqrt(60) - values[:, 0].mean()
        result = statistics(table(values), correction="none", permutations=2000)
        assert result.low is not None
        assert result.high is not None
        outside = result.low[0] > 0 or result.high[0] < 0
        agree = outside == (result.p["bootstrap"][0] < 0.05)
        assert agree or abs(result.p["bootstrap"][0] - 0.05) < 0.01
