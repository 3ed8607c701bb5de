"""Finding a data set's files in a folder, whatever lies around them."""

from __future__ import annotations

import fnmatch
import io
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.lines import read_bytes

__all__ = ["archive_members", "files_below", "find_below", "language_files", "need_file"]

#: Files and folders that are looked through for a data set. The largest package that is known has some 2,000.
_MOST_ENTRIES = 50_000


def language_files(path: Path, pattern: str, name: str) -> dict[str, Path]:
    """Files of a folder by language pair: `pattern` finds them, the group in `name` is the pair."""
    _need_folder(path)
    found = {match[1]: file for file in sorted(path.glob(pattern)) if (match := re.fullmatch(name, file.name))}
    if not found:
        msg = f"{path}: expected files named like {pattern!r}, got none"
        raise InputError(msg)
    return found


def need_file(path: Path, name: str) -> Path:
    """The file itself if `path` is one, or the file of that name in the folder."""
    if path.is_file():
        return path
    _need_folder(path)
    if not (path / name).is_file():
        msg = f"{path}: expected a file {name!r} in it, got none"
        raise InputError(msg)
    return path / name


def find_below(path: Path, *names: str) -> Path | None:
    """The one file or folder of any of these names in a folder or below it, the nearest first; None if absent."""
    _need_folder(path)
    for name in names:
        if (path / name).exists():
            return path / name
    found = sorted(file for name in names for file in files_below(path, f"**/{name}"))
    if len(found) > 1:
        msg = f"{path}: {names[0]!r} is there {len(found)} times, as {found[0]} and {found[1]}; name the folder"
        raise InputError(msg)
    return found[0] if found else None


def files_below(path: Path, pattern: str) -> Iterator[Path]:
    """What `path.glob(pattern)` finds; a search at any depth (`**/NAME`) ends with an error in a huge folder."""
    name = pattern.removeprefix("**/")
    if name == pattern:
        yield from path.glob(pattern)
        return
    seen = 0
    for place, folders, files in os.walk(path):
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            msg = (
                f"{path} holds more than {_MOST_ENTRIES:,} files, and no data set with files like {name!r} was found "
                "among the first of them; name the folder of the data set itself"
            )
            raise InputError(msg)
        for entry in (*folders, *files):
            if fnmatch.fnmatchcase(entry, name):
                yield Path(place, entry)


def archive_members(path: Path, *names: str) -> list[tuple[str, bytes]]:
    """Name and bytes of files in a tar.gz archive, by their last names; nothing is written to disk."""
    try:
        with tarfile.open(fileobj=io.BytesIO(read_bytes(str(path))), mode="r:gz") as archive:
            content = {
                Path(member.name).name: (f"{path}:{member.name}", file.read())
                for member in archive
                if Path(member.name).name in names and (file := archive.extractfile(member)) is not None
            }
    except (tarfile.TarError, OSError, EOFError) as error:
        msg = f"{path}: not a whole tar.gz archive ({error}); fetch it again"
        raise FileFormatError(msg) from error
    for name in names:
        if name not in content:
            msg = f"{path}: expected a file {name!r} in the archive, got {sorted(content)!r}"
            raise FileFormatError(msg)
    return [content[name] for name in names]


def _need_folder(path: Path) -> None:
    if not path.is_dir():
        problem = "is a file" if path.exists() else "does not exist"
        msg = f"{path} {problem}; expected the folder of the data set"
        raise InputError(msg)
