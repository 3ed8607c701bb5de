r"""From bytes to lines: gzip, UTF-8 with or without BOM, and line ends, with errors that name file and line.

A line ends at "\n" or "\r\n" and nowhere else: U+2028, U+0085, form feed and a lone "\r" occur inside
crawled texts, and a reader that breaks there pairs every later hypothesis with the wrong reference.

Rows of the files that data sets come in, each value read with its place: file, line and column.

    delimited_rows    TSV, and the space-separated tables of the WMT packages
    json_lines        JSONL, one object per line
    json_document     a whole file that is one JSON object

A wrong value stops the reading with the file, the line (or the key of the item) and the column. Nothing is
stripped or guessed, and a quote is a quote (see `nlgauge.files.lines`).

Comma-separated tables, quoted as RFC 4180 has it.

A field in double quotes may hold commas, line ends and doubled quotes; any other quote is a mistake, and nothing is
stripped. In a TSV file a quote is a quote (`nlgauge.files.records`); files tell by their names which they are. Some
released files have tabs for commas and are quoted all the same: `quoted_rows` reads them.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NoReturn, cast

from nlgauge.errors import FileFormatError, InputError

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# No UTF-8 text starts with these two bytes, so they also tell gzip that has no name (standard input).
_GZIP = b"\x1f\x8b"


def read_bytes(path: str) -> bytes:
    """The file's bytes, or an `InputError` that says why not."""
    with _opened(path) as stream:
        try:
            return stream.read()
        except OSError as error:
            msg = f"cannot read {path!r}: {error.strerror or error}"
            raise InputError(msg) from error


def stream_lines(path: str) -> Iterator[str]:
    """The lines of a file one by one, as `split_lines` has them; memory does not grow with the file."""
    with _opened(path) as raw:
        zipped = raw.peek(2)[:2] == _GZIP  # type: ignore[attr-defined]  # a BufferedReader has it
        if not zipped:
            _unzipped(raw.peek(4)[:4], path)  # type: ignore[attr-defined]  # complains of a wrong name
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if zipped else raw
        number = 0
        try:
            for number, line in enumerate(stream, start=1):
                whole = line.removeprefix(_BOM) if number == 1 else line
                ended = whole.endswith(b"\n")
                if not whole and number == 1:
                    continue
                text = _decoded(whole.removesuffix(b"\n"), path, first=number, start=line)
                yield text.removesuffix("\r") if ended else text
        except (OSError, EOFError, zlib.error) as error:
            msg = f"{path}: damaged gzip data ({error}); compress the file again" if zipped else f"{path}: {error}"
            raise FileFormatError(msg) from error
    if number == 0:
        msg = f"{path}: empty; expected at least one line"
        raise FileFormatError(msg)


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        msg = f"no such file: {path!r}"
        before = path.rpartition(":")[0]
        if before and os.path.exists(before):
            msg += f"; to read a column of {before!r}, say that it is 'tsv', 'csv' or 'jsonl' (input format)"
        raise InputError(msg) from error
    except IsADirectoryError as error:
        msg = f"{path!r} is a directory; name a file"
        raise InputError(msg) from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        msg = f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}"
        raise InputError(msg) from error


def split_lines(data: bytes, name: str) -> list[str]:
    r"""The lines of a file's bytes, at least one; `name` is what errors call the file.

    >>> split_lines(b"one\r\n\ntwo\x0chalves\n", "out.txt")
    ['one', '', 'two\x0chalves']
    """
    *lines, rest = whole_text(data, name).split("\n")
    # The "\r" of a last line without "\n" is no line end, so it stays.
    return [line.removesuffix("\r") for line in lines] + ([rest] if rest else [])


def whole_text(data: bytes, name: str) -> str:
    """The text of a file's bytes, not empty, line ends as they are."""
    data = _unzipped(data, name).removeprefix(_BOM)
    if not data:
        msg = f"{name}: empty; expected at least one line"
        raise FileFormatError(msg)
    return _decoded(data, name, first=1, start=data)


