"""Pairwise verdicts from files: which of two outputs a person, or a language model as judge, prefers.

A row is one verdict, with columns `instance` (or `id`, `segment`), `first`, `second` and `winner`. `first` is the
system whose output was shown first, unless a column `position` says that it was shown second (`2`, `second`). The
winner is the name of one of the two systems, `first` or `second` (also `A` or `B`, `1` or `2`), or `tie`. A name that
is also the word for the other place, such as that of a system `A` shown second, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from nlgauge.compare.verdicts import Verdict
from nlgauge.data.score_files import ROLES, ScoreSpec, read_table
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import Row

__all__ = ["is_verdict_file", "read_verdicts"]

_FIRST = ("first", "a", "1")
_SECOND = ("second", "b", "2")
_TIES = ("tie", "draw", "equal", "both", "neither", "none", "0")

#: Columns that every file of verdicts has, besides that of the instance.
_COLUMNS = ("first", "second", "winner")


def is_verdict_file(spec: str | os.PathLike[str]) -> bool:
    """Whether a file of scores holds verdicts instead: it has the columns `first`, `second` and `winner`."""
    path = ScoreSpec.parse(os.fspath(spec)).path
    if path.lower().removesuffix(".gz").endswith(".json"):
        return False
    row = next(read_table(path, read_bytes(path)))
    return all(name in row.values for name in _COLUMNS)


def read_verdicts(spec: str | os.PathLike[str], *, columns: Mapping[str, str] | None = None) -> list[Verdict]:
    """The verdicts in a TSV, CSV or JSONL file; `columns` names the column `segment` where it is not a usual one."""
    path = ScoreSpec.parse(os.fspath(spec)).path
    rows = list(read_table(path, read_bytes(path)))
    named = (columns or {}).get("segment")
    usual = [name for name in ("instance", *ROLES["segment"]) if name in rows[0].values]
    if named is None and not usual:
        msg = f"{path}: no column names the instance of a verdict ({', '.join(ROLES['segment'])}); say which one does"
        raise RecipeError(msg)
    instance = named or usual[0]
    return [_verdict(row, instance) for row in rows]


def _verdict(row: Row, instance: str) -> Verdict:
    first, second = row.label("first"), row.label("second")
    if first == second:
        msg = f"{row.at('second')}: the two systems of a verdict must differ, got {first!r} twice"
        raise FileFormatError(msg)
    winner = _winner(row, first, second)
    if "position" in row.values and _shown_second(row):
        turned: dict[str, Literal["first", "second", "tie"]] = {"first": "second", "second": "first"}
        return Verdict(row.label(instance), second, first, turned.get(winner, "tie"))
    return Verdict(row.label(instance), first, second, winner)


def _winner(row: Row, first: str, second: str) -> Literal["first", "second", "tie"]:
    value = row.label("winner")
    word = value.casefold()
    if value in (first, second):
        place, other = ("first", _SECOND) if value == first else ("second", _FIRST)
        if word in (*other, *_TIES):
            msg = (
                f"{row.at('winner')}: {value!r} is the name of the {place} system, and also means "
                f"{'a tie' if word in _TIES else 'that the other one won'}; give the systems other names in the file"
            )
            raise FileFormatError(msg)
        return "first" if value == first else "second"
    if word not in _FIRST + _SECOND + _TIES:
        row.refuse("winner", f"{first!r}, {second!r}, 'first', 'second' or 'tie'")
    if word in _TIES:
        return "tie"
    return "first" if word in _FIRST else "second"


def _shown_second(row: Row) -> bool:
    """Whether the system in the column `first` was shown second."""
    value = row.label("position").casefold()
    if value not in _FIRST + _SECOND:
        row.refuse("position", "1 or 2: the place at which the first system's output was shown")
    return value in _SECOND
