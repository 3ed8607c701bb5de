"""Three ways to decide between two systems, and the picture of their paired differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.extras import LazyModule
from tests.studies.compare.made_scores import made

from nlgauge.errors import InputError
from nlgauge.studies.compare import SystemComparison, compare_systems
from nlgauge.studies.compare.paired_differences import MOST_PAIRS, draw_pairs, paired_differences, shown_pairs
from nlgauge.studies.compare.strengths import (
    Skills,
    bt_probabilities,
    elo_probabilities,
    skills,
    trueskill_probabilities,
)
from nlgauge.studies.compare.system_scores import score_tables

package = LazyModule("trueskill")

# By hand: a - b is -1 (twice), 1 (twice) and 9. The means are 4 and 2.4, the medians 3 and 3.
A, B = [1.0, 2.0, 3.0, 4.0, 10.0], [2.0, 3.0, 2.0, 3.0, 1.0]
# Four instances are won by a narrowly, one is lost widely.
NARROW, WIDE = [2.0, 3.0, 4.0, 5.0, -9.0], [1.0, 2.0, 3.0, 4.0, 6.0]


def compared(**systems: list[float]) -> SystemComparison:
    return compare_systems({"m": systems}, permutations=100, resamples=100)


def test_the_numbers_of_proposition_1() -> None:
    pair = compared(a=A, b=B).metrics[0].pair("a", "b")
    assert pair.difference == pytest.approx(np.mean(A) - np.mean(B))
    assert pair.median_difference == np.median(A) - np.median(B) == 1.0
    assert pair.paired_median == np.median(np.subtract(A, B)) == 1.0
    assert pair.decisions == {"mean": "a", "median": "a", "BT": "a"}
    pair = compared(a=NARROW, b=WIDE).metrics[0].pair("a", "b")
    # Both medians are 3.
    assert pair.decisions == {"mean": "b", "median": None, "BT": "a"}
    assert pair.probability["pair"] == pytest.approx(0.8 if pair.first == "a" else 0.2)


def test_a_turned_pair_has_the_opposite_numbers() -> None:
    pair = compared(a=A, b=B).metrics[0].pair("a", "b")
    turned = pair.turned()
    assert turned.paired_median == -1.0
    assert turned.median_difference == -1.0
    assert turned.probability["BT"] == pytest.approx(1 - pair.probability["BT"])
    assert turned.decisions == pair.decisions
    assert turned.turned() == pair


def test_a_distance_is_turned_round() -> None:
    scores = score_tables({"m": {"a": A, "b": B}})
    pair = compare_systems({"m": {"a": [-x for x in A], "b": [-x for x in B]}}).metrics[0].pair("a", "b")
    assert pair.decisions == dict.fromkeys(("mean", "median", "BT"), "b")
    assert scores[0].higher_is_better


def test_two_systems_have_one_probability_by_bradley_terry() -> None:
    pair = compared(a=A, b=B).metrics[0].pairs[0]
    # Of two systems the maximum of the likelihood is the share of wins.
    assert pair.probability["BT"] == pytest.approx(pair.wins / 5) == pair.probability["pair"]


def test_probabilities_by_hand() -> None:
    assert bt_probabilities([0.5, 0.3, 0.2])[0, 1] == pytest.approx(0.5 / 0.8)
    assert bt_probabilities([1.0, 0.0, 0.0])[1, 2] == 0.5
    # 400 points are odds of ten to one.
    assert elo_probabilities([1500.0, 1900.0])[1, 0] == pytest.approx(10 / 11)
    # One deviation of the difference: sqrt(2 * 3**2 + 2**2 + 2**2) = 5.099, and Phi(1) = .841345.
    level = Skills(np.array([5.09902, 0.0]), np.array([2.0, 2.0]))
    assert trueskill_probabilities(level, beta=3.0)[0, 1] == pytest.approx(0.841345, abs=1e-5)


def test_skills_are_those_of_the_package() -> None:
    scores = made(25, 2)
    environment = package.TrueSkill()
    ratings = [environment.create_rating() for _ in range(2)]
    for a, b in scores:
        winner = 0 if a > b else 1
        ratings[winner], ratings[1 - winner] = package.rate_1vs1(ratings[winner], ratings[1 - winner])
    ours = skills(scores)
    assert ours.means == pytest.approx([rating.mu for rating in ratings], abs=1e-5)
    assert ours.deviations == pytest.approx([rating.sigma for rating in ratings], abs=1e-5)
    # The win probability of the package's documentation, with the distribution function of its environment.
    spread = np.sqrt(2 * environment.beta**2 + sum(rating.sigma**2 for rating in ratings))
    expected = environment.cdf((ratings[0].mu - ratings[1].mu) / spread)
    assert trueskill_probabilities(ours)[0, 1] == pytest.approx(expected, abs=1e-5)


def test_ratings_are_in_pairs_wins_and_json() -> None:
    comparison = compare_systems({"m": {"a": A, "b": B, "c": WIDE}}, ratings=True, permutations=100)
    pair = comparison.metrics[0].pair("a", "b")
    assert set(pair.probability) == {"pair", "BT", "Elo", "TrueSkill"}
    assert SystemComparison.from_dict(comparison.to_dict()).metrics[0].pairs == comparison.metrics[0].pairs
    wins = comparison.render("wins").splitlines()
    assert wins[0].split("\t")[3:] == ["share", "P pair", "P BT", "P Elo", "P TrueSkill"]
    assert len(wins) == 7
    text = comparison.render("text", all_tables=True)
    assert "P TrueSkill" in text
    assert "P Elo" not in compared(a=A, b=B).render("text", all_tables=True)


def test_pairs_of_which_the_three_disagree_are_named() -> None:
    text = compared(a=NARROW, b=WIDE).render("text", all_tables=True)
    assert "mean, median and Bradley-Terry disagree on" in text
    assert "disagree on" not in compared(a=A, b=B).render("text", all_tables=True)


def test_the_curve_crosses_zero_at_the_share_of_wins() -> None:
    comparison = compared(a=A, b=B)
    (row,) = paired_differences(comparison.metrics[0], score_tables({"m": {"a": A, "b": B}})[0])
    shares, values = row.curve()
    assert shares.tolist() == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert values.tolist() == [9.0, 1.0, 1.0, -1.0, -1.0]
    assert row.wins == 0.6
    assert (values > 0).mean() == row.wins
    assert row.mean == pytest.approx(1.8)
    counts, edges = row.histogram()
    assert counts.sum() == 5
    assert counts[edges[:-1] >= -1e-9].sum() == 3
    assert row.sentence() == "mean, median and Bradley-Terry: a"


def test_the_histogram_has_all_instances_although_edges_are_rounded() -> None:
    # -0.057 / 7 * 7 is above -0.057.
    worse, better = [0.0] * 7, [0.057] * 7
    scores = score_tables({"m": {"a": worse, "b": better}})[0]
    comparison = compared(a=worse, b=better)
    for pair in (("a", "b"), ("b", "a")):
        (row,) = paired_differences(comparison.metrics[0], scores, [pair])
        assert row.histogram()[0].sum() == 7


def test_of_many_systems_those_with_the_best_are_drawn() -> None:
    values = made(12, 7)
    systems = {f"s{number}": values[:, number].tolist() for number in range(7)}
    metric = compared(**systems).metrics[0]
    assert len(metric.pairs) > MOST_PAIRS
    assert {first for first, _ in shown_pairs(metric)} == {metric.winner}
    assert len(shown_pairs(metric)) == 6


def test_scores_of_another_comparison_are_refused() -> None:
    with pytest.raises(InputError, match="not of these scores"):
        paired_differences(compared(a=A, b=B).metrics[0], score_tables({"m": {"a": A, "c": B}})[0])


def test_a_pair_of_equal_systems_can_be_drawn(tmp_path: Path) -> None:
    comparison, scores = compared(a=A, b=A), score_tables({"m": {"a": A, "b": A}})
    (row,) = paired_differences(comparison.metrics[0], scores[0])
    assert row.sentence() == "mean, median and Bradley-Terry: tie"
    figure = draw_pairs(comparison, scores)
    figure.savefig(tmp_path / "pair.png")
    assert len(figure.axes) == 2
