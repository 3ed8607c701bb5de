r"""Read lines and tables from files; errors name the file, line and column.

Files may be gzipped, and are UTF-8 with or without a byte order mark. A line ends only at "\n" or "\r\n": U+2028,
U+0085, form feed and a lone "\r" occur inside crawled texts, and breaking lines there would pair every later
hypothesis with the wrong reference. Tables:

    read_tsv      TSV, in which quotes have no meaning, and tables with blanks or commas between fields
    read_csv      CSV with quotes as in RFC 4180; some released files have tabs instead of commas
    read_jsonl    JSONL, one object per line
    read_json     a file that is one JSON object
    parse_table   TSV, CSV or JSONL by its format, with the names of its columns

A wrong value stops the reading. Nothing is stripped or guessed. `nlgauge.io.large_tables` reads tables that are
larger than memory.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any, Literal, NoReturn, TypeAlias, cast

from nlgauge.errors import FileFormatError, InputError, closest_file

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# No UTF-8 text starts with these two bytes, so they also identify gzip data without a file name (standard input).
_GZIP = b"\x1f\x8b"
#: Files of a folder that are compared with a misspelt name.
_MOST_FILES = 10_000


def read_bytes(path: str) -> bytes:
    """Read a file's bytes; raises InputError with the reason if that is not possible."""
    with _opened(path) as stream:
        try:
            return stream.read()
        except OSError as error:
            msg = f"cannot read {path!r}: {error.strerror or error}"
            raise InputError(msg) from error


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Read the lines of a text file."""
    name = os.fspath(path)
    return split_lines(read_bytes(name), name)


def split_lines(data: bytes, name: str) -> list[str]:
    r"""The lines of a file's bytes, at least one; `name` is the file's name in errors.

    >>> split_lines(b"one\r\n\ntwo\x0chalves\n", "out.txt")
    ['one', '', 'two\x0chalves']
    """
    *lines, rest = whole_text(data, name).split("\n")
    # In a last line without "\n", "\r" is not a line end, so it stays.
    return [line.removesuffix("\r") for line in lines] + ([rest] if rest else [])


def whole_text(data: bytes, name: str) -> str:
    """The text of a file's bytes, with its line ends; an empty file is an error."""
    with _unpacked(io.BufferedReader(io.BytesIO(data)), name) as file:
        body = file.read().removeprefix(_BOM)
    if not body:
        raise _empty(name)
    return _decode(body, lambda byte: f"{name}, line {body.count(10, 0, byte) + 1}")  # 10 is the line end


def stream_lines(path: str) -> Iterator[str]:
    """Iterate over the lines of a file, as `split_lines` gives them, in constant memory."""
    number = 0
    for number, (_, line) in enumerate(lines_from(path), start=1):
        yield line_text(line, f"{path}, line {number}")
    if number == 0:
        raise _empty(path)


def lines_from(path: str, start: int = 0) -> Generator[tuple[int, bytes]]:
    """Iterate over the lines of a file from a byte offset on, with line ends, each with its own offset.

    Offsets are counted in the unpacked file; a byte order mark belongs to no line.
    """
    with _opened(path) as raw, _unpacked(raw, path) as file:
        if start:
            file.seek(start)
        for line in file:
            text = line.removeprefix(_BOM) if start == 0 else line
            if text:  # else the file contains only a byte order mark
                yield start + len(line) - len(text), text
            start += len(line)


def first_line(path: str) -> tuple[int, bytes]:
    """The first line of a file, as `lines_from` gives it; an empty file is an error."""
    line = next(lines_from(path), None)
    if line is None:
        raise _empty(path)
    return line


def count_lines(path: str) -> int:
    """Number of lines."""
    count, last = 0, b"\n"
    with _opened(path) as raw, _unpacked(raw, path) as file:
        while chunk := file.read(1 << 20):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


def line_text(line: bytes, place: str) -> str:
    """The text of a line without its end; `place` is its name in errors."""
    body = line.removesuffix(b"\n")
    text = _decode(body, lambda _: place)
    return text.removesuffix("\r") if len(body) < len(line) else text


def unequal_lines(path: object, got: int, other: object, expected: int) -> InputError:
    """The error for two files that need the same number of lines."""
    shorter = path if got < expected else other
    msg = (
        f"{path}: {got} lines, but {other} has {expected}; both need the same number of lines "
        f"(first missing line: {shorter}, line {min(got, expected) + 1})"
    )
    return FileFormatError(msg)


