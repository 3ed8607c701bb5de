"""Tables that scores name by a digest, and the files they are frozen in: JSON, or arrays with a header.

A file carries the digest of its numbers, so that a changed one is refused, not scored with.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.storage import write_atomic

if TYPE_CHECKING:
    from typing_extensions import Self


class ContentError(ValueError):
    """What a file holds is no table; the message has the reason, without the file's name."""


class FrozenTable(ABC):
    """A table that is kept in a JSON file with a format tag and a digest."""

    FORMAT: ClassVar[str]
    KIND: ClassVar[str]
    """What messages call the file, such as `idf file`."""
    COMMAND: ClassVar[str]
    """The command that makes one."""
    INDENT: ClassVar[int | None] = None
    """Blanks before the lines of a file that people read; None for one line."""
    RECORD: ClassVar[type | None] = None
    """The type that describes `content`, where that does not have the fields of the class."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to, as 64 hexadecimal digits."""

    @abstractmethod
    def content(self) -> Mapping[str, Any]:
        """What the file holds, as plain values."""

    @classmethod
    @abstractmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """The table of a file's content; a ContentError says in words what is wrong with it."""

    def text(self) -> str:
        """The file's content: one JSON object."""
        content = {"format": self.FORMAT, **self.content(), "digest": self.digest}
        return json.dumps(content, indent=self.INDENT) + "\n"

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_atomic(path, self.text().encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote, and check its digest."""
        name = str(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            msg = f"{cls.KIND} {name!r} does not exist; make one with '{cls.COMMAND} -o {path}'"
            raise InputError(msg) from error
        except UnicodeDecodeError as error:
            raise FileFormatError(cls._is_not(name)) from error
        except (OSError, ValueError) as error:  # ValueError: a null character in the path
            msg = f"{cls.KIND} {name!r} cannot be read: {getattr(error, 'strerror', None) or error}"
            raise FileFormatError(msg) from error
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(cls._is_not(name)) from error
        if not isinstance(content, dict) or content.get("format") != cls.FORMAT:
            raise FileFormatError(cls._other_format(name, content) or cls._is_not(name))
        try:
            table = cls.from_content(content)
        except KeyError as error:
            msg = f"{cls.KIND} {name!r} is damaged: {error.args[0]!r} is missing"
            raise FileFormatError(msg) from error
        except ContentError as error:
            msg = f"{cls.KIND} {name!r} is damaged: {error}"
            raise FileFormatError(msg) from error
        check_digest(table.digest, content.get("digest"), kind=cls.KIND, name=name, command=cls.COMMAND)
        return table

    @classmethod
    def _is_not(cls, name: str) -> str:
        article = "an" if cls.KIND[0] in "aeiou" else "a"
        return f"{name!r} is not {article} {cls.KIND} ({cls.FORMAT}); make one with '{cls.COMMAND} -o FILE.json'"

    @classmethod
    def _other_format(cls, name: str, content: object) -> str | None:
        """What to say of a file of the same kind in another version of its format; None of any other file."""
        stated = content.get("format") if isinstance(content, dict) else None
        if not isinstance(stated, str) or _without_version(stated) != _without_version(cls.FORMAT):
            return None
        return (
            f"{name!r} is a {cls.KIND} in format {stated}, and this version of nlgauge reads {cls.FORMAT}; take the "
            f"version that wrote it, or make it again with '{cls.COMMAND} -o FILE.json'"
        )


def _without_version(stated: str) -> str:
    """The name of a format: `nlgauge-scores-1` and `nlgauge-scores/1` are versions of `nlgauge-scores`."""
    return re.sub(r"[/-]\d+$", "", stated)


def check_digest(digest: str, stated: object, *, kind: str, name: str, command: str) -> None:
    """Refuse numbers that are not those of the digest in the file."""
    if stated != digest:
        reason = "'digest' is missing" if stated is None else "its numbers are not those of its digest"
        msg = f"{kind} {name!r} is damaged: {reason}; make it again with '{command}'"
        raise FileFormatError(msg)


def whole_number(value: object, what: str) -> int:
    """The value, if it is a whole number; True and 1.0 are none."""
    if type(value) is not int:
        msg = f"{what} must be a whole number, got {value!r}"
        raise ContentError(msg)
    return value


def number(value: object, what: str) -> float:
    """The value as a float, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"{what} must be a number, got {value!r}"
        raise ContentError(msg)
    return float(value)


def arrays_digest(head: Iterable[object], arrays: Iterable[tuple[str, NDArray[Any]]], *, form: str) -> str:
    """sha256 of lines, and of arrays in the bytes of `form` (such as `<f8`), each after a line that names it."""
    state = hashlib.sha256("".join(f"{line}\n" for line in head).encode())
    for name, array in arrays:
        state.update(f"{name}\n".encode())
        state.update(np.ascontiguousarray(array, dtype=form).tobytes())
    return state.hexdigest()


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


class FrozenArrays(ABC):
    """Arrays that are kept in an .npz file, whose header has a format tag and a digest."""

    FORMAT: ClassVar[str]
    KIND: ClassVar[str]
    """What messages call the file."""
    FIX: ClassVar[str]
    """How to make one."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to, as 64 hexadecimal digits."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What the header says beside format and digest."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """By name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """What a file holds, from its header and arrays; any error says that it is damaged."""

    def save(self, path: Path) -> None:
        """Write an .npz file, whole or not at all; equal content gives equal bytes."""
        header = {"format": self.FORMAT, "digest": self.digest, **self.header()}
        buffer = io.BytesIO()
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(buffer, allow_pickle=False, header=text, **self.arrays())
        write_atomic(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote, and check its digest."""
        try:
            with np.load(path, allow_pickle=False) as file:
                header = json.loads(file["header"].tobytes())
                loaded = cls.from_arrays(header, file) if header["format"] == cls.FORMAT else None
        except FileNotFoundError as error:
            msg = f"{cls.KIND} {str(path)!r} does not exist; {cls.FIX}"
            raise InputError(msg) from error
        except Exception as error:  # zipfile, numpy and json raise a dozen classes for a damaged file
            msg = f"{str(path)!r} is not a {cls.KIND} that nlgauge wrote: {error!r}"
            raise FileFormatError(msg) from error
        if loaded is None:
            msg = f"{str(path)!r} is not a {cls.KIND}: expected format {cls.FORMAT!r}, got {header['format']!r}"
            raise FileFormatError(msg)
        if loaded.digest != header.get("digest"):
            msg = f"{cls.KIND} {str(path)!r} is damaged: its numbers are not those of the digest in it"
            raise FileFormatError(msg)
        return loaded
