"""Files of arrays with a header and a digest: what re-mappings and language means are stored as."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.atomic import write_whole

__all__ = ["Digested", "read_arrays", "stated_format", "write_arrays"]


class Digested(Protocol):
    """What is named by a digest of its numbers."""

    @property
    def digest(self) -> str:
        """sha256, as 64 hexadecimal digits."""


Made = TypeVar("Made", bound=Digested)


def write_arrays(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an .npz file, whole or not at all; equal content gives equal bytes."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, header=text, **arrays)
    write_whole(path, buffer.getvalue())


def stated_format(path: Path) -> str:
    """The format that a file's header names; empty for a file of another kind."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return str(json.loads(file["header"].tobytes())["format"])
    except FileNotFoundError as error:
        msg = f"{str(path)!r} does not exist"
        raise InputError(msg) from error
    except Exception:  # zipfile, numpy and json raise a dozen classes for another kind of file
        return ""


def read_arrays(
    path: Path,
    *,
    form: str,
    what: str,
    fix: str,
    make: Callable[[dict[str, Any], Mapping[str, NDArray[Any]]], Made],
) -> Made:
    """Make something of a file's header and arrays, and check that its digest is the one in the header."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            made = make(header, file) if header["format"] == form else None
    except FileNotFoundError as error:
        msg = f"{what} {str(path)!r} does not exist; {fix}"
        raise InputError(msg) from error
    except Exception as error:  # zipfile, numpy and json raise a dozen classes for a damaged file
        msg = f"{str(path)!r} is no {what} that nlgauge wrote: {error!r}"
        raise FileFormatError(msg) from error
    if made is None:
        msg = f"{str(path)!r} is no {what}: expected format {form!r}, got {header['format']!r}"
        raise FileFormatError(msg)
    if made.digest != header.get("digest"):
        msg = f"{what} {str(path)!r} is damaged: its numbers are not those of the digest in it"
        raise FileFormatError(msg)
    return made
