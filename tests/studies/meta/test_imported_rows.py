"""Scores of other tools for the rows of a judgement table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, RecipeError
from nlgauge.studies.meta.row_scores import imported_rows

#: Two language pairs; system b has no segment 2 in the first.
ROWS = [("de-en", "a", "1"), ("de-en", "a", "2"), ("de-en", "b", "1"), ("fr-en", "a", "1")]


@pytest.fixture
def table() -> JudgementTable:
    langpair, system, segment = zip(*ROWS, strict=True)
    return JudgementTable(
        name="own",
        segment=segment,
        system=system,
        langpair=langpair,
        hypothesis=("h",) * 4,
        references=(("r",),) * 4,
        human={"score": np.arange(4.0)},
        default_criterion="score",
    )


def write(folder: Path, *rows: str, name: str = "comet.csv") -> str:
    (folder / name).write_text("\n".join(rows) + "\n")
    return str(folder / name)


FULL = ["lp,system,id,score", *(f"{pair},{system},{at},{n / 10}" for n, (pair, system, at) in enumerate(ROWS))]


def test_rows_are_found_by_language_pair_system_and_segment(table: JudgementTable, tmp_path: Path) -> None:
    turned = [FULL[0], *FULL[:0:-1]]
    (found,) = imported_rows(table, [write(tmp_path, *turned)])
    assert (found.name, found.higher_is_better) == ("comet", True)
    assert found.values.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert set(found.signatures) == {"de-en", "fr-en"}
    assert found.signatures["de-en"].startswith("comet|scores:")


def test_a_file_without_ids_has_a_row_for_each_row(table: JudgementTable, tmp_path: Path) -> None:
    ter, judge = imported_rows(
        table, [write(tmp_path, "ter,judge,why", "3,1,x", "2,2,y", "1,3,z", "0,4,w")], lower_is_better=["ter"]
    )
    assert ter.oriented.tolist() == [-3, -2, -1, 0]
    assert judge.oriented.tolist() == [1, 2, 3, 4]
    with pytest.raises(FileFormatError, match="2 rows without a column of segments, but own has 4 rows"):
        imported_rows(table, [write(tmp_path, "ter", "3", "2")])


def test_what_does_not_align_is_refused(table: JudgementTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no score for segment '2' of 'a' \(de-en\) and 1 more rows of own"):
        imported_rows(table, [write(tmp_path, *FULL[:2], *FULL[4:])])
    with pytest.raises(FileFormatError, match=r"line 6: segment '1' of 'a' \(de-en\) has a score already \(line 2\)"):
        imported_rows(table, [write(tmp_path, *FULL, FULL[1])])
    with pytest.raises(FileFormatError, match=r"line 3, column 'score': expected a number, got \"\""):
        imported_rows(table, [write(tmp_path, *[row.replace("0.1", "") for row in FULL])])
    with pytest.raises(RecipeError, match="'ter' is said to be better when lower, but it is none of comet"):
        imported_rows(table, [write(tmp_path, *FULL)], lower_is_better=["ter"])
    with pytest.raises(RecipeError, match="several metrics below each other"):
        imported_rows(table, [write(tmp_path, "metric,id,score", "x,1,2")])


def test_rows_of_other_outputs_are_left_out_and_counted(table: JudgementTable, tmp_path: Path) -> None:
    with pytest.warns(NlgaugeWarning, match="1 of 5 scores are of outputs that own has not"):
        (found,) = imported_rows(table, [write(tmp_path, *FULL, "cs-en,a,1,.5")])
    assert found.values.tolist() == [0.0, 0.1, 0.2, 0.3]
