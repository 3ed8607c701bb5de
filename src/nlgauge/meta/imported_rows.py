"""Scores of other tools as rows beside ours: a judge or a metric is judged by how well it agrees with people.

A file names the outputs that it scores by columns `system` and `segment` (and `langpair`), or it has a row for each
row of the table, in their order. Files are those of `nlgauge.data.score_files`, without the need for a full grid.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nlgauge.data import JudgementTable
from nlgauge.data.score_files import ScoreSpec, find_roles, metric_name, read_table, score_columns, signed
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, RecipeError, user_stacklevel
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import Row
from nlgauge.meta.metric_scores import MetricScores

__all__ = ["imported_rows"]

#: Language pair (empty where the file has none), system (likewise) and segment of a row.
Key = tuple[str, str, str]


def imported_rows(
    table: JudgementTable,
    specs: Sequence[str | os.PathLike[str]],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> tuple[MetricScores, ...]:
    """The scores in files, one per metric, for the rows of a table; options are those of `read_score_file`.

    Every row of the table must have its score, and one only. Rows that the table has not are left out and counted.
    """
    found = [one for spec in specs for one in _read(table, os.fspath(spec), columns or {}, lower_is_better)]
    for name in lower_is_better:
        if name not in [one.name for one in found]:
            msg = (
                f"{name!r} is said to be better when lower, but it is none of {', '.join(one.name for one in found)}"
            )
            raise RecipeError(msg)
    return tuple(found)


def _read(
    table: JudgementTable, spec: str, columns: Mapping[str, str], lower_is_better: Collection[str]
) -> list[MetricScores]:
    named = ScoreSpec.parse(spec)
    data = read_bytes(named.path)
    rows = list(read_table(named.path, data))
    roles = find_roles(rows[0], columns)
    if "metric" in roles:
        msg = f"{named.path}: scores of several metrics below each other; give each a column of its own"
        raise RecipeError(msg)
    chosen = named.columns or score_columns(rows[0], roles, named)
    places = _places(table, rows, roles, named.path)
    found = []
    for column in chosen:
        name = metric_name(column, chosen, named)
        signature = signed(name, data, lower_is_better)
        found.append(
            MetricScores(
                name,
                np.array([rows[at].number(column) for at in places]),
                name not in lower_is_better,
                signatures=dict.fromkeys(table.langpairs, str(signature)),
            )
        )
    return found


def _places(table: JudgementTable, rows: Sequence[Row], roles: Mapping[str, str], file: str) -> NDArray[np.intp]:
    """For each row of the table the row of the file that scores it."""
    if "segment" not in roles:
        if len(rows) != len(table):
            msg = f"{file}: {len(rows)} rows without a column of segments, but {table.name} has {len(table)} rows"
            raise FileFormatError(msg)
        return np.arange(len(rows))
    known: dict[Key, int] = {}
    for at, row in enumerate(rows):
        key = (_label(row, roles, "langpair"), _label(row, roles, "system"), row.label(roles["segment"]))
        if key in known:
            msg = f"{row.at()}: {_in_words(key)} has a score already ({rows[known[key]].where}); keep one"
            raise FileFormatError(msg)
        known[key] = at
    keys = [
        (langpair if "langpair" in roles else "", system if "system" in roles else "", segment)
        for langpair, system, segment in zip(table.langpair, table.system, table.segment, strict=True)
    ]
    missing = [key for key in keys if key not in known]
    if missing:
        more = f" and {len(missing) - 1} more rows" if len(missing) > 1 else ""
        msg = f"{file} has no score for {_in_words(missing[0])}{more} of {table.name}"
        raise InputError(msg)
    extra = len(known) - len(set(keys))
    if extra:
        msg = f"{file}: {extra} of {len(known)} scores are of outputs that {table.name} has not; they are left out"
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
    return np.array([known[key] for key in keys], dtype=np.intp)


def _label(row: Row, roles: Mapping[str, str], role: str) -> str:
    return row.label(roles[role]) if role in roles else ""


def _in_words(key: Key) -> str:
    langpair, system, segment = key
    return f"segment {segment!r}" + (f" of {system!r}" if system else "") + (f" ({langpair})" if langpair else "")
