"""Expected score of the best of n runs, and systems at equal budget."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.compare import CompareSettings, RunComparison, SystemRuns, compare_runs
from nlgauge.studies.compare.expected_best import compare_budgets, expected_best
from nlgauge.studies.compare.repeated_runs import draw_run_budgets
from nlgauge.studies.compare.report import ComparisonReport

SMALL, LARGE = [0.61, 0.66, 0.63, 0.62, 0.65, 0.60, 0.64, 0.62], [0.66, 0.64, 0.69, 0.67]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_it_is_the_mean_of_the_best_over_all_draws(n: int) -> None:
    # All ways to draw n of four runs with replacement, by hand.
    best = [max(draw) for draw in itertools.product(LARGE, repeat=n)]
    assert expected_best(LARGE)[n - 1] == pytest.approx(np.mean(best))
    worst = [min(draw) for draw in itertools.product(LARGE, repeat=n)]
    assert expected_best(LARGE, higher_is_better=False)[n - 1] == pytest.approx(np.mean(worst))


def test_numbers_of_the_released_code() -> None:
    # dodgejesse/show_your_work, expected_max_performance.samplemax([.4, .1, .9, .6])["mean"], by its formula
    # sum_i v_(i) ((i / N)^n - ((i - 1) / N)^n) with a pocket calculator:
    # n = 2: (.1 * 1 + .4 * 3 + .6 * 5 + .9 * 7) / 16; n = 3: (.1 + .4 * 7 + .6 * 19 + .9 * 37) / 64.
    assert expected_best([0.4, 0.1, 0.9, 0.6])[:3] == pytest.approx([0.5, 10.6 / 16, 47.6 / 64])


def test_systems_are_compared_at_equal_budget() -> None:
    result = compare_budgets({"small": SMALL, "large": LARGE}, {"small": 1, "large": 2}, resamples=500)
    by_budget = {
        budget: {row.system: row for row in rows}
        for budget, rows in itertools.groupby(result.rows, lambda r: r.budget)
    }
    # Two GPU hours pay for two small runs, or one large one; eight for all of both.
    assert list(by_budget) == [2, 3, 4, 5, 6, 7, 8]
    assert {name: row.runs for name, row in by_budget[5].items()} == {"small": 5, "large": 2}
    assert by_budget[2]["large"].expected == pytest.approx(np.mean(LARGE))
    assert by_budget[2]["small"].expected == pytest.approx(expected_best(SMALL)[1])
    row = by_budget[4]["large"]
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.expected <= row.high
    assert sum(row.probability or 0 for row in by_budget[4].values()) == pytest.approx(1)
    assert (row.probability or 0) > 0.9


def test_a_cheap_system_may_win_at_equal_budget_and_lose_by_the_mean() -> None:
    cheap, dear = [0.2, 0.9, 0.3, 0.4, 0.5, 0.6, 0.3, 0.8], [0.6, 0.62]
    result = compare_budgets({"cheap": cheap, "dear": dear}, {"cheap": 1, "dear": 4})
    assert np.mean(cheap) < np.mean(dear)
    best = {row.budget: row.system for row in reversed(result.rows)}
    assert best == dict.fromkeys((4.0, 5.0, 6.0, 7.0, 8.0), "cheap")
    # Two runs are too few for an interval.
    assert all(row.probability is None for row in result.rows)


def test_a_systems_draws_do_not_depend_on_others() -> None:
    costs = dict.fromkeys("abc", 1.0)
    both = compare_budgets({"a": SMALL, "b": LARGE}, costs, resamples=200)
    alone = compare_budgets({"a": SMALL}, costs, resamples=200)
    assert both.curves[0] == alone.curves[0]
    assert compare_budgets({"a": SMALL}, costs, resamples=200, seed=1).curves != alone.curves


def test_runs_have_a_table_and_a_figure(tmp_path: Path) -> None:
    runs = [
        SystemRuns("small", np.array(SMALL), {"GPU hours": 1}),
        SystemRuns("large", np.array(LARGE), {"GPU hours": 2}),
    ]
    compared = compare_runs(runs, metric="f1", permutations=200, best_of="GPU hours")
    assert compared.signature.endswith("|best_of:GPU hours")
    assert RunComparison.from_dict(compared.to_dict()) == compared
    lines = compared.render("budgets").splitlines()
    assert lines[0].split("\t") == ["metric", "budget", "system", "runs", "expected best", "low", "high", "P(best)"]
    assert len(lines) == 15
    assert "f1, at equal budget (GPU hours)" in compared.render("text")
    figure = draw_run_budgets([compared])
    figure.savefig(tmp_path / "budget.png")
    assert len(figure.axes[0].lines) == 2
    report = ComparisonReport((), (), CompareSettings(), "", runs=(compared,))
    assert len(report.figure().axes) == 1


def test_without_a_budget_nothing_changes() -> None:
    compared = compare_runs({"a": SMALL, "b": LARGE})
    assert not {"best_of", "equal_budget"} & set(compared.to_dict())
    assert "best_of" not in compared.signature
    with pytest.raises(InputError, match="best_of"):
        compared.budget_table()


def test_costs_that_are_missing_or_no_numbers_are_refused() -> None:
    runs = [SystemRuns("a", np.array(SMALL), {"parameters": "110M"}), SystemRuns("b", np.array(LARGE))]
    with pytest.raises(
        InputError, match="'parameters' of a run of 'b' is missing; possible budgets: runs, parameters"
    ):
        compare_runs(runs, best_of="parameters")
    with pytest.raises(InputError, match="must be above 0"):
        compare_budgets({"a": SMALL}, {"a": 0.0})


@pytest.mark.parametrize("unit", [1e-12, 1e9])
def test_the_unit_of_costs_changes_nothing_but_the_budgets(unit: float) -> None:
    runs = {"small": SMALL, "large": LARGE}
    result, expected = (
        compare_budgets(runs, {"small": scale / 3, "large": 2 * scale / 3}, resamples=100) for scale in (unit, 1)
    )
    assert [row[1:] for row in result.rows] == [row[1:] for row in expected.rows]
    assert [row.budget / unit for row in result.rows] == pytest.approx([row.budget for row in expected.rows])


def test_a_table_without_a_common_budget_has_the_reason() -> None:
    systems = [SystemRuns("small", SMALL, {"hours": "1"}), SystemRuns("large", LARGE, {"hours": "100"})]
    comparison = compare_runs(systems, best_of="hours", permutations=10)
    assert "a run of one system costs more than all runs of another" in comparison.render()