def cut(text: str, limit: int = 60) -> str:
    """Shorten a text for messages."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _opened(path: str) -> io.BufferedReader:
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        msg = f"no such file: {path!r}"
        before = path.rpartition(":")[0]
        if before and os.path.exists(before):
            msg += (
                f"; to read a column of {before!r}, rename it to .tsv, .csv or .jsonl, or add input_format='tsv' "
                "(or 'csv', 'jsonl')"
            )
        else:
            msg += _similar_file(path)
        raise InputError(msg) from error
    except IsADirectoryError as error:
        msg = f"{path!r} is a directory; name a file"
        raise InputError(msg) from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        msg = f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}"
        raise InputError(msg) from error


def _similar_file(path: str) -> str:
    """The file of the folder whose name is closest, as the end of a message."""
    folder, name = os.path.split(path)
    if folder and not os.path.exists(folder):
        return f"; the folder {folder!r} does not exist"
    with suppress(OSError), os.scandir(folder or ".") as entries:
        names = (entry.name for entry in islice(entries, _MOST_FILES) if entry.is_file())
        if closest := closest_file(name, names):
            return f"; did you mean {os.path.join(folder, closest)!r}?"
    return ""


@contextmanager
def _unpacked(raw: io.BufferedReader, name: str) -> Iterator[IO[bytes]]:
    """Unpack a gzipped file while it is read; a truncated file is detected only at its end."""
    start = raw.peek(4)[:4]
    zipped = start.startswith(_GZIP)
    if start and not zipped and name.lower().endswith(".gz"):
        msg = f"{name}: not gzip data, despite its name; it starts with {start!r}"
        raise FileFormatError(msg)
    try:
        yield cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if zipped else raw
    except (OSError, EOFError, zlib.error) as error:
        reason = f"damaged gzip data ({error}); compress the file again" if zipped else str(error)
        msg = f"{name}: {reason}"
        raise FileFormatError(msg) from error


def _empty(name: str) -> FileFormatError:
    return FileFormatError(f"{name}: empty; expected at least one line")


def _decode(data: bytes, place: Callable[[int], str]) -> str:
    """Decode UTF-8; `place` gives the location of a byte for errors."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "it looks like UTF-16; convert it" if data.startswith(_UTF16) else "convert the file"
        msg = f"{place(error.start)}: byte {data[error.start]:#04x} is not UTF-8; {hint} to UTF-8"
        raise FileFormatError(msg) from error
    if (nul := data.find(b"\0")) >= 0:
        problem = "NUL character; the file may be UTF-16 without a byte order mark, or not text; convert it to UTF-8"
        msg = f"{place(nul)}: {problem}"
        raise FileFormatError(msg)
    return text


Path: TypeAlias = str | os.PathLike[str]
Format: TypeAlias = Literal["text", "tsv", "csv", "jsonl"]
FORMATS: dict[str, Format] = {"text": "text", "tsv": "tsv", "csv": "csv", "jsonl": "jsonl"}

#: The line that each record begins on (from 1), and its fields.
Records: TypeAlias = Iterator[tuple[int, list[str]]]

_KINDS = {"\t": "tab-separated", ",": "comma-separated", None: "blank-separated"}

# JSON can contain half of a surrogate pair ("\ud83d"), which no tokenizer and no UTF-8 file accepts.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(dict[str, Any]):
    """A JSON object with the set of its repeated keys, of which a dict silently keeps the last value."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: set[str] = set()
        if len(self) < len(pairs):
            self.repeated = {key for key, count in Counter(key for key, _ in pairs).items() if count > 1}


@dataclass(frozen=True)
class Row:
    """Values by column, with their location: `where` is "line 3", or "item 'D0845'" in a JSON file."""

    file: str
    where: str
    values: Mapping[str, Any]

    def location(self, column: str | None = None) -> str:
        """The location, for error messages."""
        return f"{self.file}, {self.where}" + ("" if column is None else f", column {column!r}")

    def value(self, column: str) -> Any:
        """The column's value, of any type."""
        if column not in self.values:
            msg = f"{self.location(column)}: no such column; the row has {list(self.values)!r}"
            raise FileFormatError(msg)
        if column in getattr(self.values, "repeated", ()):
            msg = f"{self.location(column)}: the object has this key more than once; keep one"
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
        """The column's value as an id or a name: a non-empty string or a whole number."""
        value = self.value(column)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            self.refuse(column, "an id or a name")
        return value

    def texts(self, column: str) -> tuple[str, ...]:
        """The column's value as a tuple of texts; a single string counts as one text."""
        value = self.value(column)
        texts = value if isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) for text in texts):
            self.refuse(column, "a string or a non-empty list of strings")
        for text in texts:
            self._check_pairs(column, text)
        return tuple(texts)

    def number(self, column: str) -> float:
        """The column's value as a finite number."""
        value = self.value(column)
        number = math.nan
        # float() accepts "1_000" and "nan"; in a score column both are mistakes.
        if isinstance(value, str | int | float) and not isinstance(value, bool) and "_" not in str(value):
            with suppress(ValueError, OverflowError):
                number = float(value)
        if not math.isfinite(number):
            self.refuse(column, "a number")
        return number

    def integer(self, column: str, *, low: int, high: int) -> int:
        """The column's value as a whole number from `low` to `high`."""
        value = self.value(column)
        text = str(value)
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            self.refuse(column, f"a whole number from {low} to {high}")
        return int(text)

    def inner(self, column: str) -> Row:
        """The column's value, which must be an object, as a row."""
        value = self.value(column)
        if not isinstance(value, dict):
            self.refuse(column, "an object")
        return Row(self.file, f"{self.where}, {column!r}", value)

    def _check_pairs(self, column: str, text: str) -> None:
        if _SURROGATE.search(text):
            msg = f"{self.location(column)}: half of a surrogate pair, which is not a character, in {cut(text)!r}"
            raise FileFormatError(msg)

    def refuse(self, column: str, expected: str) -> NoReturn:
        """Raise FileFormatError for the column's value."""
        # As JSON, which distinguishes the number 3 from the string "3".
        got = cut(json.dumps(self.values[column], ensure_ascii=False, default=str))
        msg = f"{self.location(column)}: expected {expected}, got {got}"
        raise FileFormatError(msg)


