"""What a published regression of metrics on linguistic factors is.

A table has groups of columns, one for each data set: a coefficient per factor, and R2. Scores and factors were
released with the data, so that nothing is scored and no text is parsed. What was not released (the cross-lingual
factor CLB) is computed for metrics of nlgauge, in rows of their own.

Our values of a published regression, beside those in print.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import find_data_card, locate
from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.errors import MissingExtraError, ModelError, RecipeError
from nlgauge.studies.factors.columns import CLB, FactorOptions
from nlgauge.studies.factors.surrogate import FactorStudy, Intervals, Surrogate, explain_factors, fit_surrogates
from nlgauge.studies.published.runs import (
    NO_MODEL,
    DataSlice,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    find_judged,
    or_missing,
)
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

R2 = "R2"


@dataclass(frozen=True)
class FactorColumns:
    """The columns of one data set."""

    label: str
    card: str
    langpair: str
    factors: Mapping[str, str]
    """By name in print: the released column; `CLB` is none of them."""
    translations: str = ""
    """File of machine translations, beside the files of the data set."""

    def column(self, factor: str) -> str:
        """The label of a factor's column, or of R2's."""
        return f"{self.label} {factor}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """All of them, R2 last."""
        return tuple(Column(self.column(name), None, self.langpair) for name in (*self.factors, R2))


@dataclass(frozen=True)
class FactorRow(TableRow):
    """A metric of such a table; `released` is its column, `recipe` what nlgauge scores."""

    starred: frozenset[str] = field(default_factory=frozenset)
    """Columns whose values stand in print with an asterisk: not significant."""
    without: str = ""
    """A factor that is left out of the regression of this row."""


@dataclass(frozen=True)
class FactorTable(PaperTable):
    """A published table of coefficients."""

    rows: tuple[FactorRow, ...]
    groups: tuple[FactorColumns, ...] = ()

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs, by name."""
        return tuple(dict.fromkeys(group.card for group in self.groups))


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
    return math.trunc(value * 10.0**decimals + math.copysign(1e-9, value)) / 10.0**decimals


def reproduce_factors(
    table: FactorTable,
    *,
    at: str | os.PathLike[str] | None = None,
    model: str | None = None,
    rows: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
    run: RunOptions | None = None,
) -> Reproduction:
    """The table with our values on the released scores that lie under `at`; `data` names some of the data sets.

    Only rows of metrics of nlgauge need a model (Tables 5 and 11).
    """
    names = select_known(rows, [row.name for row in table.rows], f"{table.id}: row")
    wanted = select_known(data, table.data, f"{table.id}: data set")
    pairs = select_known(langpairs, table.langpairs, f"{table.id}: language pair")
    groups = tuple(group for group in table.groups if group.card in wanted and group.langpair in pairs)
    shown = tuple(row for row in table.rows if row.name in names)
    table = replace(table, groups=groups, rows=shown, columns=tuple(one for group in groups for one in group.columns))
    if model is not None and not any(row.recipe for row in shown):
        msg = f"{table.id} is computed from released scores; leave out the model"
        raise RecipeError(msg)
    model = model or table.default_model
    found: dict[tuple[str, str], Surrogate] = {}
    missing: dict[str, None] = {}
    for group in groups:
        part = find_judged(DataSlice(group.card, (), group.langpair, ranked=False), at, missing)
        if part is not None:
            judged = part.table
            with or_missing(f"released scores of {group.label}", missing):
                found |= {(group.label, name): one for name, one in _released(table, group, judged).items()}
            with or_missing(f"metrics of {group.label}", missing):
                found |= {
                    (group.label, name): one
                    for name, one in _scored(table, group, judged, at, model, run, missing).items()
                }
    made = tuple(_row(table, row, found) for row in table.rows)
    encoded = model if any(row.recipe for row in shown) else ""
    return Reproduction(
        table, encoded, table.columns, made, tuple(missing), (*_counted(made), *_asterisks(table, found))
    )


def _released(table: FactorTable, group: FactorColumns, judged: JudgementTable) -> dict[str, Surrogate]:
    """Surrogates of the released scores, by row."""
    columns = {**judged.human, **judged.released}
    metrics = {row.name: columns[row.released] for row in table.rows if row.released}
    if not metrics:
        return {}
    factors = {name: columns[column] for name, column in group.factors.items() if column}
    study = fit_surrogates(metrics, factors, data=judged.name, intervals=_NO_INTERVALS)
    return {one.metric: one for one in study.surrogates}


def _scored(
    table: FactorTable,
    group: FactorColumns,
    judged: JudgementTable,
    at: str | os.PathLike[str] | None,
    model: str,
    run: RunOptions | None,
    missing: dict[str, None],
) -> dict[str, Surrogate]:
    """Surrogates of metrics of nlgauge with the factor CLB and without it, by row."""
    rows = [row for row in table.rows if row.recipe]
    if not rows or model == NO_MODEL or at is None:
        return {}
    place = locate(find_data_card(group.card), at)
    file = None if place is None else (place if place.is_dir() else place.parent) / group.translations
    if file is None or not file.is_file():
        missing[f"machine translations {group.translations}, beside the files of {group.card}"] = None
        return {}
    names = {column: name for name, column in group.factors.items() if column}
    try:
        study = explain_factors(
            judged,
            list(dict.fromkeys(row.recipe for row in rows)),
            factors=[*names, CLB],
            making=FactorOptions(translations=str(file)),
            intervals=_NO_INTERVALS,
            run=run,
            model=model,
        )
    except (ModelError, MissingExtraError) as error:
        missing[f"model {model!r}: {error}"] = None
        return {}
    return {row.name: _renamed(study, row, names) for row in rows}


def _renamed(study: FactorStudy, row: FactorRow, names: Mapping[str, str]) -> Surrogate:
    """The surrogate of a row, its factors called as in print."""
    one = study.surrogate(f"{row.recipe} (without {row.without})" if row.without else row.recipe)
    effects = tuple(effect._replace(factor=names.get(effect.factor, effect.factor)) for effect in one.effects)
    return replace(one, effects=effects)


def _row(table: FactorTable, row: FactorRow, found: Mapping[tuple[str, str], Surrogate]) -> ReproducedRow:
    ours: dict[str, float] = {}
    signatures: dict[str, str] = {}
    for group in table.groups:
        one = found.get((group.label, row.name))
        if one is not None:
            own = {group.column(effect.factor): effect.coefficient for effect in one.effects}
            ours |= own | {group.column(R2): one.r2}
            signatures |= dict.fromkeys([*own, group.column(R2)], one.signature) if row.recipe else {}
    cells = {
        column.label: ReproducedCell(row.published.get(column.label), ours.get(column.label))
        for column in table.columns
    }
    if not ours:
        return ReproducedRow(row.name, cells, "", row.note or "not computed: see what is missing")
    if row.recipe:
        return ReproducedRow(row.name, cells, row.recipe, "not in print", signatures)
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


def _counted(rows: Sequence[ReproducedRow]) -> list[str]:
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


def _asterisks(table: FactorTable, found: Mapping[tuple[str, str], Surrogate]) -> list[str]:
    """What the print's mark for "not significant" is worth (D10)."""
    released = {row.name for row in table.rows if row.released}
    p = {
        (name, f"{label} {effect.factor}"): effect.p
        for (label, name), one in found.items()
        if name in released
        for effect in one.effects
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
