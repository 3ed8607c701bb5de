"""All published tables on one page, with a verdict on each cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.data.test_captions import write_compressions
from tests.studies.published.rankings.small_frames import write_frames

from nlgauge.encoders.run_context import current_run
from nlgauge.errors import RecipeError
from nlgauge.studies.published import agreement
from nlgauge.studies.published import overview as module
from nlgauge.studies.published.overview import Overview, ReproducedEntry, reproduce_all
from nlgauge.studies.published.runs import ReproducedCell, ReproducedRow, compared_cell
from nlgauge.studies.published.verdicts import VERDICTS, judge_cell, states_reason


def judge(ours: float | str, printed: float | str | None, reason: str = "", **options: object) -> str:
    cell = compared_cell(printed, ours)
    row = ReproducedRow("x", {"a": cell}, "bleu", reason, beyond=options.pop("beyond", ()))  # type: ignore[arg-type]
    return judge_cell(cell, row, "a", **({"decimals": 3} | options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "printed", "verdict"),
    [
        (0.5004, 0.5, "as published"),
        (0.5009, 0.5, "as published"),  # truncated
        (0.4994, 0.5, "unexplained"),
        (0.531, 0.5, "unexplained"),
        (0.531, None, "not printed"),
        ("stop", "stop", "as published"),
        ("stop", "none", "unexplained"),
    ],
)
def test_cells_without_a_reason(ours: float | str, printed: float | str | None, verdict: str) -> None:
    assert judge(ours, printed) == verdict


def test_verdicts_with_slack_reason_and_other_models() -> None:
    assert judge(0.515, 0.5, slack=0.02) == "close"
    assert judge(0.525, 0.5, slack=0.02) == "unexplained"
    assert judge(0.525, 0.5, "other peers (D3)") == "explained"
    assert judge(0.525, 0.5, "other draws, 1 of 2 within two standard errors", beyond=("a",)) == "unexplained"
    # Another model is never as published.
    assert judge(0.5, 0.5, "another model: minilm", other_model=True) == "other model"
    # The reason of a row names its exceptions.
    assert judge(0.6, 0.5, "as published, truncated, except b") == "as published"
    assert judge(0.6, 0.5, "as published, truncated, except a", beyond=("a",)) == "unexplained"


def test_descriptions_of_the_agreement_are_no_reasons() -> None:
    for text in ("", "as published", "identical to the scores of X", "standard deviation over runs up to 2.0"):
        assert not states_reason(text)
    assert states_reason("as published, truncated, except a: another sample")
    assert states_reason("on TAC 2008 only")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Frames of TAC 2008, and a broken BAGEL."""
    write_frames(tmp_path / "data")
    (tmp_path / "data" / "bagel.jsonl").write_text("{broken\n", encoding="utf-8")
    return tmp_path / "data"


TABLES = ["bt-figure2", "bt-table1", "moverscore-table3", "bertscore-table5"]


