"""The gate shuts on what is significantly worse, and says why it does or does not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compare.made_scores import made, table

from nlgauge.compare import GateResult, SystemScores, compare_systems, gate
from nlgauge.errors import InputError, RecipeError

RNG = np.random.default_rng(1)
OLD = RNG.normal(size=200)
NOISE = RNG.normal(scale=0.5, size=200)


def asked(shift: float, **options: object) -> GateResult:
    scores = {"bleu": {"old": OLD.tolist(), "new": (OLD + NOISE - NOISE.mean() + shift).tolist()}}
    return gate(compare_systems(scores, permutations=1000), base="old", new="new", **options)  # type: ignore[arg-type]


def test_a_worse_system_is_stopped_with_the_reason() -> None:
    found = asked(-0.5)
    assert not found.passed
    (row,) = found.rows
    assert row.difference == pytest.approx(-0.5)
    assert row.low is not None
    assert row.high is not None
    assert row.low < -0.5 < row.high < 0
    assert found.sentence.startswith("new is significantly worse than old: bleu -0.5 (95 % interval -0.")
    assert "200 instances" in found.sentence
    assert found.sentence.count("\n") == 0
    assert found.to_dict()["rows"][0]["worse"] is True


def test_a_better_system_passes() -> None:
    found = asked(0.5)
    assert found.passed
    assert found.sentence.startswith("new is not significantly worse than old: bleu +0.5")


def test_no_difference_passes_and_says_what_would_have_been_found() -> None:
    found = asked(-0.005)
    assert found.passed
    assert "would be found with 80 %" in found.sentence


def test_a_loss_that_does_not_count_passes() -> None:
    found = asked(-0.5, smallest_difference=0.6)
    assert found.passed
    assert "less than the 0.6 that counts" in found.sentence
    assert not asked(-0.7, smallest_difference=0.6).passed


def test_alpha_decides() -> None:
    values = {"m": {"old": OLD.tolist(), "new": (OLD + NOISE - NOISE.mean() - 0.09).tolist()}}
    comparison = compare_systems(values)
    p = comparison.metric().pairs[0].p_value
    assert p is not None
    assert 0.001 < p < 0.05
    assert not gate(comparison, base="old", new="new").passed
    assert gate(comparison, base="old", new="new", alpha=0.001).passed


def test_other_systems_do_not_soften_it() -> None:
    """Holm over 45 pairs would let this loss pass; the gate asks about one."""
    values = np.column_stack([OLD, OLD + NOISE - NOISE.mean() - 0.09, made(200, 8)])
    comparison = compare_systems([table(values)])
    assert not comparison.metric().pair("a", "b").significant
    assert not gate(comparison, base="a", new="b").passed


def test_what_it_would_have_found_does_not_depend_on_other_systems() -> None:
    values = np.column_stack([OLD, OLD + NOISE, made(200, 8)])
    many, two = (compare_systems([table(values[:, :k])], permutations=1000) for k in (10, 2))
    found = [gate(one, base="a", new="b").rows[0].detectable for one in (many, two)]
    assert found[0] == pytest.approx(found[1])
    assert many.metric().pair("a", "b").detectable != pytest.approx(found[0])


def test_each_metric_may_shut_it_unless_one_is_named() -> None:
    good, bad = np.column_stack([OLD, OLD + 1 + NOISE]), np.column_stack([OLD, OLD - 1 + NOISE])
    tables = [SystemScores("good", ("old", "new"), good), SystemScores("bad", ("old", "new"), bad)]
    comparison = compare_systems(tables, permutations=1000)
    found = gate(comparison, base="old", new="new")
    assert not found.passed
    assert "bad" in found.sentence
    assert "good" not in found.sentence
    assert found.sentence.endswith("alpha 0.05 (p corrected for 2 metrics)")
    assert gate(comparison, base="old", new="new", metric="good").passed


def test_a_distance_is_worse_when_it_grows() -> None:
    values = np.column_stack([OLD, OLD + 1 + NOISE])
    comparison = compare_systems([SystemScores("ter", ("old", "new"), values, higher_is_better=False)])
    found = gate(comparison, base="old", new="new")
    assert not found.passed
    assert found.rows[0].difference < 0


def test_too_few_instances_leave_it_open_and_say_so() -> None:
    scores = {"m": {"old": [5.0, 6, 7, 8, 9], "new": [1.0, 2.1, 3.2, 4, 5]}}
    found = gate(compare_systems(scores), base="old", new="new")
    assert found.passed
    assert "too few to tell" in found.sentence
    alone = gate(compare_systems({"m": {"old": [5.0], "new": [1.0]}}), base="old", new="new")
    assert alone.passed
    assert "not tested, 1 instance," in alone.sentence


def test_what_makes_no_sense() -> None:
    comparison = compare_systems({"m": {"old": [1.0, 2], "new": [1.0, 3]}})
    with pytest.raises(InputError, match="no system 'newer'"):
        gate(comparison, base="old", new="newer")
    with pytest.raises(InputError, match="not compared by 'bleu'"):
        gate(comparison, base="old", new="new", metric="bleu")
    with pytest.raises(RecipeError, match="alpha"):
        gate(comparison, base="old", new="new", alpha=0)
    with pytest.raises(RecipeError, match="smallest_difference"):
        gate(comparison, base="old", new="new", smallest_difference=-1)


def test_a_test_on_the_other_side_than_the_scores_decides_nothing_and_says_so() -> None:
    """The old system wins 36 of 40 instances, the new one has the higher mean by four wild scores."""
    old = np.full(40, 0.5) + np.arange(40) / 1e4
    new = np.where(np.arange(40) < 4, old + 9, old - 0.1)
    comparison = compare_systems({"m": {"old": old.tolist(), "new": new.tolist()}}, test="sign")
    for base, other in (("old", "new"), ("new", "old")):
        found = gate(comparison, base=base, new=other)
        assert found.passed
        assert found.rows[0].opposed
        assert found.sentence.startswith(f"{other} against {base} is not decided: m ")
        assert found.sentence.endswith(
            "but the test favours the system whose score is not the better one, so nothing is decided"
        )
