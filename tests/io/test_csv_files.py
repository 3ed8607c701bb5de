"""CSV: what a spreadsheet or a csv writer wrote is what is read, and anything else is refused with its line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import FileFormatError
from nlgauge.io.tables import Row, check_header, csv_records, parse_table
from nlgauge.io.textfiles import Inputs, parse_source

CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))  # NUL is refused


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_what_a_csv_writer_wrote_is_read_back(rows: list[list[str]], end: str) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([["id", "text"], *rows])
    header, *result = csv_records(written.getvalue().encode(), "x.csv")
    assert header == (1, ["id", "text"])
    assert [fields for _, fields in result] == rows


def test_a_record_is_named_by_the_line_that_it_begins_on() -> None:
    _, rows = parse_table(b'id,text\n1,"two\nlines"\n2,x\n', "x.csv", "csv")
    first, second = rows
    assert [row.location("id") for row in (first, second)] == [
        "x.csv, line 2, column 'id'",
        "x.csv, line 4, column 'id'",
    ]
    assert first.text("text") == "two\nlines"


def test_an_empty_line_of_one_column_is_an_empty_text(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("text\nx\n\ny\n")
    assert Inputs().texts(parse_source(f"{tmp_path / 'one.csv'}:text")) == ["x", "", "y"]


def test_a_column_of_a_csv_file_is_a_column_of_texts(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_bytes('\ufeffid,mt\r\n1,"He said ""no"", twice."\r\n2,Yes\r\n'.encode())
    assert Inputs().texts(parse_source(f"{tmp_path / 'out.csv'}:mt")) == ['He said "no", twice.', "Yes"]
    with pytest.raises(FileFormatError, match=r"name the column to read.*columns are \['id', 'mt'\]"):
        Inputs().texts(parse_source(str(tmp_path / "out.csv")))


def rows_with_an_id(data: bytes) -> list[Row]:
    header, rows = parse_table(data, "x.csv", "csv")
    check_header(header, ["id"], "x.csv")
    return list(rows)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'id,text\n1,"open\n', r"x.csv, line 2: not valid CSV \(RFC 4180\): unexpected end of data"),
        (b'id,text\n1,"a"b\n', "line 2: not valid CSV"),
        (b"id,text\n1,a,b\n", "line 2: expected 2 comma-separated fields as in the header, got 3"),
        (b"id,text\n1\n", "line 2: expected 2 comma-separated fields.*column 'text' is missing"),
        (b"id,text\n1,a\n\n", "line 3: expected 2 comma-separated fields as in the header, got 0"),
        (b"id,text\n", "a header but no rows"),
        (b"id,id\n1,2\n", "column 'id': 2 columns have this name"),
        (b"", "empty; expected at least one line"),
        (b"id,text\n1,\xff\n", "line 2: byte 0xff is not UTF-8"),
    ],
)
def test_malformed_csv_is_refused_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        rows_with_an_id(data)
