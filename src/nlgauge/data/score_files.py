"""Scores that other tools computed (COMET, BLEURT, a language model as judge), read from their files.

    wide    a row per instance, a column per system;  columns `id` and `document` may stand beside them
    long    a row per system and instance: columns `system`, `id` and `score`, or a column per metric;
            with a column `metric`, scores of several metrics stand below each other
    COMET   the JSON file of `comet-score --to_json`: by system a list of objects

Files are TSV, CSV or JSONL by their name, also .gz. Which column is which is told by its name (`ROLES`) or by the
caller. Nothing is filled in: an instance that a system lacks, a score that is no number and one that stands twice are
errors with their place.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import Signature
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.storage import bytes_digest, short_digest
from nlgauge.io.tables import Row, check_header, cut, parse_table, read_bytes, read_json, row_of, suffix_format
from nlgauge.io.textfiles import parse_source

Role = Literal["system", "segment", "document", "metric", "langpair"]

#: Names by which columns are known, where the caller names none.
ROLES: Mapping[Role, tuple[str, ...]] = {
    "system": ("system", "sys", "system_id"),
    "segment": ("segment", "instance", "id", "segment_id", "seg_id", "instance_id"),
    "document": ("document", "doc", "document_id", "doc_id"),
    "metric": ("metric",),
    "langpair": ("langpair", "lp"),
}
_SCORE = "score"

#: Sums of squares of larger scores overflow.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class ImportedScores:
    """Scores of systems on the same instances under one metric of another tool, with the names that its file has."""

    scores: ScoreTable
    """A score per system, signed with the digest of the file."""
    instances: tuple[str, ...]
    """In the order of the file; ids that count from 0 or 1 in the order of their numbers."""
    documents: tuple[str, ...] | None = None
    file: str = ""

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.scores[0].metric

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(score.system or "" for score in self.scores)

    def take(self, rows: Sequence[int]) -> ImportedScores:
        """The same of some instances, by index."""
        return ImportedScores(
            ScoreTable(tuple(replace(one, segments={_SCORE: one.segments[_SCORE][rows]}) for one in self.scores)),
            tuple(self.instances[row] for row in rows),
            None if self.documents is None else tuple(self.documents[row] for row in rows),
            self.file,
        )


class ScoreSpec(NamedTuple):
    """What a user writes to name scores in a file: `[METRIC=]FILE[:COLUMN,...]`."""

    path: str
    metric: str | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> ScoreSpec:
        """Read a spec without opening the file.

        >>> ScoreSpec.parse("judge=out.jsonl:fluency")
        ScoreSpec(path='out.jsonl', metric='judge', columns=('fluency',))
        """
        metric, equals, rest = text.partition("=")
        if not equals or os.path.exists(text):
            metric, rest = "", text
        if not rest:
            msg = f"{text!r} names no file of scores; write [METRIC=]FILE[:COLUMN,...]"
            raise InputError(msg)
        stem, colon, column = rest.rpartition(":")
        if colon and stem.lower().removesuffix(".gz").endswith(".json") and not os.path.exists(rest):
            path, named = stem, column
        else:
            source = parse_source(rest)
            path, named = source.path or "-", source.column or ""
        return cls(path, metric or None, tuple(name for name in named.split(",") if name))


def read_score_files(
    specs: Sequence[str | os.PathLike[str]],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> list[ImportedScores]:
    """The scores in several files, one table per metric; options are those of `read_score_file`."""
    found = [
        table for spec in specs for table in read_score_file(spec, columns=columns, lower_is_better=lower_is_better)
    ]
    names = [table.metric for table in found]
    for name in lower_is_better:
        if name not in names:
            msg = (
                f"{name!r} is said to be better when lower, but the files have scores of {', '.join(names) or 'none'}"
            )
            raise RecipeError(msg)
    for name in names:
        if names.count(name) > 1:
            msg = f"two tables of scores are called {name!r}; give one of them another name (NAME=FILE)"
            raise RecipeError(msg)
    return found


def read_score_file(
    spec: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> list[ImportedScores]:
    """The scores in a file, one table per metric.

    Args:
        spec: `[METRIC=]FILE[:COLUMN,...]`; the columns are those of systems (wide) or metrics (long).
        columns: Names of the columns `system`, `segment`, `document`, `metric`, where they are not the usual ones.
        lower_is_better: Metrics whose scores are better when they are lower.
    """
    named, data, rows, roles = open_score_file(spec, columns)
    read = _long_cells if "system" in roles else _wide_cells
    documents = _documents(rows, roles)
    return [
        _imported(cells, documents, file=named.path, signature=score_signature(metric, data, lower_is_better))
        for metric, cells in read(rows, roles, named).items()
    ]


def open_score_file(
    spec: str | os.PathLike[str], columns: Mapping[str, str] | None = None
) -> tuple[ScoreSpec, bytes, list[Row], dict[str, str]]:
    """What a spec names, the content of the file, its rows, and the column of each role."""
    named = ScoreSpec.parse(os.fspath(spec))
    data = read_bytes(named.path)
    rows = list(read_score_rows(named.path, data=data))
    return named, data, rows, find_roles(rows[0], columns or {})


def score_signature(metric: str, data: bytes, lower_is_better: Collection[str]) -> Signature:
    """The signature of scores that a file holds: its digest, and which of them are better."""
    better = "lower" if metric in lower_is_better else "higher"
    return Signature(metric, {"scores": short_digest(bytes_digest(data)), "better": better})


def read_score_rows(path: str, *, data: bytes | None = None) -> Iterator[Row]:
    """The rows of a TSV, CSV or JSONL file, or of the JSON that COMET writes; at least one."""
    if path.lower().removesuffix(".gz").endswith(".json"):
        return _comet_rows(path)
    form = suffix_format(path)
    if form == "text":
        msg = f"{path}: expected a .tsv, .csv or .jsonl file of scores (also .gz), as its name must say"
        raise InputError(msg)
    header, rows = parse_table(read_bytes(path) if data is None else data, path, form)
    if form != "jsonl":
        _check_header(header, path)
    return rows


def _check_header(names: Sequence[str], path: str) -> None:
    """Refuse names of which two are equal, and no names: scores taken for names would be lost without a word."""
    if len(names) == 1 and path.lower().removesuffix(".gz").endswith(".csv") and ";" in names[0]:
        msg = f"{path}, line 1: columns are separated by ';' there; a CSV file has commas (RFC 4180)"
        raise FileFormatError(msg)
    if all(map(_is_number, names)):
        msg = (
            f"{path}, line 1: expected the names of the columns, got numbers ({cut(', '.join(names))}); "
            "put a first line with the names of the systems above the scores"
        )
        raise FileFormatError(msg)
    check_header(names, names, path)


def _comet_rows(path: str) -> Iterator[Row]:
    """By system a list of objects: the segments in their order."""
    content = read_json(path)
    if "format" in content:
        msg = (
            f"{path}: this is a file of nlgauge ({content['format']}), not of another tool; saved scores are "
            f"compared without --scores: nlgauge compare {path} OTHER.json"
        )
        raise FileFormatError(msg)
    written = "as comet-score --to_json writes it"
    if not content:
        msg = f"{path}: no scores; expected a list of objects by system, {written}"
        raise FileFormatError(msg)
    for system, items in content.items():
        if not isinstance(items, list) or not items:
            msg = f"{path}, {system!r}: expected a list with an object per segment, {written}"
            raise FileFormatError(msg)
        for number, item in enumerate(items):
            where = f"{system!r}, segment {number}"
            row = row_of(item, path, where)
            yield Row(path, where, {**row.values, "system": system, "segment": number})


def find_roles(row: Row, columns: Mapping[str, str]) -> dict[str, str]:
    """Which column has which role: as the caller says, or by its usual name."""
    roles: dict[str, str] = {}
    for role, usual in ROLES.items():
        there = [name for name in usual if name in row.values]
        if role in columns:
            row.value(columns[role])
            roles[role] = columns[role]
        elif len(there) > 1:
            msg = f"{row.file}: columns {there[0]!r} and {there[1]!r} could both be the {role}; say which one is"
            raise RecipeError(msg)
        elif there:
            roles[role] = there[0]
    if unknown := [name for name in columns if name not in ROLES]:
        msg = f"a file of scores has the columns {', '.join(ROLES)}, not {unknown[0]!r}"
        raise RecipeError(msg)
    return roles


class _Cells:
    """Scores by system and instance, none of them twice."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, float]] = {}
        self._places: dict[tuple[str, str], str] = {}

    def add(self, row: Row, system: str, instance: str, column: str) -> None:
        known = self._places.setdefault((system, instance), row.at(column))
        if known != row.at(column):
            msg = f"{row.at(column)}: segment {instance!r} of {system!r} has a score already ({known}); keep one"
            raise FileFormatError(msg)
        value = row.number(column)
        if abs(value) > _LARGEST:
            row.refuse(column, f"a score of at most {_LARGEST:g}, whose square is a number too")
        self.values.setdefault(system, {})[instance] = value