def as_row(value: object, file: str, where: str) -> Row:
    """An object inside a JSON file, as a row."""
    if not isinstance(value, dict):
        msg = f"{file}, {where}: expected an object, got {cut(json.dumps(value, ensure_ascii=False))}"
        raise FileFormatError(msg)
    return Row(file, where, value)


def suffix_format(path: str) -> Format:
    """The format of a file by its suffix, also before .gz.

    >>> suffix_format("out.jsonl.gz"), suffix_format("tsv")
    ('jsonl', 'text')
    """
    _, dot, suffix = path.lower().removesuffix(".gz").rpartition(".")
    return FORMATS.get(suffix, "text") if dot else "text"


def parse_table(data: bytes, name: str, form: Format) -> tuple[list[str], Iterator[Row]]:
    """Names of a table's columns (in JSONL the keys of the first object) and its rows, at least one."""
    if form == "jsonl":
        rows = read_jsonl(name, data=data)
        first = next(rows)
        return list(first.values), chain([first], rows)
    separator = "," if form == "csv" else "\t"
    records = csv_records(data, name) if form == "csv" else _tsv_records(data, name, separator)
    return _with_header(records, name, separator)


def read_tsv(
    path: Path,
    *,
    data: bytes | None = None,
    columns: Sequence[str] | None = None,
    needed: Sequence[str] = (),
    separator: str | None = "\t",
    skip_header: bool = False,
) -> Iterator[Row]:
    """Read the rows of a table; `separator=None` is any run of blanks, `data` replaces the content of the file.

    Names come from the first line, or from `columns` (then the first line is a row, unless `skip_header`). The
    columns `needed` must exist.
    """
    name = os.fspath(path)
    records = _tsv_records(read_bytes(name) if data is None else data, name, separator)
    if columns is not None and skip_header:
        next(records)
    header, rows = _with_header(records, name, separator, columns)
    check_header(header, needed, name)
    return rows


def read_csv(
    path: Path, *, data: bytes | None = None, columns: Sequence[str] | None = None, separator: str = ","
) -> Iterator[Row]:
    r"""Read the rows of a table with quotes; names come from the first line, or from `columns`.

    >>> rows = read_csv("a.tsv", data=b'1\t"a ""b"" c"\n', columns=["id", "text"], separator="\t")
    >>> [dict(row.values) for row in rows]
    [{'id': '1', 'text': 'a "b" c'}]
    """
    name = os.fspath(path)
    records = csv_records(read_bytes(name) if data is None else data, name, separator=separator)
    return _with_header(records, name, separator, columns)[1]


def _with_header(
    records: Records, name: str, separator: str | None, columns: Sequence[str] | None = None
) -> tuple[list[str], Iterator[Row]]:
    """Names of the columns, by default from the first record, and all other records as rows."""
    header = next(records)[1] if columns is None else list(columns)
    return header, _rows(header, records, name, separator)


