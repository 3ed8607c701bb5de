"""The interval of a mean: it holds the mean as often as it says, whatever the number of values."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.resampling import bootstrap_mean


def test_it_agrees_with_the_normal_interval_on_a_large_sample() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.2, size=2000)
    interval = bootstrap_mean(values, resamples=4000)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)
    assert (interval.method, interval.n) == ("bootstrap", 2000)


def test_few_values_have_students_interval() -> None:
    # By hand: mean 3, deviation sqrt(2.5), standard error sqrt(.5); t of 4 degrees of freedom 2.776445 (tables).
    result = bootstrap_mean([1, 2, 3, 4, 5])
    assert (result.low, result.high) == pytest.approx((3 - 2.776445 * 0.5**0.5, 3 + 2.776445 * 0.5**0.5), abs=1e-6)
    assert (result.method, result.resamples, result.n) == ("t", 0, 5)
    assert str(result) == "Student's t interval, 95 %, 5 segments (a bootstrap interval needs at least 30)"


def test_result_names_the_bootstrap_method() -> None:
    values = np.arange(30.0)
    expected = "bootstrap: 90 % of 200 resamples, seed 7, expanded percentiles"
    assert str(bootstrap_mean(values, level=0.9, resamples=200, seed=7)) == expected
    documents = np.arange(60) // 2
    clustered = bootstrap_mean(np.arange(60.0), clusters=documents, resamples=200)
    assert str(clustered) == "bootstrap: 95 % of 200 resamples of 30 documents, seed 12345, expanded percentiles"


def test_the_percentiles_are_expanded_as_published() -> None:
    """Hesterberg 2015: for n = 40, tails of Phi(-t_39 sqrt(40/39)); t_39 of .975 is 2.022691 (tables)."""
    values = np.random.default_rng(3).random(40)
    result = bootstrap_mean(values, resamples=500, seed=2)
    draws = values[np.random.default_rng(2).integers(0, 40, size=(500, 40))].mean(axis=1)
    tail = 100 * 0.020259  # Phi(-2.022691 * sqrt(40 / 39)) = Phi(-2.048460)
    assert (result.low, result.high) == pytest.approx(tuple(np.percentile(draws, [tail, 100 - tail])), abs=1e-5)


@pytest.mark.parametrize(("n", "trials"), [(5, 3000), (12, 3000), (30, 700), (100, 700), (500, 400)])
def test_95_per_cent_are_95_per_cent(n: int, trials: int) -> None:
    """Of skewed scores between 0 and 1, Beta(8, 2); the plain percentile bootstrap has .81 at n = 5, .89 at 12."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(trials):
        result = bootstrap_mean(rng.beta(8, 2, size=n), resamples=200)
        held += result.low <= 0.8 <= result.high
    # Two and a half standard errors of the simulation, and .02 for skewness, which t does not know.
    room = 2.5 * np.sqrt(0.95 * 0.05 / trials) + 0.02
    assert held / trials == pytest.approx(0.95, abs=room)


@pytest.mark.parametrize(("documents", "trials"), [(8, 600), (40, 400)])
def test_intervals_over_documents_have_the_promised_coverage(documents: int, trials: int) -> None:
    """Ten segments to a document, which shares half of their variance: single segments pretend to know too much."""
    rng = np.random.default_rng(documents)
    ids = np.repeat(np.arange(documents), 10)
    held = {"segments": 0, "documents": 0}
    for _ in range(trials):
        values = 0.5 + rng.normal(size=documents)[ids] + rng.normal(size=ids.size)
        for name, clusters in (("segments", None), ("documents", ids)):
            result = bootstrap_mean(values, clusters=clusters, resamples=200)
            held[name] += result.low <= 0.5 <= result.high
    assert held["documents"] / trials == pytest.approx(0.95, abs=2.5 * np.sqrt(0.95 * 0.05 / trials) + 0.015)
    assert held["segments"] / trials < 0.75


def test_documents_of_one_segment_are_segments() -> None:
    values = np.random.default_rng(5).random(50)
    alone, named = bootstrap_mean(values), bootstrap_mean(values, clusters=[f"d{n}" for n in range(50)])
    assert (named.low, named.high) == pytest.approx((alone.low, alone.high))
    few, few_named = bootstrap_mean(values[:9]), bootstrap_mean(values[:9], clusters=list("abcdefghi"))
    assert (few_named.low, few_named.high) == pytest.approx((few.low, few.high))


def test_documents_may_differ_in_length_and_order() -> None:
    values, ids = [0.1, 0.9, 0.4, 0.8, 0.6], ["a", "b", "a", "b", "b"]
    result = bootstrap_mean(values, clusters=ids)
    # By hand: sums .5 (2 values) and 2.3 (3), mean .56; residuals -.62 and .62; error sqrt(2 (.62^2 + .62^2)) / 5.
    error = np.sqrt(2 * 2 * 0.62**2) / 5
    assert result.mean == pytest.approx(0.56)
    assert result.high - result.mean == pytest.approx(12.706205 * error, abs=1e-5)  # t of 1 degree of freedom
    order = [3, 0, 4, 2, 1]
    assert bootstrap_mean([values[n] for n in order], clusters=[ids[n] for n in order]).high == pytest.approx(
        result.high
    )


def test_the_seed_decides_and_the_level_widens() -> None:
    values = np.random.default_rng(1).random(50)
    assert bootstrap_mean(values) == bootstrap_mean(values)
    assert bootstrap_mean(values, seed=0) != bootstrap_mean(values, seed=1)
    for some in (values, values[:10]):
        narrow, wide = bootstrap_mean(some, level=0.5), bootstrap_mean(some, level=0.99)
        assert wide.low < narrow.low < narrow.high < wide.high


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert bootstrap_mean([0.1] * 7)[1:3] == pytest.approx((0.1, 0.1), abs=1e-15)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "non-empty"),
        ([1.0, float("nan")], {}, "index 1"),
        ([1.0], {"level": 1.0}, "level"),
        ([1.0], {"resamples": 0}, "resamples"),
        ([1.0], {"seed": -1}, "seed"),
        ([1.0], {}, "at least 2 values, got 1"),
        ([1.0, 2.0], {"clusters": ["a", "a"]}, "at least 2 documents, got 1"),
        ([1.0, 2.0], {"clusters": ["a"]}, "each of 2 values, got 1"),
    ],
)
def test_bootstrap_refuses_invalid_input(values: list[float], options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap_mean(values, **options)  # type: ignore[arg-type]