def _wide_cells(rows: Sequence[Row], roles: Mapping[str, str], named: ScoreSpec) -> dict[str, _Cells]:
    if "metric" in roles:
        msg = f"{named.path}: a column {roles['metric']!r} but none of systems ({', '.join(ROLES['system'])})"
        raise RecipeError(msg)
    systems = named.columns or tuple(name for name in rows[0].values if name not in roles.values())
    cells = _Cells()
    for number, row in enumerate(rows):
        instance = row.label(roles["segment"]) if "segment" in roles else str(number)
        for system in systems:
            _check_score_column(row, system, named)
            cells.add(row, system, instance, system)
    if not systems:
        msg = f"{named.path}: there is no column of scores; it has only {', '.join(map(repr, roles.values()))}"
        raise FileFormatError(msg)
    return {named.metric or _stem(named.path): cells}


def _long_cells(rows: Sequence[Row], roles: Mapping[str, str], named: ScoreSpec) -> dict[str, _Cells]:
    if "segment" not in roles:
        msg = f"{named.path}: a column of systems but none that names segments ({', '.join(ROLES['segment'])})"
        raise RecipeError(msg)
    columns = named.columns or score_columns(rows[0], roles, named)
    found: dict[str, _Cells] = {}
    for row in rows:
        for column in columns:
            _check_score_column(row, column, named)
            metric = row.label(roles["metric"]) if "metric" in roles else metric_name(column, columns, named)
            cells = found.setdefault(metric, _Cells())
            cells.add(row, row.label(roles["system"]), row.label(roles["segment"]), column)
    return found


