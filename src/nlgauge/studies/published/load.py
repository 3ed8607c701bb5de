"""Read published tables from the TOML files in the folder `papers`: one file per paper, with its tables by id.

    source              source of all tables; `{}` is replaced by the place in the paper (`place = "Table 3"`)
    [texts]             texts for several notes: `"$name"` in a note is replaced by the text with that name
    [models]            models used in the paper, by the name used in rows
    [columns]           lists of columns for several tables, by name
    frames              for papers on rankings: fields of `PublishedFrames`
    [[methods]]         how nlgauge computes rows, by published row name (with `*`, `?` and `[...]` as in file names):
                        fields of `TableRow`. All matching methods apply; later ones override earlier ones
    [tables.ID]         fields of `PaperTable`; methods of a table come after those of the file, and `keys` has the
                        key of each row by name

Columns are listed in groups: `langpairs` (or `criteria`, or any `labels`), with a `prefix` for labels, the fields of
their `Question`, and a `mean` over them. Columns in `only_shown` have no question, and `parts` makes a column of each
share. A mean of other columns has `over`; a name refers to a list of [columns].

Published values are lines `NAME | VALUES`, after a line `columns | LABELS` if they are not all columns in order. `-`
is an empty cell, `_` in a label or a name is a space, `*` after a value is an asterisk in the paper, whole numbers
stay integers, and further bars only separate groups of columns.

`papers/inventory.toml` has the order of the files, and every table and figure of the papers: its entries as a list,
with `part` if they cover only a part, or a text with the reason why there is no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from nlgauge.core.result import Result
from nlgauge.errors import FileFormatError, RecipeError, closest_name, did_you_mean
from nlgauge.io.table import Cell, Table
from nlgauge.io.toml_records import build_record, read_entries
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.tables import (
    Column,
    FactorGroup,
    PaperTable,
    PublishedFrames,
    PublishedModel,
    TableRow,
)

Section = Mapping[str, Any]

_FOLDER = Path(__file__).parent / "papers"
_FILE = ("source", "texts", "models", "columns", "frames", "methods", "tables")
_HEADER = "columns"
_ASKED = ("level", "agreement", "criterion", "options")
_GROUP = ("langpairs", "criteria", "labels", "prefix", "langpair", "parts", "setup", "data", "only_shown", "mean",
          *_ASKED)  # fmt: skip
#: Keys of a table that are not fields of `PaperTable`, or that have another form.
_FORMS = ("place", "source", "notes", "columns", "printed", "names", "methods", "keys", "groups", "frames",
          "other_model", "sampled", "unavailable", "idf_corpora", "reason")  # fmt: skip

#: Fields of a table that are texts or names of texts.
_TEXT_FIELDS = ("unavailable", "idf_corpora", "reason")


def load_tables(path: Path) -> tuple[PaperTable, ...]:
    """Read the tables of a paper from its file."""
    return _Paper(read_entries(path), path.name).tables()


def _look_up(name: str, known: Mapping[str, Any], what: str, where: str) -> Any:
    """Look up an entry; the error for an unknown name lists the known ones."""
    if name not in known:
        msg = f"{where}: unknown {what} {name!r}; known: {', '.join(known) or 'none'}"
        raise FileFormatError(msg)
    return known[name]


def _check_keys(section: Section, valid: Iterable[str], where: str) -> None:
    for key in section:
        if key not in valid:
            msg = f"{where}: unknown key {key!r}; known keys: {', '.join(valid)}"
            raise FileFormatError(msg)


def _expand(text: str, texts: Mapping[str, str], where: str) -> str:
    """Replace `$name` by the text with that name."""
    return str(_look_up(text[1:], texts, "text", where)) if text.startswith("$") else text


class _Printed(NamedTuple):
    """A row of published values."""

    values: dict[str, float | str]
    starred: frozenset[str]


def parse_printed(
    text: str, labels: Sequence[str], *, names: bool = False, where: str = "text"
) -> dict[str, _Printed]:
    """Parse a block of published values; with `names` cells are names instead of numbers.

    >>> parse_printed("BLEU | .5 -", ["a", "b"])["BLEU"].values
    {'a': 0.5}
    """
    rows: dict[str, _Printed] = {}
    columns = list(labels)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, bar, values_text = (part.strip() for part in line.partition("|"))
        cells = values_text.replace("|", " ").split()
        location = f"{where}, line {number}"
        if not bar:
            msg = f"{location}: expected 'NAME | VALUES', got {line.strip()!r}"
            raise FileFormatError(msg)
        if name == _HEADER and not rows:
            columns = [label.replace("_", " ") for label in cells]
            if unknown := [label for label in columns if label not in labels]:
                msg = f"{location}: {unknown[0]!r} is not a column; the columns are {', '.join(labels)}"
                raise FileFormatError(msg)
            continue
        if name in rows or (cells and len(cells) != len(columns)):
            problem = "duplicate row" if name in rows else f"{len(cells)} values"
            msg = f"{location}: {name!r}: {problem}; the columns are {', '.join(columns)}"
            raise FileFormatError(msg)
        cell_of = {label: cell for label, cell in zip(columns, cells, strict=False) if cell != "-"}
        values = {label: _value(cell, names=names, where=f"{location}: {name!r}") for label, cell in cell_of.items()}
        rows[name] = _Printed(values, frozenset(label for label, cell in cell_of.items() if cell.endswith("*")))
    return rows


def _value(cell: str, *, names: bool, where: str) -> float | str:
    if names:
        return cell.replace("_", " ")
    try:
        return int(cell) if cell.isdigit() else float(cell.removesuffix("*"))
    except ValueError:
        msg = f"{where}: {cell!r} is not a number"
        raise FileFormatError(msg) from None


class _Method(NamedTuple):
    """Fields for all rows with a matching name."""

    patterns: tuple[str, ...]
    fields: dict[str, Any]


def _merge_fields(methods: Iterable[_Method], name: str) -> dict[str, Any]:
    """Merge the fields of all methods that match a row."""
    merged: dict[str, Any] = {}
    for method in methods:
        if any(fnmatchcase(name, pattern) for pattern in method.patterns):
            merged |= method.fields
    return merged


def _check_matched(methods: Iterable[_Method], names: Iterable[str], where: str) -> None:
    """Raise FileFormatError for a method that matches no row."""
    for method in methods:
        for pattern in method.patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                msg = f"{where}: methods of {pattern!r} match no row"
                raise FileFormatError(msg)


class _Paper:
    """Content of a paper's file."""

    def __init__(self, content: Section, where: str) -> None:
        _check_keys(content, _FILE, where)
        self.content, self.where = content, where
        self.texts: Mapping[str, str] = content.get("texts", {})
        self.models = {
            name: build_record(PublishedModel, model, where=f"{where}, models.{name}")
            for name, model in content.get("models", {}).items()
        }
        self.column_lists: dict[str, tuple[Column, ...]] = {}
        for name, groups in content.get("columns", {}).items():
            self.column_lists[name] = self._columns(groups, f"{where}, columns.{name}")
        self.frames = tuple(
            build_record(PublishedFrames, frames, where=f"{where}, frames") for frames in content.get("frames", ())
        )
        self.methods = self._methods(content.get("methods", ()), where)
        self.fields: dict[str, dict[str, Any]] = {}

    def tables(self) -> tuple[PaperTable, ...]:
        """Build all tables; every method must match a row."""
        tables = tuple(self._table(name, section) for name, section in self.content.get("tables", {}).items())
        _check_matched(self.methods, {row.name for table in tables for row in table.rows}, self.where)
        return tables

    def _table(self, name: str, section: Section) -> PaperTable:
        where = f"{self.where}, tables.{name}"
        if "source" not in section and "place" not in section:
            msg = f"{where}: missing place (its place in the paper) or source"
            raise FileFormatError(msg)
        groups = tuple(build_record(FactorGroup, group, where=where) for group in section.get("groups", ()))
        of_groups = tuple(column for group in groups for column in group.columns)
        columns = of_groups or self._columns(section.get("columns", ()), where)
        return build_record(
            PaperTable,
            {key: value for key, value in section.items() if key not in _FORMS},
            where=where,
            id=name,
            source=section.get("source") or self.content.get("source", "").format(section.get("place", "")),
            columns=columns,
            rows=self._rows(section, [column.label for column in columns], where),
            notes=tuple(_expand(note, self.texts, where) for note in section.get("notes", ())),
            groups=groups,
            frames=self.frames if section.get("frames") else (),
            other_model=self._model(section.get("other_model"), where),
            sampled=tuple(column for column in self._columns(section.get("sampled", ()), where) if not column.over),
            **{key: _expand(section.get(key, ""), self.texts, where) for key in _TEXT_FIELDS},
        )

    def _rows(self, section: Section, labels: Sequence[str], where: str) -> tuple[TableRow, ...]:
        printed = parse_printed(
            section.get("printed", ""), labels, names=section.get("names", False), where=f"{where}, printed"
        )
        methods = self._methods(section.get("methods", ()), where)
        _check_matched(methods, printed, where)
        keys: Mapping[str, list[str]] = section.get("keys", {})
        _check_keys(keys, printed, f"{where}, keys")
        rows = []
        for name, (values, starred) in printed.items():
            if name not in self.fields:
                self.fields[name] = _merge_fields(self.methods, name)
            fields = {"model": None} | self.fields[name] | _merge_fields(methods, name)
            # Methods cannot set fields that come with the published values, nor the model.
            of_print = {"name": name, "published": values, "starred": starred, "key": tuple(keys.get(name, ()))}
            model = {"model": fields.pop("model")}
            rows.append(build_record(TableRow, fields, where=f"{where}, row {name!r}", **of_print, **model))
        return tuple(rows)

    def _methods(self, sections: Iterable[Section], where: str) -> list[_Method]:
        methods = []
        for section in sections:
            fields = dict(section)
            patterns = tuple(fields.pop("rows", ()))
            location = f"{where}, methods of {', '.join(patterns) or 'no rows'}"
            if "model" in fields:
                fields["model"] = self._model(fields["model"], location)
            if "note" in fields:
                fields["note"] = _expand(fields["note"], self.texts, location)
            methods.append(_Method(patterns, fields))
        return methods

    def _columns(self, groups: Iterable[str | Section], where: str) -> tuple[Column, ...]:
        columns: list[Column] = []
        for group in groups:
            if isinstance(group, str):
                columns += _look_up(group, self.column_lists, "list of columns", where)
            else:
                columns += _column_group(group, where)
        return tuple(columns)

    def _model(self, name: str | None, where: str) -> PublishedModel | None:
        return None if name is None else _look_up(name, self.models, "model", where)


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _column_group(group: Section, where: str) -> list[Column]:
    if "over" in group:
        _check_keys(group, ("mean", "over"), f"{where}, columns")
        return [Column(group["mean"], over=tuple(group["over"]))]
    _check_keys(group, _GROUP, f"{where}, columns")
    listed = [kind for kind in ("langpairs", "criteria", "labels") if kind in group]
    if len(listed) != 1:
        msg = f"{where}: a group of columns needs langpairs, criteria or labels, got {', '.join(group)}"
        raise FileFormatError(msg)
    kind, prefix = listed[0], group.get("prefix", "")
    fields = {key: group[key] for key in _ASKED if key in group}
    if "options" in fields:
        fields["options"] = tuple((key, _to_tuples(value)) for key, value in fields["options"].items())
    columns: list[Column] = []
    for name in group[kind]:
        question = None
        if "data" in group and name not in group.get("only_shown", ()):
            question = Question(group["data"], **fields | ({"criterion": name} if kind == "criteria" else {}))
        langpair = name if kind == "langpairs" else group.get("langpair", "en")
        for suffix, part in group.get("parts", {"": ""}).items():
            label = f"{prefix}{name} {suffix}".rstrip()
            columns.append(Column(label, question, langpair, part, group.get("setup", {})))
    if "mean" in group:
        columns.append(Column(group["mean"], over=tuple(column.label for column in columns)))
    return columns


