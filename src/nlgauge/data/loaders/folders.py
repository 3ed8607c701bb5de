"""Finding a data set's files in a folder, whatever lies around them."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path

from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.lines import read_bytes

__all__ = ["archive_members", "find_below", "language_files", "need_file"]


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
    found = sorted(file for name in names for file in path.rglob(name))
    if len(found) > 1:
        msg = f"{path}: {names[0]!r} is there {len(found)} times, as {found[0]} and {found[1]}; name the folder"
        raise InputError(msg)
    return found[0] if found else None


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
