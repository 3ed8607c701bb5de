"""Files on this machine: the cache folder, writing a file whole or not at all, and SHA-256 digests.

The digest of a large file is remembered on disk, so that weights are not read again at each start. A remembered
digest is used only while path, size, modification time, change time, inode and device of the file are the same. The
first three are not enough: `cp -p`, `rsync -t`, zips and wheels put another file of the same size and date in its
place. The change time is set by the system and cannot be kept. Small files are hashed each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from nlgauge.errors import DigestError, ModelError

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
        return _digest(path.resolve())
    except OSError as error:
        msg = f"{path.name!r} in {path.parent.name!r} cannot be read: {error.strerror or error}"
        raise ModelError(msg) from error


def _digest(path: Path) -> str:
    before = path.stat()
    if before.st_size <= ALWAYS_HASHED:
        return _hash(path)
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
