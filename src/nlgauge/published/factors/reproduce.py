"""Our values of a published regression, beside those in print."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nlgauge.data import JudgementTable, find_data_card, load, locate
from nlgauge.data.table import select_known
from nlgauge.explain.factors.surrogate import FactorStudy, Intervals, fit_surrogates
from nlgauge.published.factors.table import R2, FactorColumns, FactorRow, FactorTable
from nlgauge.published.results import ReproducedCell, ReproducedRow, Reproduction

__all__ = ["as_printed", "reproduce_factors"]

#: Print has no intervals, so next to none are drawn.
_NO_INTERVALS = Intervals(resamples=1)
#: At which coefficients count as significant in the notes.
_ALPHA = 0.05


def as_printed(value: float, *, decimals: int = 2, rounded_first: int | None = None) -> float:
    """The value as these tables print it: truncated; R2 rounded to three decimals before.

    >>> as_printed(-0.0183), as_printed(0.6471), as_printed(0.5998, rounded_first=3)
    (-0.01, 0.64, 0.6)
    """
    if rounded_first is not None:
        value = round(value, rounded_first)
    # What rounding left a hair below a step stands on it.
    return math.trunc(value * 10**decimals + math.copysign(1e-9, value)) / 10**decimals


def reproduce_factors(
    table: FactorTable,
    *,
    at: str | os.PathLike[str] | None = None,
    rows: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> Reproduction:
    """The table with our values on the released scores that lie under `at`; `data` names some of the data sets."""
    names = select_known(rows, [row.name for row in table.rows], f"{table.id}: row")
    wanted = select_known(data, table.data, f"{table.id}: data set")
    pairs = select_known(langpairs, table.langpairs, f"{table.id}: language pair")
    groups = tuple(group for group in table.groups if group.card in wanted and group.langpair in pairs)
    shown = tuple(row for row in table.rows if row.name in names)
    table = replace(table, groups=groups, rows=shown, columns=tuple(one for group in groups for one in group.columns))
    missing: dict[str, None] = {}
    studies: dict[str, FactorStudy] = {}
    for group in groups:
        judged = _find(group, at, missing)
        if judged is not None:
            studies[group.label] = _released(table, group, judged)
    made = tuple(_row(table, row, studies) for row in table.rows)
    notes = _asterisks(table, studies) if any(row.released for row in table.rows) else []
    return Reproduction(table, "", table.columns, made, tuple(missing), (*_counted(table, made), *notes))


def _find(
    group: FactorColumns, at: str | os.PathLike[str] | None, missing: dict[str, None]
) -> JudgementTable | None:
    card = find_data_card(group.card)
    place = None if at is None else locate(card, at)
    if place is None:
        where = "no folder of data was given (--at PATH)" if at is None else f"not under {os.fspath(at)!r}"
        missing[f"data set {card.name}: {where}; published at {card.published}"] = None
        return None
    return load(group.card, place, langpairs=group.langpair)


def _released(table: FactorTable, group: FactorColumns, judged: JudgementTable) -> FactorStudy:
    """Surrogates of the released scores."""
    columns = {**judged.human, **judged.released}
    return fit_surrogates(
        {row.name: columns[row.released] for row in table.rows if row.released},
        {name: columns[column] for name, column in group.factors.items() if column},
        data=judged.name,
        intervals=_NO_INTERVALS,
    )


def _row(table: FactorTable, row: FactorRow, studies: Mapping[str, FactorStudy]) -> ReproducedRow:
    ours: dict[str, float] = {}
    for group in table.groups if row.released else ():
        if group.label in studies:
            found = studies[group.label].surrogate(row.name)
            ours |= {group.column(one.factor): one.coefficient for one in found.effects}
            ours[group.column(R2)] = found.r2
    cells = {
        column.label: ReproducedCell(row.published.get(column.label), ours.get(column.label))
        for column in table.columns
    }
    if not ours:
        return ReproducedRow(row.name, cells, "", row.note or "not computed: see what is missing")
    off = [label for label, cell in cells.items() if not _agrees(label, cell)]
    reason = "as published, truncated"
    if off:
        reason += f", but for {', '.join(off)}" + (f": {row.note}" if row.note else "")
    return ReproducedRow(row.name, cells, f"released: {row.released}", reason)


def _agrees(label: str, cell: ReproducedCell) -> bool:
    if not isinstance(cell.ours, float) or not isinstance(cell.published, float):
        return True
    first = 3 if label.endswith(R2) else None
    return math.isclose(as_printed(cell.ours, rounded_first=first), cell.published, abs_tol=1e-9)


def _counted(table: FactorTable, rows: Sequence[ReproducedRow]) -> list[str]:
    """How many coefficients are those in print, R2 counted apart."""
    both = {
        kind: [
            _agrees(label, cell)
            for row in rows
            for label, cell in row.cells.items()
            if label.endswith(R2) == (kind == R2) and None not in (cell.ours, cell.published)
        ]
        for kind in ("coefficients", R2)
    }
    counts = [f"{sum(same)} of {len(same)} {kind}" for kind, same in both.items() if same]
    return [f"{' and '.join(counts)} as printed, truncated"] if counts else []


def _asterisks(table: FactorTable, studies: Mapping[str, FactorStudy]) -> list[str]:
    """What the print's mark for "not significant" is worth (D10)."""
    p = {
        (row.name, group.column(one.factor)): one.p
        for row in table.rows
        for group in table.groups
        if row.released and group.label in studies
        for one in studies[group.label].surrogate(row.name).effects
    }
    starred = [value for (name, label), value in p.items() if label in _row_of(table, name).starred]
    plain = [value for (name, label), value in p.items() if label not in _row_of(table, name).starred]
    if not starred or not plain:
        return []
    low = sum(value < _ALPHA for value in starred)
    return [
        f"an asterisk in print says p >= {_ALPHA}: {low} of {len(starred)} such coefficients have p < {_ALPHA} here; "
        f"the smallest p with one is {min(starred):.5f}, the largest without one {max(plain):.5f} (D10)"
    ]


def _row_of(table: FactorTable, name: str) -> FactorRow:
    return next(row for row in table.rows if row.name == name)
