r"""Rows of tables that fit into memory, each value read with its place: file, line and column.

    read_tsv      TSV, in which a quote is a quote, and tables with blanks or commas between fields
    read_csv      CSV, quoted as RFC 4180 has it; some released files have tabs for commas and are quoted all the same
    read_jsonl    JSONL, one object per line
    read_json     a whole file that is one JSON object
    parse_table   any of the first three, by its format, with the names of its columns

A wrong value stops the reading with the file, the line (or the key of the item) and the column. Nothing is stripped
or guessed. Tables larger than memory are read by `nlgauge.io.large_tables`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NoReturn, TypeAlias

from nlgauge.errors import FileFormatError
from nlgauge.io.lines import cut, read_bytes, shortened, split_lines, whole_text

Path: TypeAlias = str | os.PathLike[str]
Format: TypeAlias = Literal["text", "tsv", "csv", "jsonl"]
FORMATS: dict[str, Format] = {"text": "text", "tsv": "tsv", "csv": "csv", "jsonl": "jsonl"}

#: The line that each record begins on (from 1), and its fields.
Records: TypeAlias = Iterator[tuple[int, list[str]]]

_KINDS = {"\t": "tab-separated", ",": "comma-separated", None: "blank-separated"}

# JSON can write half of a surrogate pair ("\ud83d"), which no tokenizer and no UTF-8 file can take.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(dict[str, Any]):
    """A JSON object that knows which keys it held more than once; a dict keeps the last in silence."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: set[str] = set()
        if len(self) < len(pairs):
            self.repeated = {key for key, times in Counter(key for key, _ in pairs).items() if times > 1}


@dataclass(frozen=True)
class Row:
    """Values by column, and where they stand: `where` is "line 3", or "item 'D0845'" in a JSON file."""

    file: str
    where: str
    values: Mapping[str, Any]

    def at(self, column: str | None = None) -> str:
        """The place, for error messages."""
        return f"{self.file}, {self.where}" + ("" if column is None else f", column {column!r}")

    def value(self, column: str) -> Any:
        """What stands in the column, of any type."""
        if column not in self.values:
            msg = f"{self.at(column)}: there is none of that name; the row has {list(self.values)!r}"
            raise FileFormatError(msg)
        if column in getattr(self.values, "repeated", ()):
            msg = f"{self.at(column)}: the key stands more than once in the object; keep one"
            raise FileFormatError(msg)
        return self.values[column]

    def text(self, column: str) -> str:
        """The column's value, which must be a string."""
        value = self.value(column)
        if not isinstance(value, str):
            self.refuse(column, "a string")
        self._check_pairs(column, value)
        return value

    def label(self, column: str) -> str:
        """The column's value as an id or a name: a string that is not empty, or a whole number."""
        value = self.value(column)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            self.refuse(column, "an id or a name")
        return value

    def texts(self, column: str) -> tuple[str, ...]:
        """The column's value as a tuple of texts; a single string counts as one text."""
        value = self.value(column)
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(text, str) for text in several):
            self.refuse(column, "a string or a non-empty list of strings")
        for text in several:
            self._check_pairs(column, text)
        return tuple(several)

    def number(self, column: str) -> float:
        """The column's value as a finite number."""
        value = self.value(column)
        number = math.nan
        # float() takes "1_000" and "nan"; in a score column both are mistakes.
        if isinstance(value, str | int | float) and not isinstance(value, bool) and "_" not in str(value):
            with contextlib.suppress(ValueError, OverflowError):
                number = float(value)
        if not math.isfinite(number):
            self.refuse(column, "a number")
        return number

    def integer(self, column: str, *, low: int, high: int) -> int:
        """The column's value as a whole number within bounds."""
        value = self.value(column)
        text = str(value)
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            self.refuse(column, f"a whole number from {low} to {high}")
        return int(text)

    def inner(self, column: str) -> Row:
        """The object in the column, as a row of its own."""
        value = self.value(column)
        if not isinstance(value, dict):
            self.refuse(column, "an object")
        return Row(self.file, f"{self.where}, {column!r}", value)

    def _check_pairs(self, column: str, text: str) -> None:
        if _SURROGATE.search(text):
            msg = f"{self.at(column)}: half of a surrogate pair, no character, in {shortened(text)}"
            raise FileFormatError(msg)

    def refuse(self, column: str, expected: str) -> NoReturn:
        """Stop because of the column's value."""
        # As JSON, which keeps the number 3 and the string "3" apart.
        got = cut(json.dumps(self.values[column], ensure_ascii=False, default=str))
        msg = f"{self.at(column)}: expected {expected}, got {got}"
        raise FileFormatError(msg)


