"""Data sets by name: their cards, a loader that reads the card, and checks of files.

A card lists where a data set is published, what it contains, and the names of its files. Its options are those of its
loader. The type hint of the loader's parameter gives the kind of each option:

flag      bool            true, yes, on or 1; false, no, off or 0
number    int             a whole number
name      str             one name
names     str, several    names separated by commas; nothing after `=` is an empty list

`check` compares the files at a path with the card: names, checksums and number of rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from nlgauge.core.result import Result
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.loaders import files_below
from nlgauge.errors import DataWarning, InputError, NlgaugeError, RecipeError, did_you_mean
from nlgauge.io.table import Cell, Paragraphs, Table
from nlgauge.io.tables import read_bytes
from nlgauge.io.toml_records import build_record, read_entries, read_records

OptionKind: TypeAlias = Literal["flag", "number", "name", "names"]

_FLAGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _option_kind(hint: Any) -> OptionKind:
    """Kind of option for the type hint of a loader's parameter."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if bool in kinds:
        return "flag"
    if int in kinds:
        return "number"
    return "names" if any(get_origin(kind) is not None for kind in kinds) else "name"


def parse_option(name: str, kind: OptionKind, text: str) -> Any:
    """Convert the text of `--set NAME=TEXT` to a value of this kind."""
    if kind == "names":
        return tuple(text.split(",")) if text else ()
    if kind == "flag" and text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    if kind == "number" and text.isascii() and text.isdigit():
        return int(text)
    if kind == "name" and text and "," not in text:
        return text
    values = {"flag": "true or false (yes or no, on or off)", "number": "a whole number", "name": "one name"}
    msg = f"{name} must be {values[kind]}, got {text!r}"
    raise RecipeError(msg)


def check_option(name: str, kind: OptionKind, value: Any) -> None:
    """Raise RecipeError for a value of another kind: the text "no" would count as true."""
    types: dict[str, type] = {"flag": bool, "number": int}
    if kind in types and type(value) is not types[kind]:
        msg = f"{name} must be {'True or False' if kind == 'flag' else 'a whole number'}, got {value!r}"
        raise RecipeError(msg)


@dataclass(frozen=True)
class FileSet:
    """Files that belong together: an entry of known_files.toml, where the fields are explained.

    `files` is None for any number of them.
    """

    keys: ClassVar[Mapping[str, str]] = {"digest": "sha256"}
    unwritten: ClassVar[tuple[str, ...]] = ("shared",)

    pattern: str
    files: int | None = 1
    digest: str = ""
    shared: bool = False


@cache
def known_files() -> Mapping[str, tuple[FileSet, ...]]:
    """Read known_files.toml: file sets by data set."""
    path = Path(__file__).with_name("known_files.toml")
    sets: dict[str, list[FileSet]] = {}
    for name, entries in read_entries(path).items():
        for entry in entries:
            overrides = {"files": None} if entry.get("files") == "any" else {}  # TOML has no null
            fields = {key: value for key, value in entry.items() if key not in overrides}
            sets.setdefault(name, []).append(build_record(FileSet, fields, where=f"{path.name}: {name}", **overrides))
    return {name: tuple(groups) for name, groups in sets.items()}


@dataclass(frozen=True, kw_only=True)
class DataCard:
    """A data set with a name: an entry of cards.toml, where the fields are explained."""

    name: str
    title: str
    gold: str
    published: str
    citation: str
    loader: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    folders: tuple[str, ...] = ("",)
    licence: str = "see the publisher"
    pitfall: str = ""
    check_options: Mapping[str, Any] = field(default_factory=dict)
    generic: bool = False
    texts: bool = True
    whole_texts: bool = False

    @property
    def files(self) -> tuple[FileSet, ...]:
        """File names with their checksums."""
        return known_files().get(self.name, ())

    def import_loader(self) -> Callable[..., JudgementTable]:
        """Import the loader. It is imported late because listing data sets needs no loader."""
        module, _, function = self.loader.partition(":")
        loader: Callable[..., JudgementTable] = getattr(import_module(f"nlgauge.data.loaders.{module}"), function)
        return loader

    def read(self, path: Path, **options: Any) -> JudgementTable:
        """Load the files at a path as a table."""
        return self.import_loader()(path, **{**self.defaults, **self.fixed, **options})

    @property
    def options(self) -> Mapping[str, OptionKind]:
        """Keyword arguments of `load` for this data set, except `langpairs`, with the kind of each."""
        loader, hidden = self.import_loader(), {"langpairs", *self.fixed, *self.hidden}
        hints, (_, *names) = get_type_hints(loader), inspect.signature(loader).parameters
        return {name: _option_kind(hints[name]) for name in names if name not in hidden}

    def parse_options(self, texts: Iterable[str]) -> dict[str, Any]:
        """Parse options from texts of the form `KEY=VALUE`."""
        options: dict[str, Any] = {}
        for text in texts:
            key, equals, value = text.partition("=")
            if not equals or not key:
                msg = f"options of {self.name} have the form KEY=VALUE, got {text!r}"
                raise RecipeError(msg)
            self._check_known(key)
            if key in options:
                msg = f"option {key!r} is given twice, again as {text!r}; separate several names with commas"
                raise RecipeError(msg)
            options[key] = parse_option(key, self.options[key], value)
        return options

    def check_given(self, options: Mapping[str, Any]) -> None:
        """Raise RecipeError for an unknown option or a value of the wrong kind."""
        for name, value in options.items():
            self._check_known(name)
            check_option(name, self.options[name], value)

    def _check_known(self, option: str) -> None:
        if option not in self.options:
            names = ["langpairs", *self.options]
            msg = f"data set {self.name!r} has no option {option!r}; its options are: {', '.join(names)}"
            raise RecipeError(msg)


