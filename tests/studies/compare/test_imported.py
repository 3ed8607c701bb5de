"""Scores of other tools beside systems at hand: names and places must fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.score_files import ImportedTable, read_score_file
from nlgauge.errors import InputError
from nlgauge.studies.compare.system_scores import imported_table, in_line_with, match_systems


def table(folder: Path, text: str, name: str = "comet.csv", **options: object) -> ImportedTable:
    (folder / name).write_text(text)
    (found,) = read_score_file(folder / name, **options)  # type: ignore[arg-type]
    return found


def test_a_table_of_the_systems_asked_for(tmp_path: Path) -> None:
    imported = table(tmp_path, "doc,a,b,c\nx,1,2,3\ny,4,5,6\n", lower_is_better=["comet"])
    found = imported_table(imported, systems=["c.txt", "a.txt"], segments=2)
    assert (found.systems, found.documents, found.higher_is_better) == (("c.txt", "a.txt"), ("x", "y"), False)
    np.testing.assert_array_equal(found.values, [[3, 1], [6, 4]])
    assert found.signature.startswith("comet|scores:")
    assert imported_table(imported, documents=["p", "p"]).documents == ("p", "p")
    with pytest.raises(InputError, match="has scores of 2 segments under comet, but there are 3 segments to compare"):
        imported_table(imported, segments=3)


def test_names_match_without_folder_and_suffix(tmp_path: Path) -> None:
    imported = table(tmp_path, "out/a.txt,b,x.y,b.txt\n1,2,3,4\n")
    assert match_systems(["out/a.txt", "a.txt", "b", "b.txt", "x"], imported) == [
        "out/a.txt", "out/a.txt", "b", "b.txt", "x.y",
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"'b' and 'b.txt' could both be the system 'b.tsv'"):
        match_systems(["b.tsv"], imported)
    with pytest.raises(InputError, match=r"no scores of system 'q.txt' under comet; it has 'out/a.txt', 'b'"):
        match_systems(["q.txt"], imported)


def test_two_files_are_put_in_one_order(tmp_path: Path) -> None:
    one = table(tmp_path, "id,a\np,1\nq,2\n")
    other = table(tmp_path, "id,doc,a\nq,y,20\np,x,10\n", "bleurt.csv")
    found = in_line_with(one, other)
    assert (found.instances, found.documents, found.values[:, 0].tolist()) == (("p", "q"), ("x", "y"), [10, 20])
    with pytest.raises(InputError, match=r"bleurt.csv lacks segment 'q', which .*comet.csv has"):
        in_line_with(one, table(tmp_path, "id,a\np,1\n", "bleurt.csv"))
    with pytest.raises(InputError, match=r"comet.csv lacks segment 'r', which .*bleurt.csv has"):
        in_line_with(one, table(tmp_path, "id,a\np,1\nq,2\nr,3\n", "bleurt.csv"))