def score_columns(row: Row, roles: Mapping[str, str], named: ScoreSpec) -> tuple[str, ...]:
    """The column `score`, or all that hold a number in the first row."""
    if _SCORE in row.values:
        return (_SCORE,)
    others = [name for name in row.values if name not in roles.values()]
    found = tuple(name for name in others if _is_number(row.values[name]))
    if not found:
        there = list(row.values)
        msg = f"{row.file}: no column {_SCORE!r} and none of numbers; name it ({named.path}:COLUMN), one of {there}"
        raise FileFormatError(msg)
    if "metric" in roles and len(found) > 1:
        msg = (
            f"{row.file}: several columns of scores ({', '.join(found)}) beside {roles['metric']!r}; name one of them"
        )
        raise RecipeError(msg)
    return found


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def metric_name(column: str, columns: Sequence[str], named: ScoreSpec) -> str:
    """What the metric of a column is called: by its column, by the name given, or by the file."""
    if len(columns) > 1:
        return column if named.metric is None else f"{named.metric} {column}"
    return named.metric or (_stem(named.path) if column == _SCORE else column)


def _check_score_column(row: Row, column: str, named: ScoreSpec) -> None:
    if not named.columns and not _is_number(row.value(column)):
        hint = f"; name the columns of scores, if it is none of them: {named.path}:COLUMN,COLUMN"
        try:
            row.number(column)
        except FileFormatError as error:
            raise FileFormatError(str(error) + hint) from None


def _documents(rows: Sequence[Row], roles: Mapping[str, str]) -> dict[str, str] | None:
    """The document of each instance, which is the same for all systems."""
    if "document" not in roles:
        return None
    found: dict[str, str] = {}
    for number, row in enumerate(rows):
        instance = row.label(roles["segment"]) if "segment" in roles else str(number)
        document = row.label(roles["document"])
        if found.setdefault(instance, document) != document:
            msg = f"{row.at(roles['document'])}: segment {instance!r} was in document {found[instance]!r} before"
            raise FileFormatError(msg)
    return found


def _imported(
    cells: _Cells, documents: Mapping[str, str] | None, *, file: str, signature: Signature
) -> ImportedScores:
    """A full table: every system has a score for every instance."""
    instances = _in_order(list(dict.fromkeys(name for scores in cells.values.values() for name in scores)))
    for system, scores in cells.values.items():
        missing = [name for name in instances if name not in scores]
        if missing:
            more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            which = f"{signature.metric} of {system!r}"
            msg = f"{file}: {which} lacks segment {missing[0]!r}{more}, which other systems have"
            raise FileFormatError(msg)
    table = ScoreTable.from_numbers(
        signature.metric,
        {system: [scores[name] for name in instances] for system, scores in cells.values.items()},
        higher_is_better=signature.recipe["better"] == "higher",
        signature=signature,
    )
    known = None if documents is None else tuple(documents[name] for name in instances)
    return ImportedScores(table, tuple(instances), known, file)


def _in_order(instances: list[str]) -> list[str]:
    """Ids that count from 0 or 1 in the order of their numbers, others as they came."""
    if all(name.isascii() and name.isdigit() for name in instances):
        numbers = sorted(map(int, instances))
        if numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1))):
            return sorted(instances, key=int)
    return instances


def _stem(path: str) -> str:
    return Path(path.removesuffix(".gz")).stem
