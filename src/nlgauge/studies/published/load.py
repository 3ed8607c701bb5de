"""Read published tables from the TOML files of the folder `papers`: one per paper, with its tables by id.

    source              of every table; `{}` is its place in the paper (`place = "Table 3"`)
    [texts]             what several notes say: `"$name"` in a note stands for the text of that name
    [models]            models that the paper used, by the name under which rows have them
    [columns]           lists of columns that several tables share, by name
    frames              of a paper on rankings: label | task instances systems metrics data set
    [[methods]]         how nlgauge computes rows, by their names in print (`*`, `?` and `[...]` as in file names):
                        fields of `TableRow`. All that match count, the later one where two have the same field
    [tables.ID]         fields of `PaperTable`; methods of a table come after those of the file, and `keys` has the
                        key of a row by its name

Columns are listed in groups: `langpairs` (or `criteria`, or any `labels`), with a `prefix` of their labels, the
fields of their `Question`, and a `mean` over them; those `only_shown` ask nothing, and `parts` makes a column of each
share. A mean of other columns has `over`, and a name stands for a list of [columns].

Values in print are lines `NAME | VALUES`, after a line `columns | LABELS` where they are not all columns in their
order. `-` is a cell that print leaves empty, `_` in a label or a name is a blank, `*` after a value is the print's
asterisk, whole numbers stay whole, and further bars only part groups of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from nlgauge.errors import FileFormatError
from nlgauge.io.formats import toml_content
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.tables import (
    Column,
    FactorGroup,
    Mean,
    PaperTable,
    PublishedFrames,
    PublishedModel,
    TableRow,
)

Section = Mapping[str, Any]

_FILE = ("source", "texts", "models", "columns", "frames", "methods", "tables")
_HEADER = "columns"
_ASKED = ("level", "agreement", "criterion", "options")
_GROUP = ("langpairs", "criteria", "labels", "prefix", "langpair", "parts", "setup", "data", "only_shown", "mean",
          *_ASKED)  # fmt: skip
#: Keys of a table that are not fields of `PaperTable`, or not in the same form.
_FORMS = ("place", "source", "notes", "columns", "printed", "names", "methods", "keys", "groups", "frames",
          "other_model", "sampled")  # fmt: skip
#: Fields of a row that methods do not have: they stand with the values in print.
_OF_PRINT = ("name", "published", "starred", "key")


def read_data(name: str) -> str:
    """The text of a file of the folder `papers`."""
    return (resources.files("nlgauge.studies.published") / "papers" / name).read_text(encoding="utf-8")


def load_tables(paper: str) -> tuple[PaperTable, ...]:
    """The tables of a paper, from its file."""
    return parse_tables(read_data(f"{paper}.toml"), where=f"{paper}.toml")


def parse_tables(text: str, *, where: str = "text") -> tuple[PaperTable, ...]:
    """The tables of a text in TOML."""
    return _Paper(parse_toml(text, where), where).tables()


def parse_toml(text: str, where: str) -> Section:
    """The content of a text in TOML."""
    try:
        return toml_content(text)
    except ValueError as error:
        msg = f"{where} is not TOML: {error}"
        raise FileFormatError(msg) from None


def check_keys(section: Section, known: Iterable[str], where: str) -> None:
    """Refuse keys that mean nothing."""
    for key in section:
        if key not in known:
            msg = f"{where}: unknown key {key!r}; known are {', '.join(known)}"
            raise FileFormatError(msg)


def expand_text(text: str, texts: Mapping[str, str], where: str) -> str:
    """A text, or the one that `$name` stands for."""
    if not text.startswith("$"):
        return text
    if text[1:] not in texts:
        msg = f"{where}: no text is called {text[1:]!r}; there are {', '.join(texts) or 'none'}"
        raise FileFormatError(msg)
    return texts[text[1:]]


@cache
def _types(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _check_types(cls: type, given: Section, where: str) -> None:
    """Refuse values that are not of the type of their field."""
    for key, value in given.items():
        expected = _types(cls)[key]
        if get_origin(expected) is Literal:
            fits = value in get_args(expected)
        elif expected is float:
            fits = isinstance(value, float | int)
        else:
            # Booleans are whole numbers to Python, and tuples are checked by what reads them.
            fits = expected not in (str, bool, int) or type(value) is expected
        if not fits:
            msg = f"{where}: {key} cannot be {value!r}"
            raise FileFormatError(msg)


def _build(cls: Any, given: Section, where: str) -> Any:
    """An object of a class from its fields; lists become tuples."""
    check_keys(given, _types(cls), where)
    _check_types(cls, given, where)
    for one in fields(cls):
        if one.name not in given and one.default is MISSING and one.default_factory is MISSING:
            msg = f"{where}: {one.name} is missing"
            raise FileFormatError(msg)
    return cls(**{key: _to_tuples(value) for key, value in given.items()})


class _Printed(NamedTuple):
    """A row of values in print."""

    values: dict[str, float | str]
    starred: frozenset[str]


def parse_printed(
    text: str, labels: Sequence[str], *, names: bool = False, where: str = "text"
) -> dict[str, _Printed]:
    """The rows of a block of printed values; cells may be `names` where a table prints these.

    >>> parse_printed("BLEU | .5 -", ["a", "b"])["BLEU"].values
    {'a': 0.5}
    """
    rows: dict[str, _Printed] = {}
    columns = list(labels)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, bar, rest = (part.strip() for part in line.partition("|"))
        cells = rest.replace("|", " ").split()
        here = f"{where}, line {number}"
        if not bar:
            msg = f"{here}: expected 'NAME | VALUES', got {line.strip()!r}"
            raise FileFormatError(msg)
        if name == _HEADER and not rows:
            columns = [label.replace("_", " ") for label in cells]
            if unknown := [label for label in columns if label not in labels]:
                msg = f"{here}: {unknown[0]!r} is not a column; there are {', '.join(labels)}"
                raise FileFormatError(msg)
            continue
        if name in rows or (cells and len(cells) != len(columns)):
            why = "a second row of that name" if name in rows else f"{len(cells)} values"
            msg = f"{here}: {name!r}: {why}; its columns are {', '.join(columns)}"
            raise FileFormatError(msg)
        given = {label: cell for label, cell in zip(columns, cells, strict=False) if cell != "-"}
        values = {label: _value(cell, names=names, where=f"{here}: {name!r}") for label, cell in given.items()}
        rows[name] = _Printed(values, frozenset(label for label, cell in given.items() if cell.endswith("*")))
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
    """Fields of the rows whose names match."""

    patterns: tuple[str, ...]
    fields: dict[str, Any]


def _merge_fields(methods: Iterable[_Method], name: str) -> dict[str, Any]:
    """What methods say of a row."""
    found: dict[str, Any] = {}
    for method in methods:
        if any(fnmatchcase(name, pattern) for pattern in method.patterns):
            found |= method.fields
    return found


class _Paper:
    """The file of a paper."""

    def __init__(self, content: Section, where: str) -> None:
        check_keys(content, _FILE, where)
        self.content, self.where = content, where
        self.texts: Mapping[str, str] = content.get("texts", {})
        self.models: dict[str, PublishedModel] = {
            name: _build(PublishedModel, model, f"{where}, models.{name}")
            for name, model in content.get("models", {}).items()
        }
        self.column_lists: dict[str, tuple[Column | Mean, ...]] = {}
        for name, groups in content.get("columns", {}).items():
            self.column_lists[name] = self._columns(groups, f"{where}, columns.{name}")
        self.frames = _frames(content.get("frames", ""), where)
        self.methods = self._methods(content.get("methods", ()), where)
        self.fields: dict[str, dict[str, Any]] = {}

    def tables(self) -> tuple[PaperTable, ...]:
        """All tables; every method must be that of a row."""
        tables = tuple(self._table(name, section) for name, section in self.content.get("tables", {}).items())
        _check_matched(self.methods, {row.name for table in tables for row in table.rows}, self.where)
        return tables

    def _table(self, name: str, section: Section) -> PaperTable:
        where = f"{self.where}, tables.{name}"
        check_keys(section, [*(key for key in _types(PaperTable) if key not in ("id", "rows")), *_FORMS], where)
        if "source" not in section and "place" not in section:
            msg = f"{where}: say where it stands: its place in the paper, or a source of its own"
            raise FileFormatError(msg)
        groups = tuple(_build(FactorGroup, group, where) for group in section.get("groups", ()))
        columns = tuple(column for group in groups for column in group.columns)
        columns = columns or self._columns(section.get("columns", ()), where)
        plain = {key: value for key, value in section.items() if key not in _FORMS}
        for key in ("unavailable", "idf_corpora"):
            plain[key] = self._text(plain.get(key, ""), where)
        sampled = self._columns(section.get("sampled", ()), where)
        read = {
            "id": name,
            "source": section.get("source") or self.content.get("source", "").format(section.get("place", "")),
            "columns": columns,
            "rows": self._rows(section, [column.label for column in columns], where),
            "notes": tuple(self._text(note, where) for note in section.get("notes", ())),
            "groups": groups,
            "frames": self.frames if section.get("frames") else (),
            "other_model": self._model(section["other_model"], where) if "other_model" in section else None,
            "sampled": tuple(column for column in sampled if isinstance(column, Column)),
        }
        table: PaperTable = _build(PaperTable, plain | read, where)
        return table

    def _rows(self, section: Section, labels: Sequence[str], where: str) -> tuple[TableRow, ...]:
        printed = parse_printed(
            section.get("printed", ""), labels, names=section.get("names", False), where=f"{where}, printed"
        )
        own = self._methods(section.get("methods", ()), where)
        _check_matched(own, printed, where)
        keys: Mapping[str, list[str]] = section.get("keys", {})
        check_keys(keys, printed, f"{where}, keys")
        rows = []
        for name, (values, starred) in printed.items():
            if name not in self.fields:
                self.fields[name] = _merge_fields(self.methods, name)
            given = self.fields[name] | _merge_fields(own, name)
            rows.append(TableRow(name, values, starred=starred, key=tuple(keys.get(name, ())), **given))
        return tuple(rows)

    def _methods(self, sections: Iterable[Section], where: str) -> list[_Method]:
        found = []
        for section in sections:
            here = f"{where}, methods of {', '.join(section.get('rows', ())) or 'no rows'}"
            given = {key: value for key, value in section.items() if key != "rows"}
            check_keys(given, [key for key in _types(TableRow) if key not in _OF_PRINT], here)
            if "model" in given:
                given["model"] = self._model(given["model"], here)
            if "note" in given:
                given["note"] = self._text(given["note"], here)
            _check_types(TableRow, given, here)
            found.append(_Method(tuple(section.get("rows", ())), given))
        return found

    def _columns(self, groups: Iterable[str | Section], where: str) -> tuple[Column | Mean, ...]:
        found: list[Column | Mean] = []
        for group in groups:
            if not isinstance(group, str):
                found += _column_group(group, where)
            elif group in self.column_lists:
                found += self.column_lists[group]
            else:
                msg = f"{where}: no list of columns is called {group!r}; there are {', '.join(self.column_lists)}"
                raise FileFormatError(msg)
        return tuple(found)

    def _model(self, name: str, where: str) -> PublishedModel:
        if name not in self.models:
            msg = f"{where}: no model is called {name!r}; there are {', '.join(self.models)}"
            raise FileFormatError(msg)
        return self.models[name]

    def _text(self, text: str, where: str) -> str:
        return expand_text(text, self.texts, where)


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _check_matched(methods: Iterable[_Method], names: Iterable[str], where: str) -> None:
    """Refuse a method whose rows are not there."""
    for method in methods:
        for pattern in method.patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                msg = f"{where}: methods of {pattern!r}: there is no such row"
                raise FileFormatError(msg)


def _column_group(group: Section, where: str) -> list[Column | Mean]:
    if "over" in group:
        check_keys(group, ("mean", "over"), f"{where}, columns")
        return [Mean(group["mean"], tuple(group["over"]))]
    check_keys(group, _GROUP, f"{where}, columns")
    listed = [kind for kind in ("langpairs", "criteria", "labels") if kind in group]
    if len(listed) != 1:
        msg = f"{where}: a group of columns has langpairs, criteria or labels, got {', '.join(group)}"
        raise FileFormatError(msg)
    kind, prefix = listed[0], group.get("prefix", "")
    asked = {key: group[key] for key in _ASKED if key in group}
    if "options" in asked:
        asked["options"] = tuple((key, _to_tuples(value)) for key, value in asked["options"].items())
    found: list[Column | Mean] = []
    for name in group[kind]:
        question = None
        if "data" in group and name not in group.get("only_shown", ()):
            question = Question(group["data"], **asked | ({"criterion": name} if kind == "criteria" else {}))
        langpair = name if kind == "langpairs" else group.get("langpair", "en")
        for suffix, part in group.get("parts", {"": ""}).items():
            label = f"{prefix}{name} {suffix}".rstrip()
            found.append(Column(label, question, langpair, part, group.get("setup", {})))
    if "mean" in group:
        found.append(Mean(group["mean"], tuple(column.label for column in found)))
    return found


def _frames(text: str, where: str) -> tuple[PublishedFrames, ...]:
    found = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        label, _, rest = line.partition("|")
        try:
            task, instances, systems, metrics, *card = rest.split()
            sizes = int(instances), int(systems), int(metrics)
        except ValueError:
            form = "LABEL | TASK INSTANCES SYSTEMS METRICS DATA"
            msg = f"{where}, frames, line {number}: expected {form!r}, got {line!r}"
            raise FileFormatError(msg) from None
        found.append(PublishedFrames(label.strip(), task, *sizes, *card))
    return tuple(found)
