r"""From bytes to lines: gzip, UTF-8 with or without BOM, and line ends, with errors that name file and line.

A line ends at "\n" or "\r\n" and nowhere else: U+2028, U+0085, form feed and a lone "\r" occur inside
crawled texts, and a reader that breaks there pairs every later hypothesis with the wrong reference.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO, cast

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


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a text file."""
    name = os.fspath(path)
    return split_lines(read_bytes(name), name)


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
        raise _empty(name)
    try:
        return _decode(data)
    except _UndecodableError as error:
        line = data.count(b"\n", 0, error.byte) + 1
        msg = f"{name}, line {line}: {error}"
        raise FileFormatError(msg) from error


def stream_lines(path: str) -> Iterator[str]:
    """The lines of a file one by one, as `split_lines` has them; memory does not grow with the file."""
    number = 0
    for number, (_, line) in enumerate(lines_from(path), start=1):
        yield line_text(line, f"{path}, line {number}")
    if number == 0:
        raise _empty(path)


def lines_from(path: str, start: int = 0) -> Generator[tuple[int, bytes]]:
    """The lines of a file from a byte on, with their ends, each with the byte that it starts at.

    Bytes are counted in the unpacked file; a byte order mark belongs to no line.
    """
    with _unpacked(path) as file:
        if start:
            file.seek(start)
        for line in file:
            text = line.removeprefix(_BOM) if start == 0 else line
            if text:  # else the file is nothing but a byte order mark
                yield start + len(line) - len(text), text
            start += len(line)


def first_line(path: str) -> tuple[int, bytes]:
    """The first line of a file that is not empty, as `lines_from` has it."""
    line = next(lines_from(path), None)
    if line is None:
        raise _empty(path)
    return line


def count_lines(path: str) -> int:
    """Number of lines."""
    count, last = 0, b"\n"
    with _unpacked(path) as file:
        while chunk := file.read(1 << 20):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


def line_text(line: bytes, place: str) -> str:
    """The text of a line, without its end; `place` is what errors call the line."""
    body = line.removesuffix(b"\n")
    try:
        text = _decode(body)
    except _UndecodableError as error:
        msg = f"{place}: {error}"
        raise FileFormatError(msg) from error
    return text.removesuffix("\r") if len(body) < len(line) else text


def unequal_lines(path: object, got: int, other: object, expected: int) -> InputError:
    """The error for two files that should run in parallel; `line` is the first that one of them lacks."""
    short = path if got < expected else other
    msg = (
        f"{path}: {got} lines, but {other} has {expected}; the files must run in parallel, "
        f"and {short} ends before line {min(got, expected) + 1}"
    )
    return FileFormatError(msg)


def shortened(text: str) -> str:
    """The beginning of a text, quoted, for error messages."""
    return repr(cut(text))


def cut(text: str, limit: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _opened(path: str) -> BufferedReader:
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


@contextmanager
def _unpacked(path: str) -> Iterator[IO[bytes]]:
    """The file, unpacked while it is read; a file that was cut off is noticed at its end only."""
    with _opened(path) as raw:
        start = raw.peek(4)[:4]
        zipped = start.startswith(_GZIP)
        if not zipped:
            _check_suffix(start, path)
        try:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if zipped else raw
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(path, error) if zipped else FileFormatError(f"{path}: {error}") from error


def _unzipped(data: bytes, name: str) -> bytes:
    if not data.startswith(_GZIP):
        _check_suffix(data, name)
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(name, error) from error


def _check_suffix(data: bytes, name: str) -> None:
    """Refuse a file that is not gzip data, but is called so."""
    if data and name.lower().endswith(".gz"):
        msg = f"{name}: not gzip data, in spite of its name; it starts with {data[:4]!r}"
        raise FileFormatError(msg)


def _damaged(name: str, error: Exception) -> FileFormatError:
    return FileFormatError(f"{name}: damaged gzip data ({error}); compress the file again")


def _empty(name: str) -> FileFormatError:
    return FileFormatError(f"{name}: empty; expected at least one line")


class _UndecodableError(Exception):
    """Bytes that are no text, and where."""

    def __init__(self, reason: str, byte: int) -> None:
        super().__init__(reason)
        self.byte = byte


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "it looks like UTF-16; convert it" if data.startswith(_UTF16) else "convert the file"
        msg = f"byte {data[error.start]:#04x} is not UTF-8; {hint} to UTF-8"
        raise _UndecodableError(msg, error.start) from error
    if (nul := data.find(b"\0")) >= 0:
        msg = "NUL character; the file may be UTF-16 without a byte order mark, or not text; convert it to UTF-8"
        raise _UndecodableError(msg, nul)
    return text
