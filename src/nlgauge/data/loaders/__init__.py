"""Loaders, one per file format of human judgements, and their shared helpers: rows, files, detokenisation."""

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
    """Collects rows of a table; a duplicate segment is an error that names both lines."""

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
        """Add a row; a missing criterion becomes NaN."""
        key = (langpair, system, segment)
        if key in self._places:
            of = f" of system {system!r}" if system else ""
            msg = f"{row.location()}: duplicate of segment {segment!r}{of}, {langpair}, first at {self._places[key]}"
            raise FileFormatError(msg)
        before = len(self._places)
        self._places[key] = row.location()
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
        """Build the table; `details` are additional fields of it."""
        columns: dict[str, Any] = {column: tuple(values) for column, values in self._columns.items()}
        for optional in OPTIONAL_COLUMNS:
            absent = [value is None for value in columns[optional]]
            if all(absent):
                del columns[optional]
            elif any(absent):
                segment = columns["segment"][absent.index(True)]
                msg = f"{name}: segment {segment!r} has no {optional}, but other segments have one"
                raise FileFormatError(msg)
        scores: dict[str, Any] = dict(self._scores)
        return JudgementTable(name=name, default_criterion=default_criterion, **columns, **scores, **details)


#: End of messages about files of a data set that are missing.
FOLDER_ADVICE = "give the data set's own folder, or download it ('nlgauge data info NAME')"

#: Maximum number of files and folders to search for a data set. The largest known package has some 2,000.
_MOST_ENTRIES = 50_000


def language_files(
    path: Path, pattern: str, name: str, langpairs: str | Iterable[str] | None, *, pair: str = r"\1"
) -> dict[str, Path]:
    """Find the files of a folder by language pair, for the selected pairs.

    `pattern` matches the files; groups in `name` give the pair, by default the first.
    """
    _need_folder(path)
    matches = [(match, file) for file in sorted(path.glob(pattern)) if (match := re.fullmatch(name, file.name))]
    if not matches:
        msg = f"{path}: no file named like {pattern!r}; {FOLDER_ADVICE}"
        raise InputError(msg)
    files = {match.expand(pair): file for match, file in matches}
    return {langpair: files[langpair] for langpair in select_known(langpairs, list(files), f"{path}: language pair")}


def parallel_lines(file: Path, other: Path, count: int) -> list[str]:
    """Read a file that must have as many lines as another one."""
    lines = read_lines(file)
    if len(lines) != count:
        raise unequal_lines(file, len(lines), other, count)
    return lines


def quote_notes(count: int, what: str, *, unquote: bool) -> tuple[str, ...]:
    """Note on texts in spreadsheet quotes, if there are any."""
    treatment = "removed" if unquote else "kept; unquote=True removes them"
    return (f"{count} {what} have spreadsheet quotes ({treatment})",) if count else ()


def need_file(path: Path, name: str) -> Path:
    """Return `path` if it is a file, else the file of that name in the folder."""
    if path.is_file():
        return path
    _need_folder(path)
    if not (path / name).is_file():
        msg = f"{path}: no file {name!r} in this folder; {FOLDER_ADVICE}"
        raise InputError(msg)
    return path / name


def find_below(path: Path, *names: str) -> Path | None:
    """Find the file or folder with one of these names in or below a folder, nearest first; None if absent."""
    _need_folder(path)
    for name in names:
        if (path / name).exists():
            return path / name
    matches = sorted(file for name in names for file in files_below(path, f"**/{name}"))
    if len(matches) > 1:
        msg = (
            f"{path}: {len(matches)} files or folders are named {names[0]!r}, such as {matches[0]} and {matches[1]}; "
            "give the folder of one of them"
        )
        raise InputError(msg)
    return matches[0] if matches else None


def files_below(path: Path, pattern: str) -> Iterator[Path]:
    """Iterate over `path.glob(pattern)`; a search at any depth (`**/NAME`) raises an error in a huge folder."""
    name = pattern.removeprefix("**/")
    if name == pattern:
        yield from path.glob(pattern)
        return
    count = 0
    for folder, folders, files in os.walk(path):
        count += len(folders) + len(files)
        if count > _MOST_ENTRIES:
            msg = f"{path}: no file named like {name!r} among the first {_MOST_ENTRIES:,}; {FOLDER_ADVICE}"
            raise InputError(msg)
        for entry in (*folders, *files):
            if fnmatch.fnmatchcase(entry, name):
                yield Path(folder, entry)


def archive_members(path: Path, *names: str) -> list[tuple[str, bytes]]:
    """Read files of a tar.gz archive in memory: name and bytes by base name."""
    try:
        with tarfile.open(fileobj=io.BytesIO(read_bytes(str(path))), mode="r:gz") as archive:
            content = {
                Path(member.name).name: (f"{path}:{member.name}", file.read())
                for member in archive
                if Path(member.name).name in names and (file := archive.extractfile(member)) is not None
            }
    except (tarfile.TarError, OSError, EOFError) as error:
        msg = f"{path}: incomplete tar.gz archive ({error}); download it again"
        raise FileFormatError(msg) from error
    for name in names:
        if name not in content:
            msg = f"{path}: expected a file {name!r} in the archive, got {sorted(content)!r}"
            raise FileFormatError(msg)
    return [content[name] for name in names]


def _need_folder(path: Path) -> None:
    if not path.is_dir():
        problem = "is not a folder" if path.exists() else "does not exist"
        msg = f"{path} {problem}; {FOLDER_ADVICE}"
        raise InputError(msg)


@cache
def moses_detokeniser(language: str) -> Callable[[str], str]:
    """Build a function that joins Moses tokens to running text: no space before punctuation, entities unescaped."""
    sacremoses = require("sacremoses", "lexical", instead="load the text unchanged (detokenise=False)")
    detokeniser = sacremoses.MosesDetokenizer(lang=language)

    def detokenise(text: str) -> str:
        sentence: str = detokeniser.detokenize(text.split())
        return sentence

    return detokenise
