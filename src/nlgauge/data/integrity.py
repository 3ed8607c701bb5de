"""Integrity checks: whether the files at a path are a whole data set, by their names, digests and rows."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nlgauge.core.result import Result
from nlgauge.data.card import FileSet
from nlgauge.data.cards import DATA_CARDS, find_data_card, locate
from nlgauge.errors import DataWarning, InputError, NlgaugeError
from nlgauge.io.lines import read_bytes
from nlgauge.io.table import Table


class FileCheck(NamedTuple):
    """One set of files: `state` is same, different, more, missing, or present (where no digest is known)."""

    pattern: str
    expected: int | None
    found: int
    state: str


class RowCheck(NamedTuple):
    """Rows of the table for one language pair; `expected` None where the number is not known."""

    langpair: str
    expected: int | None
    found: int

    @property
    def state(self) -> str:
        """In one word, as that of files."""
        if self.expected is None:
            return "present"
        return "same" if self.expected == self.found else "different"


@dataclass(frozen=True)
class DataCheck(Result):
    """What is at a path. `problem` is why the data does not load, if it does not."""

    format = "nlgauge-data-check-1"
    decimals = 0
    computed = ("complete",)

    name: str
    path: str
    files: tuple[FileCheck, ...]
    rows: tuple[RowCheck, ...]
    notes: tuple[str, ...]
    problem: str | None

    @property
    def complete(self) -> bool:
        """Nothing is missing, no known file differs, it loads, and it has the rows that it should have."""
        files = all(entry.state not in ("missing", "different") for entry in self.files)
        rows = all(entry.expected in (None, entry.found) for entry in self.rows)
        return files and rows and self.problem is None

    def tables(self, form: str = "text") -> list[Table]:
        """A row per set of files, and per language pair."""
        files = [[entry.pattern, _count_of(entry), entry.state] for entry in self.files]
        rows = [[entry.langpair, _count_of(entry), entry.state] for entry in self.rows]
        notes = [*([f"does not load: {self.problem}"] if self.problem else []), *self.notes]
        caption = f"{self.name} at {self.path}: {'complete' if self.complete else 'NOT complete'}"
        return [Table(["files or rows", "found", "state"], [*files, *rows], caption, notes)]


@dataclass(frozen=True)
class DataChecks(Result):
    """What is at a path, of several data sets."""

    format = "nlgauge-data-checks-1"
    decimals = 0
    computed = ("complete",)

    checks: tuple[DataCheck, ...]

    @property
    def complete(self) -> bool:
        """Whether each of them is."""
        return all(check.complete for check in self.checks)

    def tables(self, form: str = "text") -> list[Table]:
        """A table for each."""
        return [table for check in self.checks for table in check.tables(form)]


def _count_of(entry: FileCheck | RowCheck) -> str:
    return str(entry.found) if entry.expected is None else f"{entry.found} of {entry.expected}"


def recognise(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Names of the data sets of which files lie at a path."""
    if not Path(path).exists():
        msg = f"no such file or folder: {os.fspath(path)!r}"
        raise InputError(msg)
    return tuple(card.name for card in DATA_CARDS.values() if locate(card, path) is not None)


def check(name: str, path: str | os.PathLike[str]) -> DataCheck:
    """Compare what is at a path with what is known of a data set, and load it."""
    card = find_data_card(name)
    if not Path(path).exists():
        msg = f"no such file or folder: {os.fspath(path)!r}"
        raise InputError(msg)
    place = locate(card, path) or Path(path)
    problem, notes = None, list[str]()
    found: Counter[str] = Counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the notes say the same
            table = card.read(place, **card.check_options)
        found.update(table.langpair)
        notes += table.notes
    except NlgaugeError as error:
        problem = str(error)
    expected = dict.fromkeys(card.rows) | dict.fromkeys(found)
    rows = () if problem else tuple(RowCheck(pair, card.rows.get(pair), found[pair]) for pair in expected)
    files = tuple(_check_files(group, place) for group in card.files)
    return DataCheck(name, str(place), files, rows, tuple(notes), problem)


def set_digest(files: Sequence[Path]) -> str:
    """The sha256 of one file, or of the lines that `sha256sum` prints for several, in the order of their names."""
    digests = {file.name: hashlib.sha256(read_bytes(str(file))).hexdigest() for file in files}
    if len(digests) == 1:
        return next(iter(digests.values()))
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def _check_files(group: FileSet, place: Path) -> FileCheck:
    if place.is_file():
        files = [place] if place.match(group.pattern) else []
    else:
        files = sorted(file for file in place.glob(group.pattern) if file.is_file())
    least = 1 if group.files is None else group.files
    if len(files) < least:
        state = "missing"
    elif group.files is not None and len(files) > group.files:
        state = "more"
    elif not group.digest:
        state = "present"
    else:
        state = "same" if set_digest(files) == group.digest else "different"
    return FileCheck(group.pattern, group.files, len(files), state)