def row_of(value: object, file: str, where: str) -> Row:
    """An object inside a JSON file, as a row."""
    if not isinstance(value, dict):
        msg = f"{file}, {where}: expected an object, got {cut(json.dumps(value, ensure_ascii=False))}"
        raise FileFormatError(msg)
    return Row(file, where, value)


def suffix_format(path: str) -> Format:
    """The format that a file's name tells, also before .gz.

    >>> suffix_format("out.jsonl.gz"), suffix_format("tsv")
    ('jsonl', 'text')
    """
    _, dot, suffix = path.lower().removesuffix(".gz").rpartition(".")
    return FORMATS.get(suffix, "text") if dot else "text"


def parse_table(data: bytes, name: str, form: Format) -> tuple[list[str], Iterator[Row]]:
    """The names of a table's columns, of JSONL the keys of its first object, and its rows, at least one."""
    if form == "jsonl":
        rows = read_jsonl(name, data=data)
        first = next(rows)
        return list(first.values), chain([first], rows)
    separator = "," if form == "csv" else "\t"
    records = csv_records(data, name) if form == "csv" else _tsv_records(data, name, separator)
    _, header = next(records)
    return header, _rows(header, records, name, separator)


def read_tsv(
    path: Path,
    *,
    data: bytes | None = None,
    columns: Sequence[str] | None = None,
    needed: Sequence[str] = (),
    separator: str | None = "\t",
    skip_header: bool = False,
) -> Iterator[Row]:
    """The rows of a table; `separator=None` is any run of blanks, `data` the content of a file that is no file here.

    Names come from the first line, or from `columns` (the first line is then a row, unless `skip_header`).
    `needed` are names that must be among them.
    """
    name = os.fspath(path)
    records = _tsv_records(read_bytes(name) if data is None else data, name, separator)
    if columns is None or skip_header:
        _, header = next(records)
        columns = header if columns is None else columns
    check_header(columns, needed, name)
    return _rows(columns, records, name, separator)


def read_csv(
    path: Path, *, data: bytes | None = None, columns: Sequence[str] | None = None, separator: str = ","
) -> Iterator[Row]:
    r"""The rows of a table with quotes; names come from the first line, or from `columns`.

    >>> rows = read_csv("a.tsv", data=b'1\t"a ""b"" c"\n', columns=["id", "text"], separator="\t")
    >>> [dict(row.values) for row in rows]
    [{'id': '1', 'text': 'a "b" c'}]
    """
    name = os.fspath(path)
    records = csv_records(read_bytes(name) if data is None else data, name, separator=separator)
    if columns is None:
        _, columns = next(records)
    return _rows(columns, records, name, separator)


def _rows(header: Sequence[str], records: Records, name: str, separator: str | None) -> Iterator[Row]:
    """Records as rows, each with as many fields as the header has."""
    line = 0
    for line, fields in records:
        where = f"line {line}"
        check_count(fields, header, f"{name}, {where}", separator=separator)
        yield Row(name, where, dict(zip(header, fields, strict=True)))
    if not line:
        msg = f"{name}: a header and no rows; the first line holds the names of the columns"
        raise FileFormatError(msg)


def _tsv_records(data: bytes, name: str, separator: str | None) -> Records:
    for number, line in enumerate(split_lines(data, name), start=1):
        yield number, line.split(separator)


