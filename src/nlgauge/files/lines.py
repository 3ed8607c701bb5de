r"""From bytes to lines: gzip, UTF-8 with or without BOM, and line ends, with errors that name file and line.

A line ends at "\n" or "\r\n" and nowhere else: U+2028, U+0085, form feed and a lone "\r" occur inside
crawled texts, and a reader that breaks there pairs every later hypothesis with the wrong reference.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import IO, cast

from nlgauge.errors import FileFormatError, InputError

__all__ = ["read_bytes", "split_lines", "stream_lines", "whole_text"]

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