#: All data sets by name.
DATA_CARDS: Mapping[str, DataCard] = read_records(Path(__file__).with_name("cards.toml"), DataCard)


def find_data_card(name: str) -> DataCard:
    """Look up the card of a data set, with a suggestion for a misspelt name."""
    if name not in DATA_CARDS:
        msg = f"unknown data set {name!r}{did_you_mean(name, DATA_CARDS, see='nlgauge data list')}"
        raise RecipeError(msg)
    return DATA_CARDS[name]


def locate(card: DataCard, path: str | os.PathLike[str]) -> Path | None:
    """Find the data set at a path: the path itself or one of its usual folders below; None if it is in none."""
    base = Path(path)
    telling = [group.pattern for group in card.files if not group.shared]
    if base.is_file():
        return base if any(base.match(pattern) for pattern in telling) else None
    for folder in card.folders:
        candidate = base / folder
        for pattern in telling if candidate.is_dir() else ():
            with contextlib.suppress(InputError):  # a folder too large to search
                if next(files_below(candidate, pattern), None) is not None:
                    return candidate
    return None


def load(
    name: str, path: str | os.PathLike[str], *, langpairs: str | Iterable[str] | None = None, **options: Any
) -> JudgementTable:
    """Load a data set by name.

    `path` is its folder or file, or a folder that contains it under its usual name. `options` are those of the data
    set's loader, such as `level="system"` for WMT packages or `humans=False` for TAC.
    """
    card = find_data_card(name)
    card.check_given(options)
    if not isinstance(path, str | os.PathLike):
        msg = f"path must be a folder or a file, got {path!r}"
        raise InputError(msg)
    if not Path(path).exists():
        fix = "check the path"
        if card.published:
            fix += f", or download {card.name} from {card.published}"
        msg = f"no such file or folder: {os.fspath(path)!r}; {fix}"
        raise InputError(msg)
    table = card.read(locate(card, path) or Path(path), langpairs=langpairs, **options)
    return table if card.generic else replace(table, name=card.name, citation=card.citation)


