"""The count of rows of published tables by metric."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.count_rows import count_kinds, main, row_states

from nlgauge.studies.published.overview import Overview, ReproducedEntry
from nlgauge.studies.published.verdicts import ComparedCell


def test_every_lexical_row_has_a_recipe() -> None:
    rows, recipes = {row[0]: row[1:3] for row in count_kinds(list(row_states()))}["lexical"]
    assert rows == recipes == 107


def write_run(path: Path, *cells: ComparedCell, missing: tuple[str, ...] = ()) -> str:
    entry = ReproducedEntry("bertscore-table19", "title", "source", 3, "", cells, missing, 1.0, limited=False)
    path.write_text(Overview({}, (entry,)).render("json"), encoding="utf-8")
    return str(path)


def wer(difference: float, verdict: str, reason: str = "") -> ComparedCell:
    return ComparedCell("WER", "cs-en", 0.95, 0.95 + difference, difference, verdict, reason)


@pytest.mark.parametrize(
    ("cells", "counts", "status"),
    [
        ([wer(0.02, "close")], "1 | 1 | 0", 0),
        ([wer(0.021, "explained", "why")], "1 | 0 | 1", 0),
        ([wer(-0.021, "unexplained")], "1 | 0 | 0", 1),
        ([wer(0.021, "explained", "why"), wer(-0.021, "unexplained")], "1 | 0 | 0", 1),
    ],
)
def test_rows_are_close_or_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cells: list[ComparedCell], counts: str, status: int
) -> None:
    assert main([write_run(tmp_path / "run.json", *cells), "--list"]) == status
    printed = capsys.readouterr().out
    assert f"| WER | 12 | 12 | {counts} |" in printed
    assert f"lexical metrics: 1 of 107 rows computed (107 have a recipe), {counts[4]} within 0.02" in printed


def test_of_two_runs_a_row_is_that_of_the_run_that_computed_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = ComparedCell("WER", "", None, None, None, "", "not computed")
    first = write_run(tmp_path / "a.json", empty, missing=("data set wmt18: not here",))
    assert main([first, "--list"]) == 0
    assert "bertscore-table19: WER: not computed: data set wmt18: not here" in capsys.readouterr().out
    assert main([first, write_run(tmp_path / "b.json", wer(0.0, "as published"))]) == 0
    assert "| WER | 12 | 12 | 1 | 1 | 0 |" in capsys.readouterr().out
