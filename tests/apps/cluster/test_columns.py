"""Which column is what, and what a row holds."""

from __future__ import annotations

from typing import Any

import pytest

from nlgauge.apps.cluster.columns import Columns, RowTexts, parse_columns
from nlgauge.core.result import from_plain, to_plain
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.large_tables import Unreadable

NAMES = ["id", "sys-a", "sys-b", "ref", "ref2", "source"]


def test_columns_are_chosen_by_name_by_pattern_or_by_what_they_are_called() -> None:
    chosen = Columns.choose({"hyp": "sys-*", "ref": ["ref2", "ref"], "src": "source", "id": "id"}, NAMES)
    assert chosen == Columns(("sys-a", "sys-b"), ("ref2", "ref"), "source", "id")
    assert chosen.systems == ("sys-a", "sys-b")
    assert from_plain(Columns, to_plain(chosen)) == chosen
    assert Columns.choose(None, ["hyp", "ref", "more"]) == Columns(("hyp",), ("ref",))
    assert Columns(("hyp",)).systems == ("",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hyps": "sys-a"}, "a column is one of hyp, ref, src, id, got 'hyps'"),
        ({"hyp": "sys-c"}, r"no column 'sys-c' \(hyp\).*it has: id, sys-a"),
        ({"ref": "ref"}, "no column of hypotheses was named"),
        ({"hyp": "ref", "id": "sys-*"}, "there can be one column id, got sys-a, sys-b"),
        ({"hyp": ["sys-a", "sys-a"]}, "hyp=sys-a was given twice"),
        ({"hyp": "*", "ref": "ref"}, r"column 'ref' is ref=, and hyp=\* takes it in too"),
    ],
)
def test_columns_that_are_not_there(given: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Columns.choose(given, NAMES)


def test_a_name_that_several_columns_have_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"has 2 columns called 'mt' \(hyp\)"):
        Columns.choose({"hyp": "mt"}, ["mt", "ref", "mt"])
    assert Columns.choose({"hyp": "ref", "ref": "ref"}, NAMES) == Columns(("ref",), ("ref",))  # by name: on purpose


@pytest.mark.parametrize("text", ["hyp", "hyp=", "hyp=a,ref"])
def test_columns_are_given_as_pairs(text: str) -> None:
    with pytest.raises(RecipeError, match="columns are given as ROLE=NAME"):
        parse_columns(text)


def test_a_row_has_as_many_references_as_it_has() -> None:
    columns = Columns(("hyp",), ("one", "more"), None, "id")
    assert columns.texts(["h", "r", ["s", "t"], 7]) == RowTexts(("h",), ("r", "s", "t"), None)
    assert columns.texts(["h", None, ["s"], 7]) == RowTexts(("h",), ("s",), None)
    assert columns.identity(["h", "r", [], 7], 3) == "7"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([None, "r", None, 1], "column 'hyp': expected a text, got None"),
        ([3.5, "r", None, 1], "column 'hyp': expected a text, got 3.5"),
        (["h", None, [], 1], "there is no reference in column one, more"),
        (["h", ["r", 2], None, 1], "column 'one': expected a text, got 2"),
        (["\ud83d", "r", None, 1], "column 'hyp'"),
        (Unreadable("the line is no JSON"), "the line is no JSON"),
    ],
)
def test_why_a_row_cannot_be_scored(row: Any, reason: str) -> None:
    found = Columns(("hyp",), ("one", "more"), None, "id").texts(row)
    assert isinstance(found, Unreadable)
    assert reason in found


@pytest.mark.parametrize(
    "row",
    [["h", None], ["h", ""], ["h", True], ["h", 1.5], ["h", "a\ud83d"], Unreadable("the line is no JSON")],
)
def test_a_row_without_an_id_is_refused(row: Any) -> None:
    with pytest.raises(InputError, match="row 5"):
        Columns(("hyp",), (), None, "id").identity(row, 5)
    assert Columns(("hyp", "id")).identity(row, 5) == "5"