@dataclass(frozen=True)
class DataDescription(Result):
    """Facts about a data set: source, citation, options, rows and files."""

    format = "nlgauge-data-set-1"

    name: str
    title: str
    gold: str
    published: str
    citation: str
    licence: str
    pitfall: str
    options: tuple[str, ...]
    rows: Mapping[str, int]
    """By language pair."""
    files: tuple[FileSet, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per group of files."""
        rows: list[list[Cell]] = [
            [group.pattern, "any" if group.files is None else str(group.files), group.digest or "-"]
            for group in self.files
        ]
        return [Table(["files", "number", "sha256"], rows)] if rows else []

    def render(self, form: str = "text", *, decimals: int | None = None) -> str:
        """Render as text: one fact per line, then the files."""
        if form != "text":
            return super().render(form, decimals=decimals)
        lines = [(name, getattr(self, name)) for name in _FACTS if getattr(self, name)]
        kinds = DATA_CARDS[self.name].options
        options = [f"{name} ({kinds[name]})" for name in self.options if name in kinds]
        lines.append(("options", ", ".join(["langpairs (names)", *options])))
        if self.rows:
            lines.append(("rows", ", ".join(f"{pair} {count}" for pair, count in self.rows.items())))
        facts = "".join(f"{name + ':':<10} {value}\n" for name, value in lines)
        return "\n".join([facts, *(table.to_text(width=0) for table in self.tables())])


@dataclass(frozen=True)
class DataList(Result):
    """List of all data sets."""

    format = "nlgauge-data-sets-1"
    decimals = 0

    data: tuple[DataDescription, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per data set."""
        rows: list[list[Cell]] = [
            [card.name, str(sum(card.rows.values())) if card.rows else "-", card.gold, card.title]
            for card in self.data
        ]
        return [Table(["name", "rows", "gold", "what"], rows)]


#: Fields of a card that are printed unchanged.
_FACTS = ("name", "title", "gold", "published", "citation", "licence", "pitfall")


def describe_card(card: DataCard, *, options: bool = True) -> DataDescription:
    """Describe a data set. Listing its options imports its loader, which takes a while."""
    return DataDescription(
        **{name: getattr(card, name) for name in _FACTS},
        options=("langpairs", *card.options) if options else (),
        rows=dict(card.rows),
        files=card.files,
    )


class FileCheck(NamedTuple):
    """Check of one file set: `state` is same, different, more, missing, or present (if no checksum is known)."""

    pattern: str
    expected: int | None
    found: int
    state: str


class RowCheck(NamedTuple):
    """Check of the number of rows of one language pair; `expected` is None if unknown."""

    langpair: str
    expected: int | None
    found: int

    @property
    def state(self) -> str:
        """The result as one of the words used for files."""
        if self.expected is None:
            return "present"
        return "same" if self.expected == self.found else "different"


@dataclass(frozen=True)
class DataCheck(Result):
    """Check of one data set at a path. `problem` is the error if the data does not load."""

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
        """Whether no file is missing or different, the data loads, and the number of rows is as expected."""
        files = all(entry.state not in ("missing", "different") for entry in self.files)
        rows = all(entry.expected in (None, entry.found) for entry in self.rows)
        return files and rows and self.problem is None

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per file set and per language pair."""
        files = [[entry.pattern, _count_of(entry), entry.state] for entry in self.files]
        rows = [[entry.langpair, _count_of(entry), entry.state] for entry in self.rows]
        notes = [*([f"does not load: {self.problem}"] if self.problem else []), *self.notes]
        caption = f"{self.name} at {self.path}: {'complete' if self.complete else 'NOT complete'}"
        if not files and not rows:
            return [Paragraphs([caption, *notes])]
        return [Table(["files or rows", "found", "state"], [*files, *rows], caption, notes)]


@dataclass(frozen=True)
class DataChecks(Result):
    """Checks of several data sets at one path."""

    format = "nlgauge-data-checks-1"
    decimals = 0
    computed = ("complete",)

    checks: tuple[DataCheck, ...]

    @property
    def complete(self) -> bool:
        """Whether every data set is complete."""
        return all(check.complete for check in self.checks)

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table per data set."""
        return [table for check in self.checks for table in check.tables(form)]


def _count_of(entry: FileCheck | RowCheck) -> str:
    return str(entry.found) if entry.expected is None else f"{entry.found} of {entry.expected}"


def recognise(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Names of the data sets with files at a path."""
    _need_path(path)
    return tuple(card.name for card in DATA_CARDS.values() if locate(card, path) is not None)


def _need_path(path: str | os.PathLike[str]) -> None:
    if not Path(path).exists():
        msg = f"no such file or folder: {os.fspath(path)!r}"
        raise InputError(msg)


def check(name: str, path: str | os.PathLike[str], options: Iterable[str] = ()) -> DataCheck:
    """Load a data set and compare files and rows with its card; `options` have the form `KEY=VALUE`."""
    card = find_data_card(name)
    chosen = dict(card.check_options) | card.parse_options(options)
    _need_path(path)
    folder = locate(card, path) or Path(path)
    problem, notes = None, list[str]()
    counts: Counter[str] = Counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the notes contain the same text
            table = card.read(folder, **chosen)
        counts.update(table.langpair)
        notes += table.notes
    except NlgaugeError as error:
        problem = str(error)
    expected = dict.fromkeys(card.rows) | dict.fromkeys(counts)
    rows = () if problem else tuple(RowCheck(pair, card.rows.get(pair), counts[pair]) for pair in expected)
    files = tuple(_check_files(group, folder) for group in card.files)
    return DataCheck(name, str(folder), files, rows, tuple(notes), problem)


def set_digest(files: Sequence[Path]) -> str:
    """sha256 of one file; of several files, that of the lines printed by `sha256sum`, sorted by name."""
    digests = {file.name: hashlib.sha256(read_bytes(str(file))).hexdigest() for file in files}
    if len(digests) == 1:
        return next(iter(digests.values()))
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def _check_files(group: FileSet, folder: Path) -> FileCheck:
    if folder.is_file():
        files = [folder] if folder.match(group.pattern) else []
    else:
        files = sorted(file for file in folder.glob(group.pattern) if file.is_file())
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
