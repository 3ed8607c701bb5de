"""Verdicts of judges, with and without a taste for the first place."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.verdicts import Verdict, compare_verdicts

FAST = CompareSettings(resamples=100)
STRENGTH = {"a": 4.0, "b": 2.0, "c": 1.0}


def judged(n: int, *, bias: float = 1.0, both: bool = True, seed: int = 0) -> list[Verdict]:
    """A judge by Bradley-Terry, who likes the first output `bias` times as much."""
    rng = np.random.default_rng(seed)
    messages = []
    for index, (left, other) in itertools.product(range(n), itertools.combinations(STRENGTH, 2)):
        for first, second in [(left, other), (other, left)][: 1 + both]:
            chance = bias * STRENGTH[first] / (bias * STRENGTH[first] + STRENGTH[second])
            messages.append(Verdict(str(index), first, second, "first" if rng.random() < chance else "second"))
    return messages


def test_strengths_are_those_of_the_judge() -> None:
    result = compare_verdicts(judged(400), settings=FAST)
    assert [row.system for row in result.systems] == ["a", "b", "c"]
    assert [row.bradley_terry for row in result.systems] == pytest.approx([4 / 7, 2 / 7, 1 / 7], abs=0.03)
    for row, truth in zip(result.systems, (4 / 7, 2 / 7, 1 / 7), strict=True):
        assert row.bt_interval is not None
        assert row.bt_interval.low < truth < row.bt_interval.high
    assert result.win_matrix[0, 1] == pytest.approx(2 / 3, abs=0.06)
    assert result.p_matrix[0, 1] < 0.001
    assert (result.condorcet, result.connected) == ("a", True)
    assert (result.verdicts, result.instances) == (2400, 400)


def test_a_fair_judge_has_no_bias_and_a_partial_one_does() -> None:
    fair, partial = (compare_verdicts(judged(100, bias=bias), settings=FAST) for bias in (1.0, 2.0))
    assert fair.position.p_value > 0.05
    assert not any("prefers" in note for note in fair.notes)
    assert partial.position.p_value < 1e-4
    assert any(note.startswith("the judge prefers the output shown first") for note in partial.notes)
    assert partial.position.share_first is not None
    assert partial.position.share_first > 0.55


def test_preference_for_the_second_position_is_noted() -> None:
    result = compare_verdicts(judged(100, bias=0.4), settings=FAST)
    assert any(note.startswith("the judge prefers the output shown second") for note in result.notes)


def test_counts_of_pairs_judged_in_both_orders() -> None:
    messages = [
        Verdict("1", "a", "b", "first"), Verdict("1", "b", "a", "second"),  # a, both times
        Verdict("2", "a", "b", "first"), Verdict("2", "b", "a", "first"),  # the first, both times
        Verdict("3", "a", "b", "tie"), Verdict("3", "b", "a", "tie"),
        Verdict("4", "a", "b", "second"), Verdict("4", "b", "a", "second"),  # the second, both times
        Verdict("5", "a", "b", "tie"), Verdict("5", "b", "a", "first"),  # neither
        Verdict("6", "a", "b", "first"),  # in one order only
    ]  # fmt: skip
    position = compare_verdicts(messages, settings=FAST).position
    assert (position.first, position.second, position.ties) == (5, 3, 3)
    assert (position.swapped, position.agreed, position.first_twice, position.second_twice) == (5, 2, 1, 1)
    assert position.p_value == 1


def test_one_order_only_cannot_tell_bias_from_quality() -> None:
    result = compare_verdicts(judged(100, both=False), settings=FAST)
    assert "no pair was judged in both orders" in result.notes[0]
    assert "the output shown first won unusually often" in result.notes[1]


@pytest.mark.parametrize(("ties", "strength"), [("half", 0.625), ("drop", 2 / 3), ("second", 0.5)])
def test_ties_by_policy(ties: str, strength: float) -> None:
    messages = [Verdict(str(index), "a", "b", "first") for index in range(4)]
    messages += [Verdict(str(index), "a", "b", "second") for index in range(4, 6)]
    messages += [Verdict(str(index), "b", "a", "tie") for index in range(6, 8)]
    result = compare_verdicts(messages, settings=CompareSettings(ties=ties, resamples=2000))  # type: ignore[arg-type]
    row = next(row for row in result.systems if row.system == "a")
    assert row.bradley_terry == pytest.approx(strength, abs=1e-4)
    assert (row.wins, row.ties, row.losses) == (4, 2, 2)
    assert row.bt_interval is not None
    assert row.bt_interval.low < strength < row.bt_interval.high


def test_few_verdicts_and_odd_ones() -> None:
    first = compare_verdicts([Verdict("1", "a", "b", "first")], settings=FAST)
    assert first.systems[0].bt_interval is None
    assert {
        "1 instance: too few. Intervals need at least 4; below 10 no difference is called significant",
        "b never won",
        "a never lost",
    } <= set(first.notes)
    assert not first.connected
    tied = compare_verdicts([Verdict(str(index), "a", "b", "tie") for index in range(5)], settings=FAST)
    assert [row.bradley_terry for row in tied.systems] == [0.5, 0.5]
    assert [row.rank for row in tied.systems] == [1, 1]
    assert "all verdicts are ties" in tied.notes
    dropped = compare_verdicts(
        [Verdict(str(index), "a", "b", "tie") for index in range(5)],
        settings=CompareSettings(ties="drop", resamples=100),
    )
    assert [row.bradley_terry for row in dropped.systems] == [0.5, 0.5]


def test_the_result_is_json() -> None:
    record = json.dumps(compare_verdicts(judged(5), settings=FAST).to_dict(), allow_nan=False)
    assert json.loads(record)["position"]["swapped"] == 15
    unconnected = [Verdict("1", "a", "b", "first"), Verdict("1", "c", "d", "tie")]
    assert (
        json.loads(json.dumps(compare_verdicts(unconnected).to_dict(), allow_nan=False))["win_matrix"][0][0] is None
    )


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ([], "expected at least one verdict"),
        ([Verdict("1", "a", "a", "first")], "verdict 0 compares system 'a' with itself"),
        ([Verdict("1", "a", "b", "A")], "verdict 0: the winner must be first, second or tie, got 'A'"),  # type: ignore[arg-type]
    ],
)
def test_invalid_verdicts_are_refused(verdicts: list[Verdict], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_verdicts(verdicts)


def test_pairs_are_tested_with_one_voice_per_instance_and_corrected() -> None:
    """a against b: 12 instances judged in both orders, 11 for a; that is 11 to 1, not 22 to 2."""
    messages = []
    for index in range(12):
        wins = index > 0
        messages += [
            Verdict(str(index), "a", "b", "first" if wins else "second"),
            Verdict(str(index), "b", "a", "second" if wins else "first"),
            Verdict(str(index), "b", "c", "first" if index % 2 else "second"),
        ]
    result = compare_verdicts(messages, settings=FAST)
    pair = {frozenset((item.first, item.second)): item for item in result.pairs}
    ab, bc, ac = (pair[frozenset(names)] for names in ("ab", "bc", "ac"))
    assert sorted((ab.wins, ab.losses)) == [1, 11]
    assert ab.p_value == pytest.approx(2 * 13 / 2**12)
    assert ab.p_adjusted == pytest.approx(3 * ab.p_value)
    assert (ab.significant, ab.better) == (True, "a")
    assert (bc.p_value, bc.better) == (1, None)
    assert (ac.wins, ac.ties, ac.losses, ac.p_value) == (0, 0, 0, 1)
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert len(record["pairs"]) == 3
    assert any("can be too narrow below 30" in note for note in result.notes)


def test_below_ten_instances_no_verdict_is_significant() -> None:
    messages = [Verdict(str(index), "a", "b", "first") for index in range(9)]
    (pair,) = compare_verdicts(messages, settings=FAST).pairs
    assert pair.p_value < 0.01
    assert (pair.significant, pair.better) == (False, None)
    assert (
        "9 instances: below 10 no difference is called significant" in compare_verdicts(messages, settings=FAST).notes
    )
