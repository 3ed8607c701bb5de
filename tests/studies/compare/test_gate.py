"""The gate fails if the new system is significantly worse, each metric by itself, and gives the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.compare.made_scores import made, scores_of, table

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.compare.comparison import TestName
from nlgauge.studies.compare.gates import GateResult, gate
from nlgauge.studies.compare.systems import compare_systems

RNG = np.random.default_rng(1)
OLD = RNG.normal(size=200)
NOISE = RNG.normal(scale=0.5, size=200)


def asked(shift: float, **options: object) -> GateResult:
    scores = {"bleu": {"old": OLD.tolist(), "new": (OLD + NOISE - NOISE.mean() + shift).tolist()}}
    return gate(compare_systems(scores, permutations=1000), base="old", new="new", **options)  # type: ignore[arg-type]


def test_gate_fails_when_new_system_is_worse() -> None:
    result = asked(-0.5)
    assert (result.result, result.passed, result.failed) == ("failed", False, True)
    (row,) = result.rows
    assert row.difference == pytest.approx(-0.5)
    assert row.low is not None
    assert row.high is not None
    assert row.low < -0.5 < row.high < 0
    assert result.sentence.startswith("new is significantly worse than old: bleu -0.5 (95 % interval -0.")
    assert result.sentence.endswith("200 segments; alpha 0.05")
    assert result.sentence.count("\n") == 0
    record = result.to_dict()
    assert (record["result"], record["rows"][0]["result"]) == ("failed", "failed")


def test_gate_passes_when_new_system_is_better() -> None:
    assert asked(0.5).result == "passed"


def test_passed_gate_names_the_drop_that_would_be_found() -> None:
    result = asked(-0.005)
    assert (result.result, result.passed, result.failed) == ("passed", True, False)
    detectable = result.rows[0].detectable
    assert detectable is not None
    # (t(.975) + t(.8), 199 degrees of freedom) standard errors of NOISE, from a table of Student's t.
    assert detectable == pytest.approx((1.972 + 0.843) * NOISE.std(ddof=1) / 200**0.5, rel=1e-3)
    assert result.sentence == (
        f"no significant drop (this test set can detect a drop of {detectable:.2g} with 80 % power)"
    )


def test_drop_below_the_smallest_difference_passes() -> None:
    result = asked(-0.5, smallest_difference=0.6)
    assert result.result == "passed"
    assert result.sentence.startswith("no significant drop of 0.6 or more (this test set")
    assert asked(-0.7, smallest_difference=0.6).result == "failed"


def test_alpha_decides() -> None:
    values = {"m": {"old": OLD.tolist(), "new": (OLD + NOISE - NOISE.mean() - 0.09).tolist()}}
    comparison = compare_systems(values)
    p = comparison.metric().pairs[0].p_value
    assert p is not None
    assert 0.001 < p < 0.05
    assert gate(comparison, base="old", new="new").result == "failed"
    assert gate(comparison, base="old", new="new", alpha=0.001).result == "passed"


def test_other_systems_do_not_soften_it() -> None:
    """Holm over 45 pairs would let this drop pass; the gate asks about one, and explains the missing star."""
    values = np.column_stack([OLD, OLD + NOISE - NOISE.mean() - 0.09, made(200, 8)])
    comparison = compare_systems([table(values)])
    assert not comparison.metric().pair("a", "b").significant
    result = gate(comparison, base="a", new="b")
    assert result.result == "failed"
    assert result.sentence.endswith(
        "(the gate tests this pair alone, stars in the tables are corrected for 45 pairs)"
    )
    assert gate(comparison, base="b", new="a").sentence.startswith("no significant drop from b to a (")


def test_what_it_would_have_found_does_not_depend_on_other_systems() -> None:
    values = np.column_stack([OLD, OLD + NOISE, made(200, 8)])
    many, two = (compare_systems([table(values[:, :k])], permutations=1000) for k in (10, 2))
    result = [gate(item, base="a", new="b").rows[0].detectable for item in (many, two)]
    assert result[0] == pytest.approx(result[1])
    assert many.metric().pair("a", "b").detectable != pytest.approx(result[0])


def test_each_metric_can_fail_it_unless_one_is_named() -> None:
    good, bad = np.column_stack([OLD, OLD + 1 + NOISE]), np.column_stack([OLD, OLD - 1 + NOISE])
    tables = [scores_of("good", ("old", "new"), good), scores_of("bad", ("old", "new"), bad)]
    comparison = compare_systems(tables, permutations=1000)
    result = gate(comparison, base="old", new="new")
    assert result.result == "failed"
    assert "bad" in result.sentence
    assert "good" not in result.sentence
    named = gate(comparison, base="old", new="new", metric="good")
    assert named.result == "passed"
    assert named.sentence.startswith("no significant drop by good, the only gate metric (this test set can detect")
    turned = gate(comparison, base="new", new="old", metric="bad")
    assert turned.result == "passed"


def test_a_second_metric_does_not_open_a_gate_that_the_first_fails() -> None:
    """p = .044 of one metric; corrected for two metrics by Holm it would be .087, and pass."""
    drop = NOISE - NOISE.mean()
    drop -= drop.std(ddof=1) / 200**0.5 * 2.03  # t = 2.03 with 199 degrees of freedom: p = .044
    metrics = {name: {"old": OLD.tolist(), "new": (OLD + drop).tolist()} for name in ("bertscore", "moverscore")}
    alone = gate(compare_systems({"bertscore": metrics["bertscore"]}, test="t"), base="old", new="new")
    assert alone.rows[0].p_value == pytest.approx(0.044, abs=0.001)
    both = gate(compare_systems(metrics, test="t"), base="old", new="new")
    assert (alone.result, both.result) == ("failed", "failed")
    assert [row.result for row in both.rows] == ["failed", "failed"]
    assert both.rows[0].p_value == alone.rows[0].p_value


_SEVERITY = {"passed": 0, "undecided": 1, "failed": 2}


@pytest.mark.heavy
@given(
    shifts=st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=4),
    added=st.floats(-0.3, 0.3),
    n=st.integers(4, 40),
    test=st.sampled_from(["t", "bootstrap", "sign", "wilcoxon"]),
    seed=st.integers(0, 50),
)
@settings(max_examples=60)
def test_more_metrics_never_make_a_gate_more_lenient(
    shifts: list[float], added: float, n: int, test: TestName, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    metrics = {}
    for index, shift in enumerate([*shifts, added]):
        old = rng.normal(size=n)
        metrics[f"m{index}"] = {"old": old.tolist(), "new": (old + shift + rng.normal(scale=0.3, size=n)).tolist()}
    fewer = {name: metrics[name] for name in list(metrics)[:-1]}
    results = [
        gate(compare_systems(scores, test=test, permutations=200, resamples=100), base="old", new="new")
        for scores in (fewer, metrics)
    ]
    failing = [{row.metric for row in result.rows if row.result == "failed"} for result in results]
    assert failing[0] <= failing[1]
    assert _SEVERITY[results[0].result] <= _SEVERITY[results[1].result]


@pytest.mark.parametrize("test", ["bootstrap", "t", "sign", "wilcoxon", "randomisation"])
@pytest.mark.parametrize("shift", [-0.4, -0.1, 0.0, 0.1, 0.4])
@pytest.mark.parametrize("n", [6, 40])
def test_verdicts_and_gate_do_not_contradict_each_other(test: TestName, shift: float, n: int) -> None:
    """Of two systems: the gate fails by exactly those metrics whose verdict calls the old system better."""
    rng = np.random.default_rng(3)
    metrics = {}
    for index in range(3):
        old = rng.normal(size=n)
        metrics[f"m{index}"] = {"old": old.tolist(), "new": (old + shift + rng.normal(scale=0.5, size=n)).tolist()}
    comparison = compare_systems(metrics, test=test, permutations=1000)
    result = gate(comparison, base="old", new="new")
    for row in result.rows:
        better = comparison.metric(row.metric).pair("old", "new").better
        assert (row.result == "failed") == (better == "old")


def test_a_distance_is_worse_when_it_grows() -> None:
    values = np.column_stack([OLD, OLD + 1 + NOISE])
    comparison = compare_systems([scores_of("ter", ("old", "new"), values, higher_is_better=False)])
    result = gate(comparison, base="old", new="new")
    assert result.result == "failed"
    assert result.rows[0].difference < 0


def test_too_few_segments_leave_it_undecided() -> None:
    scores = {"m": {"old": [5.0, 6, 7, 8, 9], "new": [1.0, 2.1, 3.2, 4, 5]}}
    result = gate(compare_systems(scores), base="old", new="new")
    assert (result.result, result.passed, result.failed) == ("undecided", False, False)
    assert result.sentence == "5 segments are too few to decide, at least 10 are needed"
    alone = gate(compare_systems({"m": {"old": [5.0], "new": [1.0]}}), base="old", new="new")
    assert alone.result == "undecided"
    assert alone.sentence == "1 segment is too few to decide, at least 10 are needed"


def test_too_few_documents_leave_it_undecided() -> None:
    documents = tuple(str(index % 6) for index in range(200))
    tables = [scores_of("m", ("old", "new"), np.column_stack([OLD, OLD - 1 + NOISE]), documents=documents)]
    result = gate(compare_systems(tables), base="old", new="new")
    assert result.sentence == "6 documents are too few to decide, at least 10 are needed"


@pytest.mark.parametrize(
    ("options", "alpha", "sentence"),
    [
        (
            {"test": "sign"},
            0.001,
            "the smallest possible p value of test sign is 0.002, not below 0.001; use more segments",
        ),
        (
            {"test": "randomisation", "permutations": 100},
            0.005,
            "the smallest possible p value of test randomisation is 0.0099, not below 0.005; use more permutations",
        ),
    ],
)
def test_a_test_that_cannot_reach_alpha_is_undecided(options: dict[str, Any], alpha: float, sentence: str) -> None:
    """Ten segments have 2 ** 10 patterns of signs; the smallest p of 100 permutations is 1 / 101."""
    scores = {"m": {"old": [float(x) for x in range(10)], "new": [x - 9.5 - x / 7 for x in range(10)]}}
    result = gate(compare_systems(scores, **options), base="old", new="new", alpha=alpha)
    assert (result.result, result.sentence) == ("undecided", sentence)


def test_unknown_names_and_invalid_bounds_are_refused() -> None:
    comparison = compare_systems({"m": {"old": [1.0, 2], "new": [1.0, 3]}})
    with pytest.raises(InputError, match="no system 'newer'"):
        gate(comparison, base="old", new="newer")
    with pytest.raises(InputError, match="no comparison by 'bleu'"):
        gate(comparison, base="old", new="new", metric="bleu")
    with pytest.raises(RecipeError, match="alpha"):
        gate(comparison, base="old", new="new", alpha=0)
    with pytest.raises(RecipeError, match="smallest_difference"):
        gate(comparison, base="old", new="new", smallest_difference=-1)


def test_a_test_on_the_other_side_than_the_scores_is_undecided() -> None:
    """The old system wins 36 of 40 segments, the new one has the higher mean by four wild scores."""
    old = np.full(40, 0.5) + np.arange(40) / 1e4
    new = np.where(np.arange(40) < 4, old + 9, old - 0.1)
    comparison = compare_systems({"m": {"old": old.tolist(), "new": new.tolist()}}, test="sign")
    for base, other in (("old", "new"), ("new", "old")):
        result = gate(comparison, base=base, new=other)
        assert result.result == "undecided"
        assert result.sentence == "test sign favours old, but new has the better score"


@pytest.mark.parametrize(
    ("test", "alpha", "ties", "remedy"),
    [
        ("randomisation", 0.001, 0, "use more segments"),  # 2 ** -9 = .00195 is the smallest share of sign patterns
        ("sign", 0.05, 7, "use more segments"),  # three segments differ: 2 ** -2 = .25
        ("bootstrap", 0.0001, 0, "use more segments"),
    ],
)
def test_gate_is_undecided_where_no_p_value_could_fail_it(
    test: TestName, alpha: float, ties: int, remedy: str
) -> None:
    old = np.arange(10.0)
    new = old - np.where(np.arange(10) < ties, 0.0, 10.0 + 0.1 * np.arange(10))
    comparison = compare_systems({"bleu": {"old": old.tolist(), "new": new.tolist()}}, test=test)
    result = gate(comparison, base="old", new="new", alpha=alpha)
    assert result.result == "undecided"
    assert f"not below {alpha:g}; {remedy}" in result.sentence


def test_identical_outputs_pass_under_every_test() -> None:
    for test in ("bootstrap", "randomisation", "sign", "wilcoxon", "t"):
        comparison = compare_systems({"bleu": {"old": OLD.tolist(), "new": OLD.tolist()}}, test=test)
        assert gate(comparison, base="old", new="new").result == "passed", test


@pytest.mark.parametrize(
    ("shift", "margin", "result"),
    [
        # NOISE has a standard deviation of about .5, so the interval of the mean of 200 reaches .07 to both sides.
        (0.0, 0.2, "passed"),
        (-0.1, 0.2, "passed"),
        (-0.2, 0.2, "undecided"),
        (-0.5, 0.2, "failed"),
        (0.5, 0.001, "passed"),
    ],
)
def test_margin_is_compared_with_the_interval(shift: float, margin: float, result: str) -> None:
    decision = asked(shift, margin=margin)
    (row,) = decision.rows
    assert row.low is not None
    assert row.high is not None
    expected = "passed" if row.low > -margin else "failed" if row.high < -margin else "undecided"
    assert decision.result == result == expected
    claims = {"passed": "new is not worse than old by more than", "failed": "new is worse than old by more than"}
    assert decision.sentence.startswith(f"{claims[result]} {margin:g}: bleu " if result in claims else "the interval")
    assert decision.to_dict()["margin"] == margin
    assert GateResult.from_dict(decision.to_dict()) == decision


def test_gate_without_margin_has_no_field_for_it() -> None:
    assert not {"margin", "min_segments"} & asked(0.0).to_dict().keys()


def test_too_few_segments_for_the_user_are_undecided() -> None:
    decision = asked(-0.5, min_segments=201)
    assert decision.result == "undecided"
    assert decision.sentence == "200 segments, at least 201 are required (min_segments)"
    assert asked(-0.5, min_segments=200).result == "failed"


def test_another_metric_never_lets_a_gate_with_margin_pass() -> None:
    worse, better = (OLD - 1 + NOISE * 0.1).tolist(), (OLD + 1 + NOISE * 0.1).tolist()
    scores = {"bleu": {"old": OLD.tolist(), "new": worse}, "chrf": {"old": OLD.tolist(), "new": better}}
    for names in (["bleu"], ["bleu", "chrf"]):
        comparison = compare_systems({name: scores[name] for name in names}, permutations=200)
        decision = gate(comparison, base="old", new="new", margin=0.1)
        assert decision.failed
        assert [row.result for row in decision.rows] == ["failed", "passed"][: len(names)]


def test_wrong_margins_are_refused() -> None:
    with pytest.raises(RecipeError, match="margin must be a number above 0, got 0"):
        asked(0.0, margin=0)
    with pytest.raises(RecipeError, match=r"margin is 0\.1 and smallest_difference is 0\.2; give one of them"):
        asked(0.0, margin=0.1, smallest_difference=0.2)
    with pytest.raises(RecipeError, match=r"needs intervals of level 0\.99, got 0\.95; compare with level=0\.99"):
        asked(0.0, margin=0.1, alpha=0.01)
