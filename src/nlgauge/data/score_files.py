"""Read scores of other tools (COMET, BLEURT, a language model as judge) from files.

    wide    a row per instance, a column per system; optional columns `id` and `document`
    long    a row per system and instance: columns `system`, `id` and `score`, or a column per metric;
            with a column `metric`, one file contains scores of several metrics
    COMET   the JSON file of `comet-score --to_json`: by system a list of objects

Files are TSV, CSV or JSONL according to their extension, optionally .gz. Columns are recognised by name (`ROLES`), or
the caller names them. Missing scores, duplicates and values that are not numbers are errors that name file and line.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import Signature
from nlgauge.errors import DataWarning, FileFormatError, InputError, RecipeError, user_stacklevel
from nlgauge.io.storage import bytes_digest, short_digest
from nlgauge.io.tables import Row, as_row, check_header, cut, parse_table, read_bytes, read_json, suffix_format
from nlgauge.io.textfiles import parse_source

Role = Literal["system", "segment", "document", "metric", "langpair"]

#: Default column names of each role.
ROLES: Mapping[Role, tuple[str, ...]] = {
    "system": ("system", "sys", "system_id"),
    "segment": ("segment", "instance", "id", "segment_id", "seg_id", "instance_id"),
    "document": ("document", "doc", "document_id", "doc_id"),
    "metric": ("metric",),
    "langpair": ("langpair", "lp"),
}
_SCORE = "score"

#: Largest score; sums of squares of larger ones overflow.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class ImportedScores:
    """Scores of several systems on the same instances under one metric of another tool."""

    scores: ScoreTable
    """A score per system; the signature contains the digest of the file."""
    instances: tuple[str, ...]
    """Instance ids in file order; ids that are consecutive numbers from 0 or 1 in numeric order."""
    documents: tuple[str, ...] | None = None
    file: str = ""

    @property
    def metric(self) -> str:
        """Metric name."""
        return self.scores[0].metric

    @property
    def systems(self) -> tuple[str, ...]:
        """System names."""
        return tuple(score.system or "" for score in self.scores)

    def take(self, rows: Sequence[int]) -> ImportedScores:
        """Select instances by index."""
        return ImportedScores(
            ScoreTable(
                tuple(replace(score, segments={_SCORE: score.segments[_SCORE][rows]}) for score in self.scores)
            ),
            tuple(self.instances[row] for row in rows),
            None if self.documents is None else tuple(self.documents[row] for row in rows),
            self.file,
        )


#: Metrics of which lower scores are better, unless their author has changed the sign.
_USUALLY_LOWER = frozenset({"ter", "hter", "wer", "per", "cer", "cder", "character", "eed", "perplexity"})


class ScoreSpec(NamedTuple):
    """Argument that names scores in a file: `[METRIC=]FILE[:COLUMN,...]`."""

    path: str
    metric: str | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> ScoreSpec:
        """Parse the argument without opening the file.

        >>> ScoreSpec.parse("judge=out.jsonl:fluency")
        ScoreSpec(path='out.jsonl', metric='judge', columns=('fluency',))
        """
        metric, equals, location = text.partition("=")
        if not equals or os.path.exists(text):
            metric, location = "", text
        if not location:
            msg = f"{text!r} does not name a file of scores; write [METRIC=]FILE[:COLUMN,...]"
            raise InputError(msg)
        stem, colon, column = location.rpartition(":")
        if colon and stem.lower().removesuffix(".gz").endswith(".json") and not os.path.exists(location):
            path, columns = stem, column
        else:
            source = parse_source(location)
            path, columns = source.path or "-", source.column or ""
        return cls(path, metric or None, tuple(name for name in columns.split(",") if name))


def read_score_files(
    specs: Sequence[str | os.PathLike[str]],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> list[ImportedScores]:
    """Read several files of scores, one table per metric; options as for `read_score_file`."""
    tables = [
        table for spec in specs for table in read_score_file(spec, columns=columns, lower_is_better=lower_is_better)
    ]
    names = [table.metric for table in tables]
    for name in lower_is_better:
        if name not in names:
            msg = f"lower_is_better names {name!r}, but the files have scores of: {', '.join(names) or 'no metric'}"
            raise RecipeError(msg)
    for name in names:
        if names.count(name) > 1:
            msg = f"two files have scores of {name!r}; rename one of them with NAME=FILE"
            raise RecipeError(msg)
    return tables


def read_score_file(
    spec: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> list[ImportedScores]:
    """Read a file of scores, one table per metric.

    Args:
        spec: `[METRIC=]FILE[:COLUMN,...]`; columns are systems (wide) or metrics (long).
        columns: Names of the columns `system`, `segment`, `document`, `metric`, if not the usual ones.
        lower_is_better: Metrics for which lower scores are better.
    """
    target, data, rows, roles = open_score_file(spec, columns)
    read_cells = _read_long_cells if "system" in roles else _read_wide_cells
    documents = _read_documents(rows, roles)
    cells_by_metric = read_cells(rows, roles, target)
    for metric in cells_by_metric:
        if metric.lower() in _USUALLY_LOWER and metric not in lower_is_better:
            msg = (
                f"{target.path}: higher scores of {metric!r} count as better; if lower is better, as usual for this "
                f"metric, add --lower-is-better {metric}"
            )
            warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    return [
        _build_imported_scores(
            cells, documents, file=target.path, signature=score_signature(metric, data, lower_is_better)
        )
        for metric, cells in cells_by_metric.items()
    ]


def open_score_file(
    spec: str | os.PathLike[str], columns: Mapping[str, str] | None = None
) -> tuple[ScoreSpec, bytes, list[Row], dict[str, str]]:
    """Open a file of scores: its parsed spec, content, rows, and column of each role."""
    parsed = ScoreSpec.parse(os.fspath(spec))
    data = read_bytes(parsed.path)
    rows = list(read_score_rows(parsed.path, data=data))
    return parsed, data, rows, find_roles(rows[0], columns or {})


def score_signature(metric: str, data: bytes, lower_is_better: Collection[str]) -> Signature:
    """Build the signature of scores from a file: its digest and whether higher or lower is better."""
    better = "lower" if metric in lower_is_better else "higher"
    return Signature(metric, {"scores": short_digest(bytes_digest(data)), "better": better})


def read_score_rows(path: str, *, data: bytes | None = None) -> Iterator[Row]:
    """Read the rows of a TSV, CSV or JSONL file, or of the JSON written by COMET; at least one row."""
    if path.lower().removesuffix(".gz").endswith(".json"):
        return _read_comet_rows(path)
    form = suffix_format(path)
    if form == "text":
        msg = f"{path}: unknown extension; scores are read from .tsv, .csv, .jsonl and .json files (also .gz)"
        raise InputError(msg)
    header, rows = parse_table(read_bytes(path) if data is None else data, path, form)
    if form != "jsonl":
        _check_header(header, path)
    return rows


def _check_header(names: Sequence[str], path: str) -> None:
    """Check for duplicate names and for a missing header, which would silently lose the first row of scores."""
    if len(names) == 1 and path.lower().removesuffix(".gz").endswith(".csv") and ";" in names[0]:
        msg = f"{path}, line 1: columns are separated by ';', but CSV files use commas (RFC 4180); convert the file"
        raise FileFormatError(msg)
    if all(map(_is_number, names)):
        msg = (
            f"{path}, line 1: expected column names, got numbers ({cut(', '.join(names))}); "
            "add a header line with the names of the systems"
        )
        raise FileFormatError(msg)
    check_header(names, names, path)


def _read_comet_rows(path: str) -> Iterator[Row]:
    """Read COMET's JSON: for each system a list with an object per segment."""
    content = read_json(path)
    if "format" in content:
        msg = (
            f"{path}: this is a result of nlgauge ({content['format']}), not of another tool; "
            f"compare it without --scores: nlgauge compare {path} OTHER.json"
        )
        raise FileFormatError(msg)
    source = "as written by comet-score --to_json"
    if not content:
        msg = f"{path}: no scores; expected a list of objects per system, {source}"
        raise FileFormatError(msg)
    for system, items in content.items():
        if not isinstance(items, list) or not items:
            msg = f"{path}, {system!r}: expected a list with an object per segment, {source}"
            raise FileFormatError(msg)
        for number, item in enumerate(items):
            location = f"{system!r}, segment {number}"
            row = as_row(item, path, location)
            yield Row(path, location, {**row.values, "system": system, "segment": number})


