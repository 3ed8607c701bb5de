"""Files of tags or scores of words: a text per line, a value per word."""

from __future__ import annotations

import math

from nlgauge.errors import FileFormatError
from nlgauge.files.lines import read_bytes, split_lines
from nlgauge.files.records import json_lines
from nlgauge.files.textfiles import parse_source

__all__ = ["read_word_scores", "read_word_tags"]


def read_word_tags(path: str) -> list[list[int]]:
    """0 or 1 for each word, blanks between them."""
    found = []
    for number, line in enumerate(split_lines(read_bytes(path), path), start=1):
        tags = line.split()
        if not tags or not set(tags) <= {"0", "1"}:
            msg = f"{path}, line {number}: expected 0 or 1 for each word, got {line[:60]!r}"
            raise FileFormatError(msg)
        found.append([int(tag) for tag in tags])
    return found


def read_word_scores(path: str, *, lower_is_error: bool = False) -> list[list[float]]:
    """A number for each word, blanks between them, or lists under a key of a JSONL file (`FILE.jsonl:KEY`).

    They are turned where a low one speaks for an error.
    """
    source = parse_source(path)
    name, rows = source.path or path, []
    if source.column is None:
        rows = [(f"{name}, line {n}", line.split()) for n, line in enumerate(split_lines(read_bytes(name), name), 1)]
    else:
        for row in json_lines(read_bytes(name), name):
            value = row.value(source.column)
            rows.append((row.at(source.column), value if isinstance(value, list) else [value]))
    sign = -1.0 if lower_is_error else 1.0
    return [[sign * _number(value, place) for value in values] for place, values in rows]


def _number(value: object, place: str) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]  # whatever is no number is refused below
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or isinstance(value, bool):
        msg = f"{place}: expected a number for each word, got {value!r}"
        raise FileFormatError(msg)
    return found
