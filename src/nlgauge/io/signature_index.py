"""Index of the signatures that this machine has printed in short form, so that a short one can be resolved.

The folder `signatures` in the cache has up to 256 text files, one for each pair of leading digits. A line is the
sha256 of a recipe part and the recipe part. Lines are only added, each in a single write, so processes can share the
index. A damaged line does not match its digest and is ignored. Without a writable cache nothing is recorded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from nlgauge.io.storage import cache_dir, text_digest

#: Digits of a hash, unless it needs more to be unique on this machine.
LEAST_DIGITS = 8

#: A file that has reached this size takes no more lines: a service cannot fill the disk.
MAX_BYTES = 2**20


def recipe_digest(recipe: str) -> str:
    """sha256 of a recipe part, as 64 hexadecimal digits."""
    return text_digest(recipe)


def index_folder() -> Path:
    """The folder of the index, which need not exist."""
    return cache_dir() / "signatures"


def record_recipe(recipe: str) -> int:
    """Add a recipe part to the index, and return how many digits of its hash are unique in it."""
    try:
        folder = index_folder()
    except RuntimeError:  # there is no home folder
        return LEAST_DIGITS
    return _record(folder, recipe)


def find_recipes(digits: str) -> list[str]:
    """The recipe parts of the index whose hash starts with these digits, of which there are at least 8."""
    try:
        path = _file(index_folder(), digits)
    except RuntimeError:
        return []
    return _matches(_read(path), digits)


def unique_digits(digest: str, others: Collection[str]) -> int:
    """The number of leading digits, at least 8, that tell a digest from the others.

    >>> unique_digits("3f9c21ab77", ["3f9c21ab91", "0000000000"])
    9
    """
    digits = LEAST_DIGITS
    while any(other != digest and other[:digits] == digest[:digits] for other in others):
        digits += 1
    return digits


@lru_cache(maxsize=4096)
def _record(folder: Path, recipe: str) -> int:
    digest = recipe_digest(recipe)
    path = _file(folder, digest)
    data = _read(path)
    matches = _matches(data, digest[:LEAST_DIGITS])
    if recipe not in matches and len(data) < MAX_BYTES:
        with contextlib.suppress(OSError):  # a read-only cache or a full disk: scores do not depend on the index
            path.parent.mkdir(parents=True, exist_ok=True)
            _append(path, f"{digest} {recipe}\n", after=data)
    return unique_digits(digest, [recipe_digest(match) for match in matches])


def _append(path: Path, line: str, *, after: bytes) -> None:
    # A line that a crash left unfinished must not swallow this one.
    start = "\n" if after and not after.endswith(b"\n") else ""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(handle, (start + line).encode("utf-8", "surrogatepass"))
    finally:
        os.close(handle)


def _file(folder: Path, digits: str) -> Path:
    return folder / f"{digits[:2]}.txt"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _matches(data: bytes, digits: str) -> list[str]:
    """Recipe parts of intact lines whose digest starts with these digits, each once."""
    recipes: dict[str, None] = {}
    for line in data.split(b"\n"):
        if line.startswith(digits.encode()):
            digest, _, recipe = line.decode("utf-8", "replace").partition(" ")
            if recipe_digest(recipe) == digest:
                recipes[recipe] = None
    return list(recipes)