_INVENTORY = _FOLDER / "inventory.toml"

PAPER_TABLES: Mapping[str, PaperTable] = {
    table.id: table for paper in read_entries(_INVENTORY)["files"] for table in load_tables(_FOLDER / f"{paper}.toml")
}


def find_paper_table(name: str) -> PaperTable:
    """Look up a table or figure; `table3` and `figure1` without a prefix belong to the reproducibility study."""
    known = f"repro-{name}" if name.startswith(("table", "figure")) else name
    if known not in PAPER_TABLES:
        spelling = known if "-" in known or closest_name(known, PAPER_TABLES) else f"repro-{name}"
        hint = did_you_mean(spelling, PAPER_TABLES, see="nlgauge study reproduce list")
        msg = f"unknown published table {name!r}{hint}"
        raise RecipeError(msg)
    return PAPER_TABLES[known]


@dataclass(frozen=True)
class PrintedItem:
    """A table or figure of a paper with its entries, or the reason why there is none."""

    paper: str
    name: str
    """Number in the paper: `Table 3`."""
    entries: tuple[str, ...] = ()
    """Ids of `nlgauge study reproduce`."""
    reason: str = ""
    """Why there is no entry."""
    part: str = ""
    """Part covered by the entries, if not all of it."""

    @property
    def title(self) -> str:
        """Paper, number, and the covered part."""
        return f"{self.paper}, {self.name}" + (f" ({self.part})" if self.part else "")


