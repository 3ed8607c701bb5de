"""Views of scores as matrices: what they show, what they come from, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.compare.made_scores import scores_of, table

import nlgauge
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import Signature
from nlgauge.data.score_files import ImportedScores, read_score_file
from nlgauge.errors import InputError, SignatureError
from nlgauge.studies.compare.system_scores import (
    SystemScores,
    imported_table,
    in_line_with,
    match_system,
    score_tables,
    system_scores,
)
from nlgauge.studies.compare.systems import compare_systems


def result(system: str | None, values: Sequence[float], *, metric: str = "chrf", order: str = "6") -> Score:
    return Score(
        metric=metric,
        system=system,
        segments={"score": np.array(values, dtype=float)},
        main="score",
        higher_is_better=metric != "ter",
        signature=Signature.parse(f"{metric}|order:{order}|nlgauge:0.2.0||truncated:{len(values)}"),
        notes={},
    )


def test_a_distance_is_turned_round_once() -> None:
    scores = table([[1.0, 2.0], [3.0, 4.0]], higher_is_better=False)
    assert scores.oriented.tolist() == [[-1, -2], [-3, -4]]
    assert scores.values.tolist() == [[1, 2], [3, 4]]
    assert (scores.n, scores.k) == (2, 2)
    assert scores.instances == ("0", "1")
    assert "lower is better" in repr(scores)


def test_scores_cannot_be_changed() -> None:
    given = np.ones(2)
    scores = SystemScores(ScoreTable.from_numbers("m", {"a": given}))
    given[0] = 7
    assert scores.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 7


def test_some_systems_in_another_order() -> None:
    counts = np.arange(12.0).reshape(2, 3, 2)
    taken = table([[1.0, 2.0, 3.0]] * 2, counts=counts).take(["c", "a"])
    assert taken.systems == ("c", "a")
    assert taken.values.tolist() == [[3, 1]] * 2
    assert taken.counts is not None
    assert np.array_equal(taken.counts, counts[:, [2, 0]])
    with pytest.raises(InputError, match="for system 'x'"):
        taken.take(["a", "x"])


@pytest.mark.parametrize(
    ("names", "message"),
    [({"instances": ("one",)}, "2 rows, but 1 instances"), ({"documents": ("one",) * 3}, "2 rows, but 3 documents")],
)
def test_other_numbers_of_names_are_refused(names: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(InputError, match=f"'m' have {message}"):
        table([[1.0, 2.0], [3.0, 4.0]], **names)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0, float("nan")]], "system 'b' has nan for instance '1'"),
        ([[1.0, float("inf")], [3.0, float("nan")]], "system 'b' has inf for instance '0', and 1 more"),
    ],
)
def test_scores_that_are_not_finite_are_refused(values: list[list[float]], message: str) -> None:
    scores = [result(name, column) for name, column in zip("ab", np.transpose(values).tolist(), strict=True)]
    with pytest.raises(InputError, match=f"scores of 'chrf': {message}"):
        system_scores(scores)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_sizes_whose_squares_are_no_numbers_are_refused(size: float) -> None:
    with pytest.raises(InputError, match=r"the largest is .*2e.*system 'b' for instance '1'.*scale all scores"):
        table([[0.0, size], [size, -2 * size]])
    assert table(np.zeros((2, 2))).n == 2


def test_results_become_one_view_per_recipe() -> None:
    results = [result("a", [1, 2]), result("a", [5, 6], metric="ter"), result("b", [3, 4])]
    results.append(result("b", [7, 8], metric="ter"))
    chrf, ter = system_scores(results, documents=["x", "y"])
    assert (chrf.metric, chrf.systems, chrf.values.tolist()) == ("chrf", ("a", "b"), [[1, 3], [2, 4]])
    assert chrf.scores[0] is results[0]
    assert chrf.signature == "chrf|order:6|nlgauge:0.2.0"
    assert chrf.documents == ("x", "y")
    assert (chrf.higher_is_better, ter.higher_is_better) == (True, False)


def test_a_view_of_several_recipes_is_refused() -> None:
    table = ScoreTable((result("a", [1.0, 2.0]), result("b", [1.0, 2.0], order="5")))
    with pytest.raises(SignatureError, match="their signatures differ"):
        SystemScores(table)


@pytest.mark.parametrize("scores", [ScoreTable(()), [1.0, 2.0]])
def test_a_view_needs_a_table_with_scores(scores: Any) -> None:
    with pytest.raises(InputError, match="must be a ScoreTable with a score per system"):
        SystemScores(scores)


def test_names_of_systems_may_be_numbers() -> None:
    assert nlgauge.compare_systems({"m": {1: [1.0, 2.0, 3.0], 2: [2.0, 3.0, 4.5]}}).winners == {"m": "2"}


def test_another_recipe_is_refused_unless_all_systems_have_both() -> None:
    with pytest.raises(SignatureError, match=r"chrf of 'a' and of 'b' do not compare.*order 6 and 4; score the"):
        system_scores([result("a", [1, 2]), result("b", [1, 2], order="4")])
    both = [result(name, [1, 2], order=order) for order in "64" for name in "ab"]
    assert [view.metric for view in system_scores(both)] == ["chrf (1)", "chrf (2)"]


def test_a_mapping_of_numbers() -> None:
    (actual,) = score_tables({"comet": {"a": [0.5, 0.25], "b": [0.75, 1]}})
    assert (actual.metric, actual.systems, actual.values.tolist()) == ("comet", ("a", "b"), [[0.5, 0.75], [0.25, 1]])
    assert actual.signature == ""


def test_views_follow_the_order_of_the_first() -> None:
    other = scores_of("other", ("b", "a"), [[1.0, 2.0]])
    assert score_tables([table([[1.0, 2.0]]), other])[1].systems == ("a", "b")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "expected at least one score to compare"),
        ({}, "expected at least one score to compare"),
        ({"m": {}}, "at least one system"),
        ({"m": [1, 2]}, "must map at least one system"),
        ({"m": {"a": ["x", "y"]}}, "'m', system 'a': expected numbers"),
        ({"m": {"a": [1, 2], "b": [1]}}, "'a' has 2 instances, system 'b' has 1"),
        ({"m": {"a": [1, float("nan")]}}, "system 'a' needs finite values, got nan at index 1"),
        ({"m": {"a": []}}, "non-empty"),
        ({"m": {"a": [1]}, "o": {"b": [1]}}, "system 'a' has scores of 'm' but none of 'o'"),
        ({"m": {"a": [1]}, "o": {"a": [1, 2]}}, "'m' has 1 instances, 'o' has 2"),
        ([table([[1.0]]), table([[1.0]])], "two tables of scores have the metric 'm'"),
        ([result("a", [1, 2]), result("b", [1])], "'a' has 2 instances, system 'b' has 1"),
        ([result("a", [1, 2]), result("a", [1, 2])], "two systems are called 'a'"),
        ([result("a", [1, 2]), result(None, [1, 2])], "no system name"),
        ([result("a", [1, 2]), replace(result("b", [1, 2]), higher_is_better=False)], "whether higher is better"),
        ([1.0, 2.0], "expected Score or SystemScores objects, or a mapping, got float"),
    ],
)
def test_scores_that_do_not_compare_are_refused(scores: object, message: str) -> None:
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


def read(folder: Path, text: str, name: str = "comet.csv", **options: object) -> ImportedScores:
    (folder / name).write_text(text)
    (actual,) = read_score_file(folder / name, **options)  # type: ignore[arg-type]
    return actual


def test_imported_scores_of_the_systems_asked_for(tmp_path: Path) -> None:
    imported = read(tmp_path, "doc,a,b,c\nx,1,2,3\ny,4,5,6\n", lower_is_better=["comet"])
    actual = imported_table(imported, systems=["c.txt", "a.txt"], segments=2)
    assert (actual.systems, actual.documents, actual.higher_is_better) == (("c.txt", "a.txt"), ("x", "y"), False)
    np.testing.assert_array_equal(actual.values, [[3, 1], [6, 4]])
    assert actual.signature.startswith("comet|scores:")
    assert imported_table(imported, documents=["p", "p"]).documents == ("p", "p")
    with pytest.raises(InputError, match="has scores of 2 segments under comet, but there are 3 segments to compare"):
        imported_table(imported, segments=3)


def test_names_match_without_folder_and_suffix(tmp_path: Path) -> None:
    imported = read(tmp_path, "out/a.txt,b,x.y,b.txt\n1,2,3,4\n")
    assert [match_system(name, imported) for name in ("out/a.txt", "a.txt", "b", "b.txt", "x")] == [
        "out/a.txt", "out/a.txt", "b", "b.txt", "x.y",
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"'b' and 'b.txt' could both be the system 'b.tsv'"):
        match_system("b.tsv", imported)
    with pytest.raises(
        InputError, match=r"has scores of 'out/a.txt', 'b', .*but none of system 'q.txt'; name its columns"
    ):
        match_system("q.txt", imported)


def test_two_files_are_put_in_one_order(tmp_path: Path) -> None:
    first = read(tmp_path, "id,a\np,1\nq,2\n")
    other = read(tmp_path, "id,doc,a\nq,y,20\np,x,10\n", "bleurt.csv")
    actual = in_line_with(first, other)
    assert (actual.instances, actual.documents, actual.scores[0].score.tolist()) == (("p", "q"), ("x", "y"), [10, 20])
    with pytest.raises(InputError, match=r"bleurt.csv lacks segment 'q', which .*comet.csv has"):
        in_line_with(first, read(tmp_path, "id,a\np,1\n", "bleurt.csv"))
    with pytest.raises(InputError, match=r"comet.csv lacks segment 'r', which .*bleurt.csv has"):
        in_line_with(first, read(tmp_path, "id,a\np,1\nq,2\nr,3\n", "bleurt.csv"))
