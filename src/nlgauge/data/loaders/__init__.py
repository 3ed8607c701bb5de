"""Loaders, one per file format of human judgements, and what they share: rows of a table, files, detokenisation."""

from __future__ import annotations

import fnmatch
import io
import math
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nlgauge.data.judgements import OPTIONAL_COLUMNS, UNKNOWN_SYSTEM, ErrorSpan, JudgementTable, select_known
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.packages import require
from nlgauge.io.tables import Row, read_bytes, read_lines, unequal_lines


class TableBuilder:
    """Rows in the order in which they are added; a segment that comes twice is refused with both places."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("segment", "system", "langpair", "hypothesis", "references", *OPTIONAL_COLUMNS)
        }
        self._scores: dict[str, dict[str, list[float]]] = {"human": {}, "released": {}}
        self._places: dict[tuple[str, str, str], str] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(
        self,
        row: Row,
        *,
        segment: str,
        langpair: str,
        hypothesis: str,
        references: tuple[str, ...] = (),
        system: str = UNKNOWN_SYSTEM,
        source: str | None = None,
        topic: str | None = None,
        document: str | None = None,
        hypothesis_errors: tuple[ErrorSpan, ...] | None = None,
        source_errors: tuple[ErrorSpan, ...] | None = None,
        human: Mapping[str, float] | None = None,
        released: Mapping[str, float] | None = None,
    ) -> None:
        """Add a row; a criterion that the row lacks is NaN."""
        key = (langpair, system, segment)
        if key in self._places:
            of = f" of system {system!r}" if system else ""
            msg = f"{row.at()}: duplicate of segment {segment!r}{of}, {langpair}, which stands at {self._places[key]}"
            raise FileFormatError(msg)
        before = len(self._places)
        self._places[key] = row.at()
        errors = hypothesis_errors, source_errors
        values = (segment, system, langpair, hypothesis, references, source, topic, document, *errors)
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
        for columns, scores in ((self._scores["human"], human or {}), (self._scores["released"], released or {})):
            for name in scores:
                columns.setdefault(name, [math.nan] * before)
            for name, column in columns.items():
                column.append(scores.get(name, math.nan))

    def table(self, name: str, *, default_criterion: str | None, **details: Any) -> JudgementTable:
        """The table of all rows; `details` are further fields of it."""
        columns: dict[str, Any] = {column: tuple(values) for column, values in self._columns.items()}
        for optional in OPTIONAL_COLUMNS:
            absent = [value is None for value in columns[optional]]
            if all(absent):
                del columns[optional]
            elif any(absent):
                msg = f"{name}: the segment {columns['segment'][absent.index(True)]!r} has no {optional}; others have"
                raise FileFormatError(msg)
        scores: dict[str, Any] = dict(self._scores)
        return JudgementTable(name=name, default_criterion=default_criterion, **columns, **scores, **details)


#: Files and folders that are looked through for a data set. The largest package that is known has some 2,000.
_MOST_ENTRIES = 50_000


def language_files(
    path: Path, pattern: str, name: str, langpairs: str | Iterable[str] | None, *, pair: str = r"\1"
) -> dict[str, Path]:
    """Files of a folder by language pair, of the pairs asked for.

    `pattern` finds them, and groups in `name` give the pair, by default the first.
    """
    _need_folder(path)
    matches = [(match, file) for file in sorted(path.glob(pattern)) if (match := re.fullmatch(name, file.name))]
    if not matches:
        msg = f"{path}: expected files named like {pattern!r}, got none"
        raise InputError(msg)
    files = {match.expand(pair): file for match, file in matches}
    return {langpair: files[langpair] for langpair in select_known(langpairs, list(files), f"{path}: language pair")}


def parallel_lines(file: Path, other: Path, count: int) -> list[str]:
    """The lines of a file that runs in parallel with another one of so many lines."""
    lines = read_lines(file)
    if len(lines) != count:
        raise unequal_lines(file, len(lines), other, count)
    return lines


def quote_notes(count: int, what: str, *, unquote: bool) -> tuple[str, ...]:
    """A note on texts in the quotes of a spreadsheet, if there are any."""
    done = "taken off" if unquote else "kept; unquote=True takes them off"
    return (f"{count} {what} carry the quotes of a spreadsheet ({done})",) if count else ()


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


@cache
def moses_detokeniser(language: str) -> Callable[[str], str]:
    """A function that joins Moses tokens to running text: no blanks before punctuation, entities unescaped."""
    sacremoses = require("sacremoses", "lexical", instead="ask for the text as it stands (detokenise=False)")
    detokeniser = sacremoses.MosesDetokenizer(lang=language)

    def detokenise(text: str) -> str:
        joined: str = detokeniser.detokenize(text.split())
        return joined

    return detokenise