def test_broken_and_absent_data_never_lose_the_other_tables(data: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    result = reproduce_all(
        tables=TABLES, at=str(data), model="none", report=lambda entry, i, n: reported.append((entry.id, i, n))
    )
    assert sorted(reported) == sorted((entry.id, i, 4) for i, entry in enumerate(result.entries, start=1))
    assert {entry.id for entry in result.entries} == set(TABLES)
    entries = {entry.id: entry for entry in result.entries}
    assert entries["bt-figure2"].was_run
    assert entries["bt-table1"].was_run
    assert not entries["moverscore-table3"].was_run
    assert "bagel" in entries["moverscore-table3"].why_not_computed
    assert "cocodataset.org" in entries["bertscore-table5"].why_not_computed
    totals = result.totals
    assert (totals["tables"], totals["run"]) == (4, 2)
    assert totals["cells"] == sum(totals[name] for name in VERDICTS)


def test_page_has_every_computed_cell_with_print_difference_and_reason(data: Path) -> None:
    result = reproduce_all(tables=["bt-table1"], at=str(data))
    cells = [cell for entry in result.entries for cell in entry.cells]
    page = result.render("markdown")
    assert "| row | column | printed | ours | difference | why |" in page
    assert len(cells) == 9
    assert all(page.count(f"| {cell.row} | {cell.column} |") == 1 for cell in cells)
    flat = result.render("tsv").splitlines()
    assert flat[0].split("\t") == ["table", "row", "column", "printed", "ours", "difference", "verdict", "why"]
    assert len(flat) == 1 + len(cells)
    html = result.to_page()
    assert html.startswith("<!doctype html>")
    assert "http" not in html.partition("<body>")[0]
    again = Overview.from_dict(json.loads(result.render("json")))
    assert again.totals == result.totals
    assert again.render("markdown") == page


def test_finished_tables_are_read_again_until_the_limit_is_longer(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    compute = module.reproduce

    def counted(table: object, **options: object) -> object:
        calls.append(table.id)  # type: ignore[attr-defined]
        return compute(table, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "reproduce", counted)
    folder = tmp_path / "finished"
    options: dict[str, object] = {"tables": ["bt-table1"], "at": str(data), "state_folder": folder}
    first = reproduce_all(**options)  # type: ignore[arg-type]
    second = reproduce_all(**options)  # type: ignore[arg-type]
    assert calls == ["bt-table1"]
    assert first.entries == second.entries
    # Other options are another run; a damaged file is computed again.
    reproduce_all(**options, data=["tac08-scores"])  # type: ignore[arg-type]
    assert len(calls) == 2
    (folder / "bt-table1.json").write_text("{", encoding="utf-8")
    reproduce_all(**options)  # type: ignore[arg-type]
    assert len(calls) == 3


def test_time_limit_ends_one_table_and_not_the_next(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = module.reproduce
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))

    def slow(table: object, **options: object) -> object:
        if table.id == "bt-figure2":  # type: ignore[attr-defined]
            current_run().check()
        return compute(table, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "reproduce", slow)
    folder = tmp_path / "finished"
    result = reproduce_all(tables=["bt-figure2", "bt-table1"], at=str(data), minutes=1, state_folder=folder)
    limited, other = sorted(result.entries, key=lambda entry: entry.id)
    assert limited.limited
    assert limited.why_not_computed == "the time limit of 1 minutes has passed"
    assert other.was_run
    assert not other.limited
    # The same limit reads it again, a longer one computes it again.
    monkeypatch.setattr(module, "reproduce", compute)
    same = reproduce_all(tables=["bt-figure2"], at=str(data), minutes=1, state_folder=folder)
    assert not same.entries[0].was_run
    longer = reproduce_all(tables=["bt-figure2"], at=str(data), minutes=2, state_folder=folder)
    assert longer.entries[0].was_run


def test_time_limit_keeps_rows_that_are_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "RawData").mkdir()
    write_compressions(tmp_path / "RawData")
    compute, seconds = agreement.score_judgements, [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: seconds[0])

    def slow(table: object, recipes: list[str], **options: object) -> object:
        if recipes == ["meteor"]:
            seconds[0] = 100.0
        return compute(table, recipes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(agreement, "score_judgements", slow)
    (entry,) = reproduce_all(tables=["bertscore-table10"], at=str(tmp_path), model="none", minutes=1).entries
    assert entry.limited
    assert "BLEU" in {cell.row for cell in entry.cells if cell.ours is not None}
    assert not {"METEOR", "ROUGE-L"} & {cell.row for cell in entry.cells if cell.ours is not None}


def test_options_that_a_table_does_not_accept_are_left_out_and_parts_that_it_lacks_are_named(data: Path) -> None:
    result = reproduce_all(
        tables=["bt-table1", "moverscore-table3", "explain-table3"],
        at=str(data),
        model="none",
        levels=["system"],
    )
    entries = {entry.id: entry for entry in result.entries}
    assert entries["bt-table1"].was_run
    assert entries["moverscore-table3"].why_not_computed == "not selected: no column with levels system"
    assert "omit" not in entries["explain-table3"].why_not_computed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": ["BLEU"]}, "'rows' is an option of one table; all tables accept at, model"),
        ({"colour": 1}, "'colour' is unknown"),
        ({"tables": ["bt-table99"]}, "bt-table99"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises((RecipeError, ValueError), match=message):
        reproduce_all(**options)  # type: ignore[arg-type]


def test_summary_counts() -> None:
    cells = (
        module.ComparedCell("a", "x", 0.5, 0.6, 0.1, "unexplained", ""),
        module.ComparedCell("a", "y", 0.5, 0.5, 0.0, "as published", ""),
        module.ComparedCell("b", "", None, None, None, "", "not computed"),
    )
    entry = ReproducedEntry("t", "title", "source", 3, "", cells, (), 1.0, limited=False)
    result = Overview({}, (entry,))
    assert result.summary == "1 of 1 tables run, 2 cells computed: 1 as published, 1 unexplained"
    assert repr(result) == f"<Overview {result.summary}>"
    assert isinstance(ReproducedCell(*cells[0][2:5]).difference, float)