class ListedTable(NamedTuple):
    """A published table with available data and models; without an entry it has a reason."""

    id: str | None
    title: str | None
    source: str | None
    printed: tuple[str, ...]
    data: Mapping[str, bool]
    """By data set, whether it is available."""
    models: Mapping[str, bool]
    reason: str | None = None


@dataclass(frozen=True)
class PublishedTables(Result):
    """All published tables and figures."""

    format = "nlgauge-published-tables-1"

    entries: tuple[ListedTable, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per published table; without an entry the title is the reason."""
        rows: list[list[Cell]] = [
            [entry.id, entry.title or entry.reason or "", "; ".join(entry.printed)] for entry in self.entries
        ]
        return [Table(["id", "title", "printed"], rows)]


def load_inventory(path: Path) -> tuple[PrintedItem, ...]:
    """Read the list of tables and figures."""
    content = read_entries(path)
    _check_keys(content, ("files", "texts", "papers"), path.name)
    items = []
    for paper, listed in content.get("papers", {}).items():
        for name, value in listed.items():
            where = f"{path.name}, {paper}, {name}"
            if not isinstance(value, dict):
                value = {"reason" if isinstance(value, str) else "entries": value}
            item = build_record(PrintedItem, value, where=where, paper=paper, name=name)
            reason, part = (_expand(text, content.get("texts", {}), where) for text in (item.reason, item.part))
            items.append(replace(item, reason=reason, part=part))
    return tuple(items)


INVENTORY = load_inventory(_INVENTORY)
