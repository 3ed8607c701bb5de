"""Levels of comparison, orientation, and what is left out."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import correlate
from nlgauge.studies.meta.levels import LevelCorrelation, grouped_level, segment_level, system_level
from nlgauge.studies.meta.pairwise import preference_tau

Array = NDArray[np.float64]
NAN = math.nan


def frame(path: Path) -> Array:
    """A released table of instances x systems, as systems x segments."""
    if not path.is_file():
        pytest.skip(f"NLGAUGE_DATA has no {path.name} at compare/{path.parent.name}")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array(rows, dtype=float).T


# Topic-averaged r, rho, tau against pyramid scores, computed from the released tables without nlgauge.
@pytest.mark.parametrize(
    ("year", "metric", "published"),
    [
        ("08", "ROUGE_2", (0.5470, 0.5342, 0.3955)),
        ("08", "BERTScore", (0.5521, 0.5170, 0.3833)),
        ("08", "S3_pyr", (0.5853, 0.5562, 0.4135)),
        ("09", "MoverScore", (0.6636, 0.5989, 0.4551)),
        ("11", "BERTScore", (0.6326, 0.5806, 0.4423)),
    ],
)
def test_topic_averages_of_tac(
    data_folder: Path, year: str, metric: str, published: tuple[float, float, float]
) -> None:
    scores = frame(data_folder / "compare" / "tac" / "TAC" / year / f"{metric}.csv")
    human = frame(data_folder / "compare" / "tac_pyramid" / "TAC_pyr" / f"{year}.csv")
    result = [grouped_level(scores, human, kind=kind).value for kind in ("pearson", "spearman", "kendall")]
    assert result[:2] == pytest.approx(published[:2], abs=6e-5)
    # These tables are rounded to ten decimals. Whether two nearly equal scores are a tie moves tau by 1e-4: ROUGE-2
    # of TAC08, which has hundreds of ties, gives .39561.
    assert result[2] == pytest.approx(published[2], abs=1.5e-4)


@pytest.mark.parametrize(
    ("year", "published"),
    [("08", (0.8650, 0.8677, 0.6951)), ("09", (0.8721, 0.9437, 0.8106)), ("11", (0.9489, 0.8583, 0.6901))],
)
def test_system_level_of_tac(data_folder: Path, year: str, published: tuple[float, float, float]) -> None:
    scores = frame(data_folder / "compare" / "tac" / "TAC" / year / "ROUGE_2.csv")
    human = frame(data_folder / "compare" / "tac_pyramid" / "TAC_pyr" / f"{year}.csv")
    result = [system_level(scores, human, kind=kind).value for kind in ("pearson", "spearman", "kendall")]
    assert result == pytest.approx(published, abs=6e-5)


HUMAN = np.array([[1.0, 2.0, 5.0, NAN], [2.0, 2.0, 3.0, NAN], [4.0, 2.0, 1.0, 9.0]])
SCORES = np.array([[0.1, 0.3, 0.9, NAN], [0.3, 0.1, 0.8, 0.2], [0.2, 0.2, 0.1, 0.7]])


def test_segment_level_takes_judged_outputs_only() -> None:
    judged = ~np.isnan(HUMAN)
    result = segment_level(SCORES, HUMAN)
    assert result.value == pytest.approx(correlate(SCORES[judged], HUMAN[judged]).value)
    assert result.n == 10


def test_item_level_counts_what_it_skips() -> None:
    # Item 0: r of (.1 .3 .2) with (1 2 4); item 2: r of (.9 .8 .1) with (5 3 1); item 1 is tied by people,
    # item 3 has one judged output.
    result = grouped_level(SCORES, HUMAN)
    expected = [np.corrcoef(SCORES[:, item], HUMAN[:, item])[0, 1] for item in (0, 2)]
    assert result.value == pytest.approx(np.mean(expected))
    assert result.n == 2
    assert result.skipped == {"constant human scores": 1, "fewer than two judged outputs": 1}
    with pytest.raises(InputError, match="item 1: constant human scores"):
        grouped_level(SCORES, HUMAN, constant="raise")


def test_by_system_level_averages_over_systems() -> None:
    result = grouped_level(SCORES, HUMAN, by="system")
    judged = ~np.isnan(HUMAN)
    expected = [np.corrcoef(SCORES[s][judged[s]], HUMAN[s][judged[s]])[0, 1] for s in range(3)]
    assert result.value == pytest.approx(np.mean(expected))
    assert (result.n, result.level) == (3, "by-system")


def test_mean_over_no_groups_is_nan_or_an_error() -> None:
    constant = np.ones((3, 4))
    with pytest.raises(InputError, match="'flat' has no pearson at item level: no item is left"):
        grouped_level(constant, HUMAN, name="flat")
    result = grouped_level(constant, HUMAN, undefined="nan")
    assert math.isnan(result.value)
    assert result.skipped["constant metric scores"] == 2
    assert "2 with constant metric scores" in str(result.reason)


@pytest.mark.parametrize("function", [segment_level, grouped_level, system_level])
def test_a_constant_metric_is_named(function: Callable[..., LevelCorrelation]) -> None:
    flat = np.ones((3, 4))
    with pytest.raises(InputError, match=r"'flat' has no pearson at (segment|item|system) level"):
        function(flat, HUMAN, name="flat")
    result = function(flat, HUMAN, undefined="nan")
    assert math.isnan(result.value)
    assert "constant" in str(result.reason)
    with pytest.raises(RecipeError, match="'zero'"):
        function(flat, HUMAN, undefined="zero")


def test_system_level_aggregates() -> None:
    scores = np.array([[0.0, 0.0, 9.0], [1.0, 1.0, 1.0], [2.0, 2.0, 0.0]])
    metric = scores
    official = [1.0, 2.0, 3.0]
    assert system_level(metric, official, aggregate="median").value == pytest.approx(1)
    assert system_level(metric, official).value == pytest.approx(np.corrcoef([3, 1, 4 / 3], official)[0, 1])
    first = system_level(metric, official, aggregate=lambda table: table[:, 0])
    assert first.value == pytest.approx(1)
    human = np.array([[1.0, NAN, NAN], [2.0, 2.0, NAN], [3.0, NAN, NAN]])
    assert system_level(metric, human, on="judged").value == pytest.approx(1)
    assert system_level(metric, human).value == system_level(metric, official).value


def test_systems_nobody_judged_are_dropped_and_counted() -> None:
    metric = [[1.0, 1.0], [NAN, NAN], [2.0, 2.0], [4.0, 4.0]]  # type: ignore[arg-type]
    result = system_level(metric, [1.0, NAN, 2.0, 4.0])
    assert (result.value, result.n) == (pytest.approx(1), 3)
    assert result.skipped == {"systems without a human score": 1}


@pytest.mark.parametrize("bad", [NAN, math.inf])
def test_a_missing_score_where_people_judged_is_named(bad: float) -> None:
    scores = SCORES.copy()
    scores[2, 1] = bad
    for function in (segment_level, grouped_level, system_level):
        with pytest.raises(InputError, match=r"score of 'm' for system \d+, segment \d+ is (nan|inf)"):
            function(scores, HUMAN, name="m")


def test_input_of_the_wrong_shape_is_named() -> None:
    metric = SCORES
    with pytest.raises(InputError, match=r"\(3, 4\), human scores \(3, 2\)"):
        segment_level(metric, HUMAN[:, :2])
    with pytest.raises(InputError, match=r"\(3, 4\), human scores \(3, 2\)"):
        system_level(metric, HUMAN[:, :2])
    with pytest.raises(InputError, match="systems x segments, got shape"):
        system_level(np.ones(3), [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"got shape \(1, 1, 1\)"):
        segment_level(np.ones((1, 1, 1)), HUMAN)
    with pytest.raises(InputError, match="all human scores are missing"):
        segment_level(metric, np.full((3, 4), NAN))
    with pytest.raises(InputError, match="each of 3 systems, got 2"):
        system_level(metric, [1.0, 2.0])
    with pytest.raises(RecipeError, match="'mode'"):
        system_level(np.eye(3), [1, 2, 3], aggregate="mode")
    with pytest.raises(InputError, match="finite number for each of 3"):
        system_level(np.eye(3), [1, 2, 3], aggregate=lambda table: table[0, :2])


@pytest.mark.parametrize(("kind", "values"), [("pearson", (0.776, 0.760, 1.0)), ("kendall", (0.552, 0.575, 1.0))])
def test_values_of_the_published_unit_tests(kind: str, values: tuple[float, float, float]) -> None:
    # mt-metrics-eval, stats_test.py: testPearson and testKendall, flat, by system and by item.
    metric, human = np.array([[2, 1, 4], [3, 3, 7]]), [[1, 2, 3], [4, 5, 6]]
    result = (
        segment_level(metric, human, kind=kind).value,
        grouped_level(metric, human, kind=kind, by="system").value,
        grouped_level(metric, human, kind=kind).value,
    )
    assert result == pytest.approx(values, abs=5e-4)


@pytest.mark.parametrize(("margin", "tau", "pairs"), [(25.0, 3 / 5, 5), (1.0, 2 / 6, 6)])
def test_the_published_kendall_like_values(margin: float, tau: float, pairs: int) -> None:
    # mt-metrics-eval, stats_test.py: CorrelationFunctionsTest.testKendallLike; that list is four systems on one item.
    result = preference_tau(np.array([[2, 1, 4, 3]]).T, np.array([[10, 11, 100, 150]]).T, margin=margin)
    assert result.value == pytest.approx(tau)
    assert result.concordant + result.discordant + result.tied == pairs


def test_preferences_need_the_margin() -> None:
    human = np.array([[80.0, 50.0, NAN], [55.0, 49.0, 10.0], [30.0, 90.0, 60.0]])
    # As (better, worse, segment): right on (0,1,0) (0,2,0) (2,1,2); tied on (1,2,0); wrong on (2,0,1) (2,1,1).
    scores = np.array([[5.0, 3.0, NAN], [4.0, 3.0, 1.0], [4.0, 2.0, 2.0]])
    result = preference_tau(scores, human)
    assert (result.concordant, result.discordant, result.tied) == (3, 2, 1)
    assert result.value == pytest.approx(0)
    assert preference_tau(scores, human, ties="half").value == pytest.approx(1 / 6)
    with pytest.raises(InputError, match="no two outputs"):
        preference_tau(scores, human, margin=90)
    with pytest.raises(InputError, match="margin must be above 0"):
        preference_tau(scores, human, margin=0)
    with pytest.raises(InputError, match="score of 'm' for system 0, segment 2 is nan"):
        preference_tau(scores, np.nan_to_num(human), name="m")
