"""Transcriptions beside the texts of the papers: on a text written here, and on the papers where they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.check_papers import BROKEN, check_table, main, printed_rows, text_of

from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

TEXT = """\
Table 1: another table.

Metric\tcs-en\tde-en\tavg
BLEU\t<b>0.512</b>\t. 604*\t0.558
\tpair one pair two\t0.1 0.2\t0.3 0.4\t0.5 0.6
both\t.970/. 995\t.971/ –

Table 2: the table itself.

<table border="1"><tr><td rowspan="2">KIND</td><td>WMD + X</td><td>0.611</td>
<td>0.622</td><td>0.617</td></tr></table>

Table 3: a third one.

far\t0.9\t0.8\t0.7
"""
COLUMNS = (Column("cs-en", None), Column("de-en", None), Column("avg", over=("cs-en", "de-en")))


def small(*rows: TableRow) -> PaperTable:
    return PaperTable(
        "bertscore-table2", "", "Some Authors 2020, Paper, Table 2; code: x", COLUMNS, rows, unavailable="x"
    )


def row(name: str, *values: float) -> TableRow:
    return TableRow(name, dict(zip(("cs-en", "de-en", "avg"), values, strict=True)))


def test_every_layout_is_read() -> None:
    assert printed_rows(TEXT.splitlines(), ["2"]) == [
        (0.611, 0.622, 0.617),
        (0.512, 0.604, 0.558),
        (0.1, 0.3, 0.5),
        (0.2, 0.4, 0.6),
        (0.97, 0.995, 0.971),
    ]


def test_a_wrong_digit_and_exchanged_values_are_found() -> None:
    right = [row("BLEU", 0.512, 0.604, 0.558), row("WMD", 0.611, 0.622, 0.617), row("two", 0.2, 0.4, 0.6)]
    wrong = [row("digit", 0.513, 0.604, 0.558), row("exchanged", 0.604, 0.512, 0.558), row("far", 0.9, 0.8, 0.7)]
    checked = check_table(small(*right, *wrong), TEXT.splitlines())
    assert checked.matched == ("BLEU", "WMD", "two")
    assert checked.absent == ("digit", "exchanged", "far")  # a table further away is another table


def test_a_row_may_go_on_in_the_next_lines_but_not_be_patched_from_anywhere() -> None:
    columns = tuple(Column(name, None) for name in "abcd")
    lines = ["Table 1: before.", *(f"line {n}\t{n}.1\t{n}.2" for n in range(1, 9)), "Table 2: itself."]

    def found(*values: float) -> bool:
        rows = (TableRow("row", dict(zip("abcd", values, strict=True))),)
        table = PaperTable("bertscore-table2", "", "Paper, Table 2; code: x", columns, rows, unavailable="x")
        return bool(check_table(table, lines).matched)

    assert found(1.1, 1.2, 2.1, 2.2)
    assert found(1.1, 1.2, 4.1, 4.2)
    assert not found(1.1, 1.2, 8.1, 8.2)
    assert not found(2.1, 2.2, 1.1, 1.2)


def test_check_papers_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--tables", "sentsim-table7"]) == 0
    assert "sentsim-table7: text is missing" in capsys.readouterr().err
    lines = [
        "\t".join([name, *(str(value) for value in values.published.values())])
        for values in PAPER_TABLES["sentsim-table7"].rows
        for name in [values.name]
    ]
    text = "\n".join(["Table 6: before.", "", *lines, "", "Table 7: itself."])
    (tmp_path / "sentsim.txt").write_text(text, encoding="utf-8")
    assert main([str(tmp_path), "--tables", "sentsim-table7"]) == 0
    assert capsys.readouterr().out == "sentsim-table7: 5 rows match the text\n"
    (tmp_path / "sentsim.txt").write_text(text.replace("0.743", "0.734"), encoding="utf-8")
    assert main([str(tmp_path), "--tables", "sentsim-table7"]) == 1
    assert "MISSING: WMD" in capsys.readouterr().out


def test_transcriptions_are_those_of_the_papers(data_folder: Path) -> None:
    papers = data_folder.parent / "papers"
    if not papers.is_dir():
        pytest.skip("the texts of the papers are not beside the data")
    rows = 0
    for table in PAPER_TABLES.values():
        lines = text_of(papers, table) if "-table" in table.id else None
        if lines is not None:
            checked = check_table(table, lines)
            assert not checked.absent, (table.id, checked.absent)
            rows += len(checked.matched)
    assert rows >= 1500
    assert sum(map(len, BROKEN.values())) == 6
