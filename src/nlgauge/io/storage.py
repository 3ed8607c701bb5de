"""Files on this machine: the cache folder, atomic writing, SHA-256 digests, JSON and TOML, and frozen tables.

The digest of a large file is remembered on disk, so that weights are not read again at each start. A remembered
digest is used only while path, size, modification time, change time, inode and device of the file are the same. The
first three are not enough: `cp -p`, `rsync -t`, zips and wheels put another file of the same size and date in its
place. The change time is set by the system and cannot be kept. Small files are hashed each time.

Tables that scores name by a digest are frozen in files: JSON, or arrays with a header. A file carries the digest of
its numbers, so that a changed one is refused, not scored with.
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

#: Files up to this size are hashed each time, which takes about 1 ms per MB; configurations, tokenizers and small
#: vector files then depend on no date at all.
ALWAYS_HASHED = 4 * 2**20

# File systems stamp times in steps of up to 2 s (FAT). A file younger than that can change once more under
# the same times and size, so its digest is not remembered yet.
_SETTLED_NS = 2_000_000_000


def cache_dir() -> Path:
    """The folder for models and digests: `$NLGAUGE_CACHE`, `$XDG_CACHE_HOME/nlgauge` or `~/.cache/nlgauge`.

    The folder need not exist; whoever writes into it creates it. The path is absolute, so that it
    still holds in a child process or after a change of directory.
    """
    own = os.environ.get("NLGAUGE_CACHE", "")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path there is invalid and to be ignored.
    if shared and Path(shared).is_absolute():
        return Path(shared) / "nlgauge"
    return Path("~/.cache/nlgauge").expanduser()


def write_atomic(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step, so that no reader ever sees half of it.

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
        # There is no way to read the mask but to set it; mkstemp alone leaves a file that only its owner can read.
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
    """The leading digits of a digest, as signatures and messages show it."""
    return digest[:SHORT]


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits; a large file is read only if it changed.

    Where the cache folder cannot be written, the file is hashed each time.
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
    with contextlib.suppress(OSError, ValueError):  # nothing is remembered, or a full disk left half of it
        entry = json.loads(memo.read_text(encoding="utf-8"))
        digest = str(entry.pop("sha256", "")) if isinstance(entry, dict) else ""
        if entry == _state(before) and re.fullmatch(r"[0-9a-f]{64}", digest):
            return digest
    digest = _hash(path)
    after = path.stat()
    changed = max(after.st_mtime_ns, after.st_ctime_ns)
    if _state(before) == _state(after) and time.time_ns() - changed > _SETTLED_NS:
        with contextlib.suppress(OSError):  # it only saves time: without it the file is hashed again
            memo.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(memo, json.dumps(_state(after) | {"sha256": digest}).encode())
    return digest


def _state(stat: os.stat_result) -> dict[str, int]:
    """What changes when a file is written to or replaced, whatever date its new content carries."""
    return {
        "size": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "ctime_ns": stat.st_ctime_ns,
        "inode": stat.st_ino,
        "device": stat.st_dev,
    }


def check_digests(folder: Path, expected: Mapping[str, str], *, where: str, fix: str, memo: bool = True) -> None:
    """Raise DigestError unless every named file of the folder has its known digest.

    `where` tells the reader which copy is meant, `fix` what to do about it. `memo=False` reads every
    byte: for files that were just written.
    """
    for name, want in expected.items():
        path = folder / name
        if not path.is_file():
            msg = f"{name!r} is missing in {where}: expected a file with sha256 {want}, got none{fix and f'; {fix}'}"
            raise DigestError(msg)
        got = file_digest(path) if memo else _hash(path)
        if got != want:
            msg = f"{name!r} in {where} is not the known file: expected sha256 {want}, got {got}{fix and f'; {fix}'}"
            raise DigestError(msg)


def _hash(path: Path) -> str:
    # hashlib.file_digest does the same, from Python 3.11 on.
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


#: Made once: `json.dumps` makes one for every call that has options.
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_text(value: Any) -> str:
    """The value as strict JSON with a newline at its end; what JSON has no word for (nan) is an `InputError`.

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
        msg = f"the result holds a value that JSON has no word for: {error}"
        raise InputError(msg) from error
    # A system named by a file whose name is not UTF-8 holds half surrogates; only JSON's escape prints them.
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
    """What a text in TOML says; a ValueError where it is none.

    >>> toml_content("threads = 2")
    {'threads': 2}
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


class ContentError(ValueError):
    """What a file holds is no table; the message has the reason, without the file's name."""


class _Frozen(ABC):
    """What is kept in a file with a format tag and a digest."""

    FORMAT: ClassVar[str]
    KIND: ClassVar[str]
    """What messages call the file, such as `idf file`."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to, as 64 hexadecimal digits."""


class FrozenTable(_Frozen):
    """A table that is kept in a JSON file."""

    COMMAND: ClassVar[str]
    """The command that makes one."""
    INDENT: ClassVar[int | None] = None
    """Blanks before the lines of a file that people read; None for one line."""
    RECORD: ClassVar[type | None] = None
    """The type that describes `content`, where that does not have the fields of the class."""

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
    import numpy as np  # here and below, because its import takes a moment and most users of this module need none

    state = hashlib.sha256("".join(f"{line}\n" for line in head).encode())
    for name, array in arrays:
        state.update(f"{name}\n".encode())
        state.update(np.ascontiguousarray(array, dtype=form).tobytes())
    return state.hexdigest()


def stated_format(path: Path) -> str:
    """The format that a file's header names; empty for a file of another kind."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            return str(json.loads(file["header"].tobytes())["format"])
    except FileNotFoundError as error:
        msg = f"{str(path)!r} does not exist"
        raise InputError(msg) from error
    except Exception:  # zipfile, numpy and json raise a dozen classes for another kind of file
        return ""


class FrozenArrays(_Frozen):
    """Arrays that are kept in an .npz file with a header."""

    FIX: ClassVar[str]
    """How to make one."""

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
            msg = f"{cls.KIND} {str(path)!r} is damaged: its numbers are not those of the digest in it"
            raise FileFormatError(msg)
        return loaded
