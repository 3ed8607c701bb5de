r"""Comma-separated tables, quoted as RFC 4180 has it.

A field in double quotes may hold commas, line ends and doubled quotes; any other quote is a mistake, and nothing is
stripped. In a TSV file a quote is a quote (`nlgauge.files.records`); files tell by their names which they are. Some
released files have tabs for commas and are quoted all the same: `quoted_rows` reads them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from nlgauge.errors import FileFormatError
from nlgauge.files.lines import whole_text
from nlgauge.files.records import Row, check_count, check_header

__all__ = ["csv_records", "csv_rows", "quoted_rows"]


def csv_records(data: bytes, name: str, *, separator: str = ",") -> list[tuple[int, list[str]]]:
    r"""Fields of each record, and the line (from 1) that it begins on; the first record is the header.

    >>> csv_records(b'id,text\r\n1,"one, ""two""\nthree"\r\n', "out.csv")
    [(1, ['id', 'text']), (2, ['1', 'one, "two"\nthree'])]
    """
    reader = csv.reader(io.StringIO(whole_text(data, name), newline=""), delimiter=separator, strict=True)
    found: list[tuple[int, list[str]]] = []
    line = 1
    kind = "comma-separated" if separator == "," else "tab-separated"
    try:
        for fields in reader:
            header = found[0][1] if found else fields
            # The csv module has no field for an empty line; in a table of one column it is an empty text.
            found.append((line, fields or ([""] if len(header) == 1 else [])))
            check_count(found[-1][1], header, f"{name}, line {line}", kind=kind, shown=separator.join(fields))
            line = reader.line_num + 1
    except csv.Error as error:
        msg = f"{name}, line {line}: not a CSV file as RFC 4180 has it ({error})"
        raise FileFormatError(msg) from error
    return found


def csv_rows(data: bytes, name: str, *, needed: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a table with a header; `needed` are names that must be in it."""
    (_, header), *records = csv_records(data, name)
    check_header(header, needed, name, rows=len(records))
    for line, fields in records:
        yield Row(name, f"line {line}", dict(zip(header, fields, strict=True)))


def quoted_rows(data: bytes, name: str, columns: Sequence[str]) -> Iterator[Row]:
    r"""The rows of a table without a header, with tabs between fields that are quoted as in CSV.

    >>> [dict(row.values) for row in quoted_rows(b'1\t"a ""b"" c"\n', "a.tsv", ["id", "text"])]
    [{'id': '1', 'text': 'a "b" c'}]
    """
    for line, fields in csv_records(data, name, separator="\t"):
        place = f"line {line}"
        check_count(fields, columns, f"{name}, {place}", kind="tab-separated", shown="\t".join(fields))
        yield Row(name, place, dict(zip(columns, fields, strict=True)))
