"""Several runs of each system."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from nlgauge.errors import InputError
from nlgauge.studies.compare.repeated_runs import SystemRuns, compare_runs

A, B = [0.71, 0.73, 0.72, 0.74, 0.70], [0.61, 0.66, 0.63, 0.62, 0.65]


def test_two_systems_of_five_runs() -> None:
    result = compare_runs({"b": B, "a": A}, metric="f1")
    assert [row.system for row in result.systems] == ["a", "b"]
    (pair,) = result.pairs
    assert (pair.first, pair.better, pair.probability) == ("a", "a", 1.0)
    # 2 of the 252 ways to deal out ten runs set the means this far apart.
    assert pair.p_value == pytest.approx(2 / 252)
    welch = stats.ttest_ind(A, B, equal_var=False).confidence_interval(0.95)
    assert (pair.low, pair.high) == pytest.approx(tuple(welch))
    row = result.systems[0]
    assert row.deviation == pytest.approx(np.std(A, ddof=1))
    assert row.interval is not None
    assert row.interval[1:3] == pytest.approx(stats.t.interval(0.95, 4, np.mean(A), stats.sem(A)))
    assert (row.lowest, row.median, row.highest) == (0.70, 0.72, 0.74)


def test_lucky_seeds_are_no_better_system() -> None:
    rng = np.random.default_rng(2)
    result = compare_runs({name: rng.normal(size=8) for name in "abc"})
    assert not any(pair.significant for pair in result.pairs)
    assert all(0 < pair.probability < 1 for pair in result.pairs)
    assert all(pair.p_adjusted >= pair.p_value for pair in result.pairs)


def test_many_runs_are_dealt_out_at_random() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=40), rng.normal(0.6, size=40)
    (pair,) = compare_runs({"a": a, "b": b}, permutations=4000).pairs
    assert pair.p_value == pytest.approx(stats.ttest_ind(a, b).pvalue, abs=0.01)


def test_a_run_may_be_a_row_of_instances() -> None:
    result = compare_runs({"a": [[1.0, 2.0], [3.0, 4.0]], "b": [[0.0, 0.0], [1.0, 1.0]]})
    assert [(row.mean, row.runs) for row in result.systems] == [(2.5, 2), (0.5, 2)]


def test_a_distance_is_better_when_lower() -> None:
    result = compare_runs({"a": A, "b": B}, higher_is_better=False)
    assert result.systems[0].system == "b"
    assert result.pairs[0].difference > 0
    assert result.pairs[0].better == "b"


def test_budgets_are_shown_and_compared() -> None:
    runs = [
        SystemRuns("a", np.array(A), {"GPU hours": 12, "parameters": "110M"}),
        SystemRuns("b", np.array(B), {"GPU hours": 96, "parameters": "110M"}),
    ]
    result = compare_runs(runs)
    assert result.systems[0].budget == {"GPU hours": 12, "parameters": "110M"}
    assert result.notes == ("different GPU hours: a 12, b 96",)
    partly = compare_runs([runs[0], SystemRuns("c", np.array(B))])
    assert "different GPU hours: a 12, c unknown" in partly.notes


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_runs_have_no_interval_and_no_star(count: int) -> None:
    result = compare_runs({"a": A[:count], "b": B[:count]})
    assert result.systems[0].interval is None
    assert (result.pairs[0].low, result.pairs[0].significant) == (None, False)
    assert "fewer than 4 runs" in result.notes[0]
    assert result.systems[0].runs == count


def test_runs_without_any_spread() -> None:
    (pair,) = compare_runs({"a": [1.0] * 5, "b": [1.0] * 5}).pairs
    assert (pair.p_value, pair.probability, pair.low, pair.high) == (1.0, 0.5, 0.0, 0.0)


def test_the_result_is_json_with_a_signature() -> None:
    record = json.loads(json.dumps(compare_runs({"a": A, "b": B}, seed=3).to_dict(), allow_nan=False))
    assert record["signature"] == (
        "compare-runs|test:permutation|correction:holm|alpha:0.05|level:0.95|permutations:10000|seed:3"
    )
    assert record["systems"][0]["interval"]["level"] == 0.95


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "expected at least one system with runs"),
        ({"a": []}, "runs of system 'a': expected at least one run"),
        ({"a": [1.0, float("nan")]}, "runs of system 'a' needs finite"),
        ({"a": ["x"]}, "runs of system 'a': expected numbers"),
        ([SystemRuns("a", np.ones(2)), SystemRuns("a", np.ones(2))], "two systems are called 'a'"),
    ],
)
def test_invalid_runs_are_refused(runs: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_runs(runs)  # type: ignore[arg-type]
