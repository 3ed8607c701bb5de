"""The cache folder, atomic writing, SHA-256 digests, JSON and TOML, and frozen tables.

The digests of large files are stored on disk, so weights are not hashed again at each start. A stored digest is used
only while path, size, modification time, change time, inode and device of the file are unchanged. The first three
are not enough: `cp -p`, `rsync -t`, zips and wheels can replace a file by one of the same size and date. The change
time is set by the system and cannot be preserved. Small files are hashed each time.

Tables that signatures name by a digest are frozen in files: JSON, or arrays with a header. A file contains the digest
of its numbers, so a modified file is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nlgauge.errors import DigestError, FileFormatError, InputError, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


#: Length of a digest inside a signature: 48 bits, enough to tell models and tables apart.
SHORT = 12

#: Files up to this size are hashed each time (about 1 ms per MB), so their digests never depend on dates.
ALWAYS_HASHED = 4 * 2**20

# File systems round times to up to 2 s (FAT). A younger file can change again without a new time stamp, so its
# digest is not stored yet.
_SETTLED_NS = 2_000_000_000


def cache_dir() -> Path:
    """The folder for models and digests: `$NLGAUGE_CACHE`, `$XDG_CACHE_HOME/nlgauge` or `~/.cache/nlgauge`.

    The folder need not exist; the first write creates it. The path is absolute, so it stays valid in child processes
    and after a change of directory.
    """
    own = os.environ.get("NLGAUGE_CACHE", "")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # XDG specification: a relative path is invalid and must be ignored.
    if shared and Path(shared).is_absolute():
        return Path(shared) / "nlgauge"
    return Path("~/.cache/nlgauge").expanduser()


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file in one step; readers never see an incomplete file.

    A link stays a link: its target is replaced. A pipe or a device is written to, not replaced.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # The mask can only be read by setting it. mkstemp alone makes a file that only its owner can read.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def text_digest(text: str) -> str:
    """SHA-256 of a string, as 64 hexadecimal digits.

    >>> text_digest("nlgauge")[:12]
    'c46bcba720b9'
    """
    return bytes_digest(text.encode("utf-8", "surrogatepass"))  # a file name may hold bytes that are not UTF-8


def bytes_digest(data: bytes) -> str:
    """SHA-256 of bytes, as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def short_digest(digest: str) -> str:
    """The leading digits of a digest, as shown in signatures and messages."""
    return digest[:SHORT]


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits; a large file is read only if it changed.

    Without a writable cache folder, the file is hashed each time.
    """
    try:
        resolved = path.resolve()
        state = resolved.stat()
        return _hash(resolved) if state.st_size <= ALWAYS_HASHED else _remembered(resolved, state)
    except OSError as error:
        msg = f"{path.name!r} in {path.parent.name!r} cannot be read: {error.strerror or error}"
        raise ModelError(msg) from error


def _remembered(path: Path, before: os.stat_result) -> str:
    memo = cache_dir() / "digests" / f"{text_digest(str(path))}.json"
    with contextlib.suppress(OSError, ValueError):  # no stored digest, or one truncated by a full disk
        entry = json.loads(memo.read_text(encoding="utf-8"))
        digest = str(entry.pop("sha256", "")) if isinstance(entry, dict) else ""
        if entry == _state(before) and re.fullmatch(r"[0-9a-f]{64}", digest):
            return digest
    digest = _hash(path)
    after = path.stat()
    changed = max(after.st_mtime_ns, after.st_ctime_ns)
    if _state(before) == _state(after) and time.time_ns() - changed > _SETTLED_NS:
        with contextlib.suppress(OSError):  # without a stored digest the file is hashed again
            memo.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(memo, json.dumps(_state(after) | {"sha256": digest}).encode())
    return digest


def _state(stat: os.stat_result) -> dict[str, int]:
    """Properties of a file of which at least one changes with its content."""
    return {
        "size": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "ctime_ns": stat.st_ctime_ns,
        "inode": stat.st_ino,
        "device": stat.st_dev,
    }


def check_digests(folder: Path, expected: Mapping[str, str], *, where: str, fix: str, memo: bool = True) -> None:
    """Raise DigestError unless every named file of the folder has its known digest.

    `where` and `fix` are parts of the message: the copy that was checked, and the remedy. `memo=False` ignores stored
    digests, for files that were just written.
    """
    for name, want in expected.items():
        path = folder / name
        if not path.is_file():
            msg = f"{name!r} is missing in {where}: expected a file with sha256 {want}{fix and f'; {fix}'}"
            raise DigestError(msg)
        got = file_digest(path) if memo else _hash(path)
        if got != want:
            msg = f"checksum mismatch of {name!r} in {where}: expected sha256 {want}, got {got}{fix and f'; {fix}'}"
            raise DigestError(msg)


def _hash(path: Path) -> str:
    # From Python 3.11 on, hashlib.file_digest does the same.
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


#: Created once, because `json.dumps` with options creates an encoder per call.
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_text(value: Any) -> str:
    """Strict JSON with a final newline; raises InputError for values that JSON cannot represent (nan).

    >>> print(json_text({"mean": 0.5, "rows": [{"segment": 0}, {"segment": 1}]}), end="")
    {
      "mean": 0.5,
      "rows": [
        {"segment": 0},
        {"segment": 1}
      ]
    }
    """
    try:
        text = _lay_out(value, "")
    except ValueError as error:
        msg = f"the result contains a value that JSON cannot represent: {error}"
        raise InputError(msg) from error
    # The name of a file that is not UTF-8 contains half surrogates, which need JSON's escapes.
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _lay_out(value: Any, pad: str) -> str:
    items = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else []
    if not any(isinstance(item, Mapping | list | tuple) for item in items):
        return _ENCODE(value)
    inner = pad + "  "
    parts = [_lay_out(item, inner) for item in items]
    if isinstance(value, Mapping):
        parts = [f"{_ENCODE(name)}: {part}" for name, part in zip(value, parts, strict=True)]
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return opening + "\n" + ",\n".join(inner + part for part in parts) + f"\n{pad}{closing}"


def toml_content(text: str) -> dict[str, Any]:
    """Parse TOML; raises ValueError if the text is not valid.

    >>> toml_content("threads = 2")
    {'threads': 2}
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