def find_roles(row: Row, columns: Mapping[str, str]) -> dict[str, str]:
    """Find the column of each role: named by the caller, or with a usual name."""
    roles: dict[str, str] = {}
    for role, usual in ROLES.items():
        names = [name for name in usual if name in row.values]
        if role in columns:
            row.value(columns[role])
            roles[role] = columns[role]
        elif len(names) > 1:
            msg = f"{row.file}: columns {names[0]!r} and {names[1]!r} can both be the {role}; name one of them"
            raise RecipeError(msg)
        elif names:
            roles[role] = names[0]
    if unknown := [name for name in columns if name not in ROLES]:
        msg = f"unknown column role {unknown[0]!r}; the roles are: {', '.join(ROLES)}"
        raise RecipeError(msg)
    return roles


class _Cells:
    """Scores by system and instance; a duplicate is an error."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, float]] = {}
        self._places: dict[tuple[str, str], str] = {}

    def add(self, row: Row, system: str, instance: str, column: str) -> None:
        first = self._places.setdefault((system, instance), row.location(column))
        if first != row.location(column):
            second = f"second score of segment {instance!r} of {system!r}"
            msg = f"{row.location(column)}: {second} (first: {first}); keep one"
            raise FileFormatError(msg)
        value = row.number(column)
        if abs(value) > _LARGEST:
            row.refuse(column, f"a score of at most {_LARGEST:g}")
        self.values.setdefault(system, {})[instance] = value


def _read_wide_cells(rows: Sequence[Row], roles: Mapping[str, str], spec: ScoreSpec) -> dict[str, _Cells]:
    if "metric" in roles:
        usual = ", ".join(ROLES["system"])
        msg = f"{spec.path}: column {roles['metric']!r} needs a column with system names as well (one of {usual})"
        raise RecipeError(msg)
    systems = spec.columns or tuple(name for name in rows[0].values if name not in roles.values())
    cells = _Cells()
    for number, row in enumerate(rows):
        instance = row.label(roles["segment"]) if "segment" in roles else str(number)
        for system in systems:
            _check_score_column(row, system, spec)
            cells.add(row, system, instance, system)
    if not systems:
        msg = f"{spec.path}: no column of scores; the only columns are {', '.join(map(repr, roles.values()))}"
        raise FileFormatError(msg)
    return {spec.metric or _stem(spec.path): cells}


def _read_long_cells(rows: Sequence[Row], roles: Mapping[str, str], spec: ScoreSpec) -> dict[str, _Cells]:
    if "segment" not in roles:
        usual = " or ".join(ROLES["segment"])
        msg = f"{spec.path} has a column of systems but no column of segment ids; add one named {usual}"
        raise RecipeError(msg)
    columns = spec.columns or score_columns(rows[0], roles, spec)
    metrics: dict[str, _Cells] = {}
    for row in rows:
        for column in columns:
            _check_score_column(row, column, spec)
            metric = row.label(roles["metric"]) if "metric" in roles else metric_name(column, columns, spec)
            cells = metrics.setdefault(metric, _Cells())
            cells.add(row, row.label(roles["system"]), row.label(roles["segment"]), column)
    return metrics


def score_columns(row: Row, roles: Mapping[str, str], spec: ScoreSpec) -> tuple[str, ...]:
    """Column `score` if it exists, else all columns with a number in the first row."""
    if _SCORE in row.values:
        return (_SCORE,)
    candidates = [name for name in row.values if name not in roles.values()]
    columns = tuple(name for name in candidates if _is_number(row.values[name]))
    if not columns:
        msg = (
            f"{row.file}: no column {_SCORE!r} and no column of numbers; name the column of scores with "
            f"{spec.path}:COLUMN, one of {', '.join(map(repr, row.values))}"
        )
        raise FileFormatError(msg)
    if "metric" in roles and len(columns) > 1:
        msg = (
            f"{row.file}: column {roles['metric']!r} allows one column of scores, got {', '.join(columns)}; "
            f"name one of them with {spec.path}:COLUMN"
        )
        raise RecipeError(msg)
    return columns


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def metric_name(column: str, columns: Sequence[str], spec: ScoreSpec) -> str:
    """Metric name of a column: from the column, the given name, or the file."""
    if len(columns) > 1:
        return column if spec.metric is None else f"{spec.metric} {column}"
    return spec.metric or (_stem(spec.path) if column == _SCORE else column)


def _check_score_column(row: Row, column: str, spec: ScoreSpec) -> None:
    if not spec.columns and not _is_number(row.value(column)):
        hint = f"; correct it, or choose the score columns: {spec.path}:COLUMN,COLUMN"
        try:
            row.number(column)
        except FileFormatError as error:
            raise FileFormatError(str(error) + hint) from None


def _read_documents(rows: Sequence[Row], roles: Mapping[str, str]) -> dict[str, str] | None:
    """Document of each instance, the same for all systems."""
    if "document" not in roles:
        return None
    documents: dict[str, str] = {}
    for number, row in enumerate(rows):
        instance = row.label(roles["segment"]) if "segment" in roles else str(number)
        document = row.label(roles["document"])
        if documents.setdefault(instance, document) != document:
            first = documents[instance]
            msg = (
                f"{row.location(roles['document'])}: segment {instance!r} is in document {first!r} in an earlier row"
            )
            raise FileFormatError(msg)
    return documents


def _build_imported_scores(
    cells: _Cells, documents: Mapping[str, str] | None, *, file: str, signature: Signature
) -> ImportedScores:
    """Build a full table, with a score for every system and instance."""
    instances = _sort_ids(list(dict.fromkeys(name for scores in cells.values.values() for name in scores)))
    for system, scores in cells.values.items():
        absent = [name for name in instances if name not in scores]
        if absent:
            others = f" and {len(absent) - 1} others" if len(absent) > 1 else ""
            scores_name = f"{signature.metric} of {system!r}"
            msg = f"{file}: {scores_name} lacks segment {absent[0]!r}{others}, which other systems have"
            raise FileFormatError(msg)
    table = ScoreTable.from_numbers(
        signature.metric,
        {system: [scores[name] for name in instances] for system, scores in cells.values.items()},
        higher_is_better=signature.recipe["better"] == "higher",
        signature=signature,
    )
    ids = None if documents is None else tuple(documents[name] for name in instances)
    return ImportedScores(table, tuple(instances), ids, file)


def _sort_ids(instances: list[str]) -> list[str]:
    """Sort ids that are consecutive numbers from 0 or 1; leave others in file order."""
    if all(name.isascii() and name.isdigit() for name in instances):
        numbers = sorted(map(int, instances))
        if numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1))):
            return sorted(instances, key=int)
    return instances


def _stem(path: str) -> str:
    return Path(path.removesuffix(".gz")).stem
