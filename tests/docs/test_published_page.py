"""The counts of recomputed tables on the pages agree with the stored run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs import make_published
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.overview import Overview, ReproducedEntry
from nlgauge.studies.published.verdicts import VERDICTS, ComparedCell


def test_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_published.main(["--check"]) == 0, f"{capsys.readouterr().out}run: {make_published.COMMAND}"


def test_stored_counts_add_up_and_cover_known_tables() -> None:
    tables = json.loads(make_published.COUNTS.read_text(encoding="utf-8"))["tables"]
    assert set(tables) <= set(PAPER_TABLES)
    assert {name.partition("-")[0] for name in PAPER_TABLES} <= set(make_published.PAPERS)
    for name, record in tables.items():
        assert record["cells"] == sum(record.get(verdict, 0) for verdict in VERDICTS), name
        assert bool(record["cells"]) != ("needs" in record), name


def entry(name: str, verdicts: list[str], *missing: str) -> ReproducedEntry:
    cells = tuple(ComparedCell("BLEU", str(i), 0.5, 0.5, 0.0, verdict, "") for i, verdict in enumerate(verdicts))
    return ReproducedEntry(name, "title", "source", 3, "", cells, missing, 1.0, limited=False)


def test_of_two_runs_each_table_has_the_one_with_more_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Overview(
        {"model": "none"}, (entry("bt-table1", ["as published"]), entry("bt-table3", [], "RR-seglevel.csv"))
    )
    second = Overview({}, (entry("bt-table1", ["close", "unexplained"]), entry("bt-table3", [], "WMT16 wmt16")))
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, run in zip(paths, (first, second), strict=True):
        path.write_text(run.render("json"), encoding="utf-8")
    monkeypatch.setattr(make_published, "COUNTS", tmp_path / "counts.json")
    make_published.store(paths)
    content = json.loads((tmp_path / "counts.json").read_text(encoding="utf-8"))
    assert content["tables"]["bt-table1"] == {"cells": 2, "close": 1, "unexplained": 1}
    assert content["tables"]["bt-table3"] == {"cells": 0, "needs": "RR-seglevel.csv of WMT, from its publisher"}
    counts = make_published.totals(content["tables"])
    assert (counts["tables"], counts["run"], counts["cells"]) == (len(PAPER_TABLES), 1, 2)
    assert content["tables"]["bertscore-table19"] == {"cells": 0, "needs": "hours of scoring"}  # in no run
    assert content["lexical"] == {"rows": 107, "recipe": 107, "computed": 0, "close": 0, "explained": 0}
    table = make_published.counts_by_paper(content)
    assert "| Peyrard et al. 2021 | 11 | 1 | 2 | 0 | 1 | 0 | 0 | 1 | 0 |" in table
    assert "RR-seglevel.csv of WMT, from its publisher (1)" in table
    assert "0 are as published, 1 within .02" in make_published.sentence(content)


def test_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="<!-- reproduced -->"):
        make_published.replace_block("no marks", "new")