def csv_records(data: bytes, name: str, *, separator: str = ",") -> Records:
    r"""The line that each record begins on, and its fields.

    A field in double quotes may hold separators, line ends and doubled quotes; any other quote is a mistake.

    >>> list(csv_records(b'id,text\r\n1,"one, ""two""\nthree"\r\n', "out.csv"))
    [(1, ['id', 'text']), (2, ['1', 'one, "two"\nthree'])]
    """
    reader = csv.reader(io.StringIO(whole_text(data, name), newline=""), delimiter=separator, strict=True)
    line, width = 1, 0
    try:
        for fields in reader:
            width = width or len(fields)
            # The csv module has no field for an empty line; in a table of one column it is an empty text.
            yield line, fields or ([""] if width == 1 else [])
            line = reader.line_num + 1
    except csv.Error as error:
        msg = f"{name}, line {line}: not a CSV file as RFC 4180 has it ({error})"
        raise FileFormatError(msg) from error


def check_header(header: Sequence[str], needed: Sequence[str], name: str) -> None:
    """Refuse a table that has a needed column not once."""
    for column in needed:
        if (times := list(header).count(column)) != 1:
            problem = f"there are {times} of that name" if times else "there is none of that name"
            msg = f"{name}, line 1, column {column!r}: {problem}; the header has {list(header)!r}"
            raise FileFormatError(msg)


def check_count(fields: Sequence[str], header: Sequence[str], place: str, *, separator: str | None = "\t") -> None:
    """Refuse a row that has not as many fields as the header."""
    if len(fields) != len(header):
        missing = f"; column {header[len(fields)]!r} is missing" if len(fields) < len(header) else ""
        msg = (
            f"{place}: expected {len(header)} {_KINDS[separator]} fields as in the header, got {len(fields)} "
            f"in {shortened((separator or ' ').join(fields))}{missing}"
        )
        raise FileFormatError(msg)


def read_jsonl(path: Path, *, data: bytes | None = None) -> Iterator[Row]:
    """The objects of a JSONL file."""
    name = os.fspath(path)
    for number, line in enumerate(split_lines(read_bytes(name) if data is None else data, name), start=1):
        where = f"line {number}"
        yield Row(name, where, json_object(line, f"{name}, {where}"))


def read_json(path: Path) -> Record:
    """A file that is one JSON object; a key (an item's id) that stands twice is refused."""
    name = os.fspath(path)
    record = json_object("\n".join(split_lines(read_bytes(name), name)), name, what="one JSON object")
    if record.repeated:
        msg = f"{name}: the item {min(record.repeated)!r} stands more than once; keep one"
        raise FileFormatError(msg)
    return record


def json_object(text: str, place: str, *, what: str = "one JSON object per line") -> Record:
    """The object that a text spells."""
    try:
        record = json.loads(text, object_pairs_hook=Record)
    except json.JSONDecodeError as error:
        msg = f"{place}: broken JSON ({error.msg} at character {error.colno}) in {shortened(text)}"
        raise FileFormatError(msg) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        msg = f"{place}: JSON that cannot be read ({error}) in {shortened(text)}"
        raise FileFormatError(msg) from error
    if not isinstance(record, Record):
        msg = f"{place}: expected {what}, got {shortened(text)}"
        raise FileFormatError(msg)
    return record


def spreadsheet_quoted(text: str) -> bool:
    """Whether a text carries the quotes of a spreadsheet: around it, because there are doubled ones in it.

    >>> spreadsheet_quoted('"He said ""no""."'), spreadsheet_quoted('"No."')
    (True, False)
    """
    inner = text[1:-1]
    return len(text) > 1 and text[0] == text[-1] == '"' and '""' in inner and '"' not in inner.replace('""', "")


def unquoted(text: str) -> str:
    """The text without the quotes of a spreadsheet, if it has them.

    >>> unquoted('"He said ""no""."'), unquoted('"No."')
    ('He said "no".', '"No."')
    """
    return text[1:-1].replace('""', '"') if spreadsheet_quoted(text) else text
