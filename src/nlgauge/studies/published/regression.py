"""Published regressions of metrics on linguistic factors, recomputed.

A table has groups of columns, one for each data set: a coefficient per factor, and R2. Scores and factors were
released with the data, so that nothing is scored and no text is parsed. What was not released (the cross-lingual
factor CLB) is computed for metrics of nlgauge, in rows of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.errors import MissingExtraError, ModelError, RecipeError
from nlgauge.studies.factors.columns import CLB, FactorOptions
from nlgauge.studies.factors.surrogate import FactorStudy, Intervals, Surrogate, explain_factors, fit_surrogates
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import (
    NO_MODEL,
    NOT_COMPUTED,
    DataSlice,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    Run,
    cells_of,
)
from nlgauge.studies.published.tables import R2, FactorGroup, PaperTable, TableRow

#: Surrogates by label of the group and name of the row.
_Surrogates = Mapping[tuple[str, str], Surrogate]

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


def compute_regression(request: Request) -> Reproduction:
    """The table with our values on the released scores; only rows of metrics of nlgauge need a model."""
    table = request.table
    wanted = select_known(request.data, table.data, f"{table.id}: data set")
    pairs = select_known(request.langpairs, table.langpairs, f"{table.id}: language pair")
    groups = tuple(group for group in table.groups if group.data in wanted and group.langpair in pairs)
    table = replace(table, groups=groups, columns=tuple(column for group in groups for column in group.columns))
    needs_model = any(row.recipe for row in table.rows)
    if request.model is not None and not needs_model:
        msg = f"{table.id} is computed from released scores; leave out the model"
        raise RecipeError(msg)
    run = Run(replace(request, table=table))
    surrogates: dict[tuple[str, str], Surrogate] = {}
    for group in groups:
        part = run.judged(DataSlice(group.data, (), group.langpair, ranked=False))
        if part is None:
            continue
        with run.or_missing(f"released scores of {group.label}"):
            surrogates |= {(group.label, name): own for name, own in _released(table, group, part.table).items()}
        with run.or_missing(f"metrics of {group.label}"):
            surrogates |= {(group.label, name): own for name, own in _scored(run, group, part.table).items()}
    rows = [_row(table, row, surrogates) for row in table.rows]
    run.notes |= dict.fromkeys((*_counted(rows), *_asterisks(table, surrogates)))
    return run.result(rows, model=request.model_name if needs_model else "")


def _released(table: PaperTable, group: FactorGroup, judged: JudgementTable) -> dict[str, Surrogate]:
    """Surrogates of the released scores, by row."""
    columns = {**judged.human, **judged.released}
    metrics = {row.name: columns[row.released] for row in table.rows if row.released}
    if not metrics:
        return {}
    factors = {name: columns[column] for name, column in group.factors.items() if column}
    study = fit_surrogates(metrics, factors, data=judged.name, intervals=_NO_INTERVALS)
    return {one.metric: one for one in study.surrogates}


def _scored(run: Run, group: FactorGroup, judged: JudgementTable) -> dict[str, Surrogate]:
    """Surrogates of metrics of nlgauge with the factor CLB and without it, by row."""
    request = run.request
    rows = [row for row in run.table.rows if row.recipe]
    if not rows or request.model_name == NO_MODEL:
        return {}
    place = run.locate(group.data)
    file = None if place is None else (place if place.is_dir() else place.parent) / group.translations
    if file is None or not file.is_file():
        run.missing[f"machine translations {group.translations}, beside the files of {group.data}"] = None
        return {}
    names = {column: name for name, column in group.factors.items() if column}
    try:
        study = explain_factors(
            judged,
            list(dict.fromkeys(row.recipe for row in rows)),
            factors=[*names, CLB],
            making=FactorOptions(translations=str(file)),
            intervals=_NO_INTERVALS,
            run=request.run,
            model=request.model_name,
        )
    except (ModelError, MissingExtraError) as error:
        run.missing[f"model {request.model_name!r}: {error}"] = None
        return {}
    return {row.name: _renamed(study, row, names) for row in rows}


def _renamed(study: FactorStudy, row: TableRow, names: Mapping[str, str]) -> Surrogate:
    """The surrogate of a row, its factors called as in print."""
    one = study.surrogate(f"{row.recipe} (without {row.without})" if row.without else row.recipe)
    effects = tuple(effect._replace(factor=names.get(effect.factor, effect.factor)) for effect in one.effects)
    return replace(one, effects=effects)


def _row(table: PaperTable, row: TableRow, surrogates: _Surrogates) -> ReproducedRow:
    ours: dict[str, float] = {}
    signatures: dict[str, str] = {}
    for group in table.groups:
        one = surrogates.get((group.label, row.name))
        if one is not None:
            own = {group.column(effect.factor): effect.coefficient for effect in one.effects}
            ours |= own | {group.column(R2): one.r2}
            signatures |= dict.fromkeys([*own, group.column(R2)], one.signature) if row.recipe else {}
    cells = cells_of(row, table.columns, ours)
    if not ours:
        return ReproducedRow(row.name, cells, "", row.note or NOT_COMPUTED)
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


def _asterisks(table: PaperTable, surrogates: _Surrogates) -> list[str]:
    """What the print's mark for "not significant" is worth (D10)."""
    rows = {row.name: row for row in table.rows if row.released}
    p: dict[bool, list[float]] = {True: [], False: []}
    for (label, name), surrogate in surrogates.items():
        if name in rows:
            for effect in surrogate.effects:
                p[f"{label} {effect.factor}" in rows[name].starred].append(effect.p)
    if not p[True] or not p[False]:
        return []
    low = sum(value < _ALPHA for value in p[True])
    return [
        f"an asterisk in print says p >= {_ALPHA}: {low} of {len(p[True])} such coefficients have p < {_ALPHA} here; "
        f"the smallest p with one is {min(p[True]):.5f}, the largest without one {max(p[False]):.5f} (D10)"
    ]