class ContentError(ValueError):
    """The content of a file is not a valid table; the message has the reason, without the file's name."""


class _Frozen(ABC):
    """An object that is stored in a file with a format tag and a digest."""

    FORMAT: ClassVar[str]
    KIND: ClassVar[str]
    """Kind of file in messages, such as `idf file`."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """sha256 of the numbers and their origin, as 64 hexadecimal digits."""


class FrozenTable(_Frozen):
    """A table that is stored in a JSON file."""

    COMMAND: ClassVar[str]
    """The command that creates the file."""
    INDENT: ClassVar[int | None] = None
    """Indentation of the JSON; None for one line."""
    RECORD: ClassVar[type | None] = None
    """The type of `content`, if its fields are not those of the class."""

    @abstractmethod
    def content(self) -> Mapping[str, Any]:
        """The file's content as plain values."""

    @classmethod
    @abstractmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Create the table from a file's content; raises ContentError if it is not valid."""

    def text(self) -> str:
        """The file's text: one JSON object."""
        content = {"format": self.FORMAT, **self.content(), "digest": self.digest}
        return json.dumps(content, indent=self.INDENT) + "\n"

    def save(self, path: Path) -> None:
        """Write the file in one step."""
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
        return f"{name!r} is not {cls._kind()} ({cls.FORMAT}); make one with '{cls.COMMAND} -o FILE.json'"

    @classmethod
    def _kind(cls) -> str:
        return f"{'an' if cls.KIND[0] in 'aeiou' else 'a'} {cls.KIND}"

    @classmethod
    def _other_format(cls, name: str, content: object) -> str | None:
        """The message for a file of this kind in another version of its format; None for any other file."""
        stated = content.get("format") if isinstance(content, dict) else None
        if not isinstance(stated, str) or _without_version(stated) != _without_version(cls.FORMAT):
            return None
        return (
            f"{name!r} is {cls._kind()} in format {stated}, but this version of nlgauge reads {cls.FORMAT}; use the "
            f"version that wrote it, or make it again with '{cls.COMMAND} -o FILE.json'"
        )


def _without_version(stated: str) -> str:
    """The name of a format: `nlgauge-scores-1` and `nlgauge-scores/1` are versions of `nlgauge-scores`."""
    return re.sub(r"[/-]\d+$", "", stated)


def check_digest(digest: str, stated: object, *, kind: str, name: str, command: str) -> None:
    """Raise FileFormatError unless the numbers of a file match its digest."""
    if stated != digest:
        reason = "'digest' is missing" if stated is None else "its digest does not match its numbers"
        msg = f"{kind} {name!r} is damaged: {reason}; make it again with '{command}'"
        raise FileFormatError(msg)


def whole_number(value: object, what: str) -> int:
    """Check that a value is a whole number; True and 1.0 are not."""
    if type(value) is not int:
        msg = f"{what} must be a whole number, got {value!r}"
        raise ContentError(msg)
    return value


def number(value: object, what: str) -> float:
    """Check that a value is a number, and return it as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"{what} must be a number, got {value!r}"
        raise ContentError(msg)
    return float(value)


def arrays_digest(head: Iterable[object], arrays: Iterable[tuple[str, NDArray[Any]]], *, form: str) -> str:
    """sha256 of lines, then of named arrays as bytes of the type `form` (such as `<f8`)."""
    import numpy as np  # here and below: the import is slow, and most users of this module need no arrays

    state = hashlib.sha256("".join(f"{line}\n" for line in head).encode())
    for name, array in arrays:
        state.update(f"{name}\n".encode())
        state.update(np.ascontiguousarray(array, dtype=form).tobytes())
    return state.hexdigest()


def read_format(path: Path) -> str:
    """The format in a file's header; empty for a file of another kind."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            return str(json.loads(file["header"].tobytes())["format"])
    except FileNotFoundError as error:
        msg = f"no such file: {str(path)!r}"
        raise InputError(msg) from error
    except Exception:  # zipfile, numpy and json raise a dozen classes for another kind of file
        return ""


class FrozenArrays(_Frozen):
    """Arrays that are stored in an .npz file with a header."""

    FIX: ClassVar[str]
    """How to create the file; the end of messages."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """The header's entries other than format and digest."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Create the object from a header and arrays; any exception marks the file as damaged."""

    def save(self, path: Path) -> None:
        """Write an .npz file in one step; equal content gives equal bytes."""
        import numpy as np

        header = {"format": self.FORMAT, "digest": self.digest, **self.header()}
        buffer = io.BytesIO()
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(buffer, allow_pickle=False, header=text, **self.arrays())
        write_atomic(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote, and check its digest."""
        import numpy as np

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
            msg = f"{cls.KIND} {str(path)!r} is damaged: its digest does not match its numbers"
            raise FileFormatError(msg)
        return loaded
