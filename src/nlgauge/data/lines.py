r"""From bytes to lines: gzip, UTF-8 with or without BOM, and line ends, with errors that name file and line.

A line ends at "\n" or "\r\n" and nowhere else: U+2028, U+0085, form feed and a lone "\r" occur inside
crawled texts, and a reader that breaks there pairs every later hypothesis with the wrong reference.
"""

from __future__ import annotations

import gzip
import os
import zlib

from nlgauge.errors import FileFormatError, InputError

__all__ = ["read_bytes", "split_lines"]

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# No UTF-8 text starts with these two bytes, so they also tell gzip that has no name (standard input).
_GZIP = b"\x1f\x8b"


def read_bytes(path: str) -> bytes:
    """The file's bytes, or an `InputError` that says why not."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError as error:
        msg = f"no such file: {path!r}"
        before = path.rpartition(":")[0]
        if before and os.path.exists(before):
            msg += f"; to read a column of {before!r}, say that it is 'tsv' or 'jsonl' (input format)"
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
    data = _unzipped(data, name).removeprefix(_BOM)
    if not data:
        msg = f"{name}: empty; expected at least one line"
        raise FileFormatError(msg)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "it looks like UTF-16; convert it" if data.startswith(_UTF16) else "convert the file"
        msg = f"{name}, line {line}: byte {data[error.start]:#04x} is not UTF-8; {hint} to UTF-8"
        raise FileFormatError(msg) from error
    *lines, rest = text.split("\n")
    # The "\r" of a last line without "\n" is no line end, so it stays.
    return [line.removesuffix("\r") for line in lines] + ([rest] if rest else [])


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
