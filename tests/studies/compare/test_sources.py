"""Tables from results of nlgauge and from plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.studies.compare.made_scores import table

import nlgauge
from nlgauge.core.score import Score, SegmentNotes
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.studies.compare.sources import score_tables, system_scores
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.compare.systems import compare_systems


def result(system: str | None, values: Sequence[float], *, metric: str = "chrf", order: str = "6") -> Score:
    return Score(
        metric=metric,
        system=system,
        segments={"score": np.array(values)},
        main="score",
        higher_is_better=metric != "ter",
        signature=Signature.parse(f"{metric}|order:{order}|nlgauge:0.2.0||truncated:{len(values)}"),
        notes=SegmentNotes(),
    )


def test_results_become_one_table_per_recipe() -> None:
    results = [result("a", [1, 2]), result("a", [5, 6], metric="ter"), result("b", [3, 4])]
    results.append(result("b", [7, 8], metric="ter"))
    chrf, ter = system_scores(results, documents=["x", "y"])
    assert (chrf.metric, chrf.systems, chrf.values.tolist()) == ("chrf", ("a", "b"), [[1, 3], [2, 4]])
    assert chrf.signature == "chrf|order:6|nlgauge:0.2.0"
    assert chrf.documents == ("x", "y")
    assert (chrf.higher_is_better, ter.higher_is_better) == (True, False)


def test_another_recipe_is_refused_unless_all_systems_have_both() -> None:
    with pytest.raises(InputError, match=r"different signatures.*a has chrf\|order:6.*b has chrf\|order:4"):
        system_scores([result("a", [1, 2]), result("b", [1, 2], order="4")])
    both = [result(name, [1, 2], order=order) for order in "64" for name in "ab"]
    assert [one.metric for one in system_scores(both)] == ["chrf (1)", "chrf (2)"]


def test_a_mapping_of_numbers() -> None:
    (found,) = score_tables({"comet": {"a": [0.5, 0.25], "b": [0.75, 1]}})
    assert (found.metric, found.systems, found.values.tolist()) == ("comet", ("a", "b"), [[0.5, 0.75], [0.25, 1]])


def test_tables_follow_the_order_of_the_first() -> None:
    other = SystemScores("other", ("b", "a"), np.array([[1.0, 2.0]]))
    assert score_tables([table([[1.0, 2.0]]), other])[1].systems == ("a", "b")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "nothing to compare"),
        ({}, "nothing to compare"),
        ({"m": {}}, "at least one system"),
        ({"m": [1, 2]}, "must map at least one system"),
        ({"m": {"a": [1, 2], "b": [1]}}, "'a' has 2 instances, system 'b' has 1"),
        ({"m": {"a": [1, float("nan")]}}, "system 'a' needs finite values, got nan at index 1"),
        ({"m": {"a": []}}, "non-empty"),
        ({"m": {"a": [1]}, "o": {"b": [1]}}, "system 'a' has scores of 'm' but none of 'o'"),
        ({"m": {"a": [1]}, "o": {"a": [1, 2]}}, "'m' has 1 instances, 'o' has 2"),
        ([table([[1.0]]), table([[1.0]])], "two tables of scores are called 'm'"),
        ([result("a", [1, 2]), result("b", [1])], "'a' has 2 instances, system 'b' has 1"),
        ([result("a", [1, 2]), result("a", [1, 2])], "two systems are called 'a'"),
        ([result("a", [1, 2]), result(None, [1, 2])], "no system name"),
        ([result("a", [1, 2]), replace(result("b", [1, 2]), higher_is_better=False)], "whether higher is better"),
        ([1.0, 2.0], "expected Score or SystemScores objects, or a mapping, got float"),
    ],
)
def test_what_cannot_be_compared(scores: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score_tables(scores)  # type: ignore[arg-type]


def test_results_against_other_references_are_refused() -> None:
    first = nlgauge.score_systems({"a": ["a b c", "d e f"]}, ["a b d", "d e g"], metric="chrf")
    other = nlgauge.score_systems({"b": ["a b c", "d e f"]}, ["a b d", "d e h"], metric="chrf")
    same = nlgauge.score_systems({"b": ["a b x", "d e f"]}, ["a b d", "d e g"], metric="chrf")
    with pytest.raises(InputError, match=r"different references: segment 1 has \('d e g',\) and \('d e h',\)"):
        system_scores([*first, *other])
    assert system_scores([*first, *same])[0].systems == ("a", "b")


@pytest.mark.parametrize("scores", [3, None, "bleu", object()])
def test_what_is_no_scores_is_refused_by_its_value(scores: object) -> None:
    with pytest.raises(InputError, match=f"mapping of numbers by metric and system, got {scores!r}"):
        compare_systems(scores)  # type: ignore[arg-type]