def _decoded(data: bytes, name: str, *, first: int, start: bytes) -> str:
    """Text of bytes that begin at line `first`; `start` shows what the file looks like."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + first
        hint = "it looks like UTF-16; convert it" if start.startswith(_UTF16) else "convert the file"
        msg = f"{name}, line {line}: byte {data[error.start]:#04x} is not UTF-8; {hint} to UTF-8"
        raise FileFormatError(msg) from error
    if (nul := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, nul) + first
        msg = (
            f"{name}, line {line}: NUL character; the file may be UTF-16 without a byte order mark, or not text; "
            "convert it to UTF-8"
        )
        raise FileFormatError(msg)
    return text


def _unzipped(data: bytes, name: str) -> bytes:
    if data.startswith(_GZIP):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            msg = f"{name}: damaged gzip data ({error}); compress the file again"
            raise FileFormatError(msg) from error
    if data and name.lower().endswith(".gz"):
        msg = f"{name}: not gzip data, in spite of its name; it starts with {data[:4]!r}"
        raise FileFormatError(msg)
    return data


# JSON can write half of a surrogate pair ("\ud83d"), which no tokenizer and no UTF-8 file can take.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(dict[str, Any]):
    """A JSON object that knows which keys it held more than once; a dict keeps the last in silence."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
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
        if has_half_pair(value):
            msg = f"{self.at(column)}: half of a surrogate pair, no character, in {shortened(value)}"
            raise FileFormatError(msg)
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
        if any(map(has_half_pair, several)):
            msg = f"{self.at(column)}: half of a surrogate pair, no character, in {shortened(str(value))}"
            raise FileFormatError(msg)
        return tuple(several)

    def number(self, column: str) -> float:
        """The column's value as a finite number."""
        value = self.value(column)
        found = math.nan
        # float() takes "1_000" and "nan"; in a score column both are mistakes.
        if isinstance(value, str | int | float) and not isinstance(value, bool) and "_" not in str(value):
            with contextlib.suppress(ValueError, OverflowError):
                found = float(value)
        if not math.isfinite(found):
            self.refuse(column, "a number")
        return found

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


def delimited_rows(
    data: bytes,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    needed: Sequence[str] = (),
    separator: str | None = "\t",
    skip_header: bool = False,
) -> Iterator[Row]:
    """The rows of a table; `separator=None` is any run of blanks.

    Names come from the first line, or from `columns` (the first line is then a row, unless `skip_header`).
    `needed` are names that must be among them.
    """
    lines = split_lines(data, name)
    header = list(columns) if columns is not None else lines[0].split(separator)
    first = 1 if columns is None or skip_header else 0
    check_header(header, needed, name, rows=len(lines) - first)
    for number, line in enumerate(lines[first:], start=first + 1):
        fields = checked_fields(line, header, f"{name}, line {number}", separator=separator)
        yield Row(name, f"line {number}", dict(zip(header, fields, strict=True)))


def check_header(header: Sequence[str], needed: Sequence[str], name: str, *, rows: int) -> None:
    """Refuse a table that has a needed column not once, or no rows."""
    for column in needed:
        if (times := list(header).count(column)) != 1:
            problem = f"there are {times} of that name" if times else "there is none of that name"
            msg = f"{name}, line 1, column {column!r}: {problem}; the header has {list(header)!r}"
            raise FileFormatError(msg)
    if not rows:
        msg = f"{name}: a header and no rows"
        raise FileFormatError(msg)


def checked_fields(line: str, header: Sequence[str], place: str, *, separator: str | None = "\t") -> list[str]:
    """The fields of a line, as many as the header has."""
    fields = line.split(separator)
    check_count(fields, header, place, kind="tab-separated" if separator == "\t" else "blank-separated", shown=line)
    return fields


def check_count(fields: Sequence[str], header: Sequence[str], place: str, *, kind: str, shown: str) -> None:
    """Refuse a row that has not as many fields as the header."""
    if len(fields) != len(header):
        missing = f"; column {header[len(fields)]!r} is missing" if len(fields) < len(header) else ""
        msg = (
            f"{place}: expected {len(header)} {kind} fields as in the header, got {len(fields)} "
            f"in {shortened(shown)}{missing}"
        )
        raise FileFormatError(msg)


def json_lines(data: bytes, name: str) -> Iterator[Row]:
    """The objects of a JSONL file."""
    for number, line in enumerate(split_lines(data, name), start=1):
        where = f"line {number}"
        yield Row(name, where, json_object(line, f"{name}, {where}"))


def json_document(path: str | os.PathLike[str]) -> Record:
    """A file that is one JSON object; a key (an item's id) that stands twice is refused."""
    name = os.fspath(path)
    found = json_object("\n".join(split_lines(read_bytes(name), name)), name, what="one JSON object")
    if found.repeated:
        msg = f"{name}: the item {min(found.repeated)!r} stands more than once; keep one"
        raise FileFormatError(msg)
    return found


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


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a text file."""
    name = os.fspath(path)
    return split_lines(read_bytes(name), name)


def unequal_lines(path: object, got: int, other: object, expected: int) -> InputError:
    """The error for two files that should run in parallel; `line` is the first that one of them lacks."""
    short = path if got < expected else other
    msg = (
        f"{path}: {got} lines, but {other} has {expected}; the files must run in parallel, "
        f"and {short} ends before line {min(got, expected) + 1}"
    )
    return FileFormatError(msg)


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


def has_half_pair(text: object) -> bool:
    """Whether a text holds half of a surrogate pair."""
    return isinstance(text, str) and _SURROGATE.search(text) is not None


def shortened(text: str) -> str:
    """The beginning of a text, quoted, for error messages."""
    return repr(cut(text))


def cut(text: str, limit: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


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