def _rows(header: Sequence[str], records: Records, name: str, separator: str | None) -> Iterator[Row]:
    """Records as rows, each checked to have as many fields as the header."""
    line = 0
    for line, fields in records:
        where = f"line {line}"
        check_count(fields, header, f"{name}, {where}", separator=separator)
        yield Row(name, where, dict(zip(header, fields, strict=True)))
    if not line:
        msg = f"{name}: a header but no rows; the first line must contain the names of the columns"
        raise FileFormatError(msg)


def _tsv_records(data: bytes, name: str, separator: str | None) -> Records:
    for number, line in enumerate(split_lines(data, name), start=1):
        yield number, line.split(separator)


def csv_records(data: bytes, name: str, *, separator: str = ",") -> Records:
    r"""The first line of each record, and its fields.

    A field in double quotes may contain separators, line ends and doubled quotes; any other quote is an error.

    >>> list(csv_records(b'id,text\r\n1,"one, ""two""\nthree"\r\n', "out.csv"))
    [(1, ['id', 'text']), (2, ['1', 'one, "two"\nthree'])]
    """
    reader = csv.reader(io.StringIO(whole_text(data, name), newline=""), delimiter=separator, strict=True)
    line, width = 1, 0
    try:
        for fields in reader:
            width = width or len(fields)
            # For an empty line the csv module gives no field; in a table of one column it is an empty text.
            yield line, fields or ([""] if width == 1 else [])
            line = reader.line_num + 1
    except csv.Error as error:
        msg = f"{name}, line {line}: not valid CSV (RFC 4180): {error}"
        raise FileFormatError(msg) from error


def check_header(header: Sequence[str], needed: Sequence[str], name: str) -> None:
    """Raise FileFormatError unless the header has each needed column exactly once."""
    for column in needed:
        if (count := list(header).count(column)) != 1:
            problem = f"{count} columns have this name" if count else "no such column"
            msg = f"{name}, line 1, column {column!r}: {problem}; the header has {list(header)!r}"
            raise FileFormatError(msg)


def check_count(fields: Sequence[str], header: Sequence[str], place: str, *, separator: str | None = "\t") -> None:
    """Raise FileFormatError unless a row has as many fields as the header."""
    if len(fields) != len(header):
        missing = f"; column {header[len(fields)]!r} is missing" if len(fields) < len(header) else ""
        msg = (
            f"{place}: expected {len(header)} {_KINDS[separator]} fields as in the header, got {len(fields)} "
            f"in {cut((separator or ' ').join(fields))!r}{missing}"
        )
        raise FileFormatError(msg)


def read_jsonl(path: Path, *, data: bytes | None = None) -> Iterator[Row]:
    """Read the objects of a JSONL file."""
    name = os.fspath(path)
    for number, line in enumerate(split_lines(read_bytes(name) if data is None else data, name), start=1):
        where = f"line {number}"
        yield Row(name, where, json_object(line, f"{name}, {where}"))


def read_json(path: Path) -> Record:
    """Read a file that is one JSON object; a repeated key (an item's id) is an error."""
    name = os.fspath(path)
    record = json_object("\n".join(split_lines(read_bytes(name), name)), name, what="one JSON object")
    if record.repeated:
        msg = f"{name}: item {min(record.repeated)!r} occurs more than once; keep one"
        raise FileFormatError(msg)
    return record


def json_object(text: str, place: str, *, what: str = "one JSON object per line") -> Record:
    """Parse a text that is a JSON object."""
    try:
        record = json.loads(text, object_pairs_hook=Record)
    except json.JSONDecodeError as error:
        msg = f"{place}: broken JSON ({error.msg} at character {error.colno}) in {cut(text)!r}"
        raise FileFormatError(msg) from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, or too many nested brackets
        msg = f"{place}: unreadable JSON ({error}) in {cut(text)!r}"
        raise FileFormatError(msg) from error
    if not isinstance(record, Record):
        msg = f"{place}: expected {what}, got {cut(text)!r}"
        raise FileFormatError(msg)
    return record


def is_spreadsheet_quoted(text: str) -> bool:
    """Whether a text is quoted as by a spreadsheet: quotes around it, and only doubled quotes inside.

    >>> is_spreadsheet_quoted('"He said ""no""."'), is_spreadsheet_quoted('"No."')
    (True, False)
    """
    inner = text[1:-1]
    return len(text) > 1 and text[0] == text[-1] == '"' and '""' in inner and '"' not in inner.replace('""', "")


def remove_quotes(text: str) -> str:
    """Remove the quotes of a spreadsheet, if the text has them.

    >>> remove_quotes('"He said ""no""."'), remove_quotes('"No."')
    ('He said "no".', '"No."')
    """
    return text[1:-1].replace('""', '"') if is_spreadsheet_quoted(text) else text
