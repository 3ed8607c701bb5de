"""Verdicts of judges from files: who was shown where, and who won."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.studies.compare.verdicts import Verdict, is_verdict_file, read_verdicts


def write(folder: Path, *rows: str, name: str = "judge.csv") -> Path:
    (folder / name).write_text("\n".join(rows) + "\n")
    return folder / name


def test_the_words_for_a_winner(tmp_path: Path) -> None:
    words = ["x", "y", "first", "second", "A", "B", "1", "2", "tie", "Draw", "neither"]
    path = write(tmp_path, "id,first,second,winner", *(f"{index},x,y,{word}" for index, word in enumerate(words)))
    result = [verdict.winner for verdict in read_verdicts(path)]
    assert result == ["first", "second"] * 4 + ["tie"] * 3


def test_a_name_that_is_also_the_word_for_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, "id,first,second,winner", "1,a,b,a", "2,A,B,B", "3,first,x,first")
    assert [verdict.winner for verdict in read_verdicts(path)] == ["first", "second", "first"]


@pytest.mark.parametrize(
    ("row", "means"),
    [
        ("1,B,A,A", "'A' is the name of the second system, and also means that the other one won"),
        ("1,b,a,b", "'b' is the name of the first system, and also means that the other one won"),
        ("1,second,first,second", "'second' is the name of the first system, and also means that the other one won"),
        ("1,none,x,none", "'none' is the name of the first system, and also means a tie"),
    ],
)
def test_ambiguous_system_name_is_refused(tmp_path: Path, row: str, means: str) -> None:
    with pytest.raises(FileFormatError, match=f"line 2, column 'winner': {means}; rename the systems"):
        read_verdicts(write(tmp_path, "id,first,second,winner", row))


def test_position_column_swaps_the_systems(tmp_path: Path) -> None:
    rows = ["1,x,y,x,1", "1,x,y,y,2", "2,x,y,tie,second"]
    path = write(tmp_path, "instance,first,second,winner,position", *rows)
    assert read_verdicts(path) == [
        Verdict("1", "x", "y", "first"),
        Verdict("1", "y", "x", "first"),
        Verdict("2", "y", "x", "tie"),
    ]


def test_jsonl_and_names_of_columns(tmp_path: Path) -> None:
    row = {"item": 3, "first": "x", "second": "y", "winner": "tie", "why": "..."}
    path = write(tmp_path, json.dumps(row), name="judge.jsonl")
    assert read_verdicts(path, columns={"segment": "item"}) == [Verdict("3", "x", "y", "tie")]
    with pytest.raises(RecipeError, match="no column for the instance of a verdict"):
        read_verdicts(path)


def test_files_of_verdicts_are_told_from_files_of_scores(tmp_path: Path) -> None:
    assert is_verdict_file(write(tmp_path, "id,first,second,winner", "1,x,y,x"))
    assert not is_verdict_file(write(tmp_path, "id,first,second", "1,.5,.6"))
    assert not is_verdict_file(tmp_path / "comet.json")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,x,x,x,1", r"line 2, column 'second': the two systems of a verdict must differ, got 'x' twice"),
        ("1,x,y,z,1", r"column 'winner': expected 'x', 'y', 'first', 'second' or 'tie', got \"z\""),
        ("1,x,y,,1", "column 'winner': expected an id or a name"),
        ("1,x,y,x,left", "column 'position': expected 1 or 2"),
    ],
)
def test_invalid_verdict_is_refused_with_line_and_column(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_verdicts(write(tmp_path, "id,first,second,winner,position", row))
