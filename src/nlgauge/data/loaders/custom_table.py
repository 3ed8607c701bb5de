"""A user's own judgements: a TSV or CSV file with a header, or JSONL, with columns that the user names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.table import UNKNOWN_SYSTEM, JudgementTable, select_known
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.files.csv_files import csv_records, csv_rows
from nlgauge.files.lines import read_bytes, split_lines
from nlgauge.files.records import Row, delimited_rows, json_lines
from nlgauge.files.textfiles import parse_source

__all__ = ["load_custom"]


def load_custom(
    path: Path,
    *,
    hypothesis: str = "hypothesis",
    references: str | Sequence[str] = "reference",
    human: str | Sequence[str] = "score",
    gold: str | None = None,
    released: str | Sequence[str] = (),
    distances: str | Sequence[str] = (),
    source: str | None = None,
    segment: str | None = None,
    system: str | None = None,
    topic: str | None = None,
    document: str | None = None,
    langpair: str | None = None,
    langpairs: str | Iterable[str] | None = None,
    name: str | None = None,
) -> JudgementTable:
    """The file's rows; every option names a column (a key in JSONL), or several.

    By default outputs are in column `hypothesis`, references in `reference` and human scores in `score`.
    Without `segment` a row's id is its number, from 1; without `langpair` the language is "und" (not determined).
    Those of `released` that are better when lower are named in `distances` too. Gold is the first of `human` unless
    `gold` names another. A score that is missing (an empty cell, null) is NaN; one that is no number stops.
    `references=()` (or an empty name) is for data without references; a JSONL key may hold a list of them.
    """
    file = str(path)
    form = parse_source(file).format
    if form == "text":
        msg = f"{file}: expected a .tsv, .csv or .jsonl file (also .gz), as its name must say"
        raise InputError(msg)
    reference_columns, criteria, metrics = (_several(value) for value in (references, human, released))
    if not criteria:
        msg = f"{file}: name at least one column of human scores (human=...)"
        raise RecipeError(msg)
    single = {"hypothesis": hypothesis, "source": source, "segment": segment, "system": system}
    single |= {"topic": topic, "document": document, "langpair": langpair}
    several = {"references": reference_columns, "human": criteria, "released": metrics}
    named = [(option, column) for option, column in single.items() if column is not None]
    named += [(option, column) for option, columns in several.items() for column in columns]
    rows = _rows(form, file, named)
    build = TableBuilder()
    for number, row in enumerate(rows, start=1):
        _check_columns(named, row.values, row.at())
        build.add(
            row,
            segment=str(number) if segment is None else row.label(segment),
            system=UNKNOWN_SYSTEM if system is None else row.label(system),
            langpair="und" if langpair is None else row.label(langpair),
            source=None if source is None else row.text(source),
            topic=None if topic is None else row.label(topic),
            document=None if document is None else row.label(document),
            hypothesis=row.text(hypothesis),
            references=tuple(text for column in reference_columns for text in row.texts(column)),
            human={column: _score(row, column) for column in criteria},
            released={column: _score(row, column) for column in metrics},
        )
    (default,) = select_known(criteria[0] if gold is None else gold, criteria, f"{file}: gold criterion")
    table = build.table(name or path.name, default_criterion=default, distances=frozenset(_several(distances)))
    return table if langpairs is None else table.where(langpair=langpairs)


def _rows(form: str, file: str, named: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """The file's rows; of a table, with all columns that are named."""
    data = read_bytes(file)
    if form == "jsonl":
        return json_lines(data, file)
    needed = [column for _, column in named]
    if form == "csv":
        _check_columns(named, csv_records(data, file)[0][1], f"{file}, line 1")
        return csv_rows(data, file, needed=needed)
    _check_columns(named, split_lines(data, file)[0].split("\t"), f"{file}, line 1")
    return delimited_rows(data, file, needed=needed)


def _check_columns(named: Iterable[tuple[str, str]], there: Collection[str], place: str) -> None:
    for option, column in named:
        if column not in there:
            msg = (
                f"{place}: there is no column {column!r}; name the one of option {option!r} "
                f"({option}=COLUMN, --set {option}=COLUMN), one of {', '.join(map(repr, there))}"
            )
            raise FileFormatError(msg)


def _several(value: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def _score(row: Row, column: str) -> float:
    return math.nan if row.value(column) in ("", None) else row.number(column)
