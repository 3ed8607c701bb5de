"""Recompute published tables from released scores or text features, without scoring texts.

Regressions of metrics on linguistic factors have a group of columns per data set: a coefficient per factor, and R2.
The cross-lingual factor CLB was not released; separate rows have it for metrics of nlgauge.

Tables on robustness evaluate adversarial triples and gains of ensembles:

    overlap    mean overlap of words in triples, and their number                         Table 6
    wins       share of triples in which the paraphrase scores above the lookalike        Figure 3 shows distributions
    gains      gain of two metrics' average over the better one in correlation, per cent  Table 13

The key of a row is a data set of triples, a released metric, or a data set and the metrics of an ensemble.

Tables on features have statistics of data, and discourse features of texts and their references.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.errors import MissingExtraError, ModelError, RecipeError
from nlgauge.studies.discourse import Discourse, discourse
from nlgauge.studies.factors.columns import CLB, FactorOptions
from nlgauge.studies.factors.surrogate import Intervals, Surrogate, explain_factors, fit_surrogates
from nlgauge.studies.published.average_gains import ensemble_gains
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import (
    NEEDS_VECTORS,
    NO_MODEL,
    NOT_COMPUTED,
    DataSlice,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    Run,
    agrees,
    cells_of,
    slice_of,
)
from nlgauge.studies.published.tables import R2, Column, FactorGroup, PaperTable, TableRow
from nlgauge.studies.stress.triples import TripleStudy, released_wins, triples_of_table

#: Surrogates by group label and row name.
_Surrogates = Mapping[tuple[str, str], Surrogate]

#: The papers have no intervals, so the minimum number of draws is used.
_NO_INTERVALS = Intervals(resamples=1)
#: Significance level of coefficients in the notes.
_ALPHA = 0.05


def as_printed(value: float, *, decimals: int = 2, rounded_first: int | None = None) -> float:
    """Truncate a value like these tables; R2 is rounded to three decimals before.

    >>> as_printed(-0.0183), as_printed(0.6471), as_printed(0.5998, rounded_first=3)
    (-0.01, 0.64, 0.6)
    """
    if rounded_first is not None:
        value = round(value, rounded_first)
    # Values slightly below a step because of floating-point errors count as the step.
    return math.trunc(value * 10.0**decimals + math.copysign(1e-9, value)) / 10.0**decimals


def compute_regression(request: Request) -> Reproduction:
    """Recompute a table from released scores; only rows with metrics of nlgauge need a model."""
    table = request.table
    selected = select_known(request.data, table.data, f"{table.id}: data set")
    pairs = select_known(request.langpairs, table.langpairs, f"{table.id}: language pair")
    groups = tuple(group for group in table.groups if group.data in selected and group.langpair in pairs)
    table = replace(table, groups=groups, columns=tuple(column for group in groups for column in group.columns))
    needs_model = any(row.recipe for row in table.rows)
    if request.model is not None and not needs_model:
        msg = f"{table.id} is computed from released scores; omit the model"
        raise RecipeError(msg)
    run = Run(replace(request, table=table))
    surrogates: dict[tuple[str, str], Surrogate] = {}
    for group in groups:
        part = run.judged(DataSlice(group.data, (), group.langpair, ranked=False))
        if part is None:
            continue
        with run.or_missing(f"released scores of {group.label}"):
            surrogates |= {
                (group.label, name): surrogate
                for name, surrogate in _released_surrogates(table, group, part.table).items()
            }
        with run.or_missing(f"metrics of {group.label}"):
            surrogates |= {
                (group.label, name): surrogate
                for name, surrogate in _computed_surrogates(run, group, part.table).items()
            }
    rows = [_regression_row(table, row, surrogates) for row in table.rows]
    run.notes |= dict.fromkeys((*_count_agreeing(rows), *_describe_asterisks(table, surrogates)))
    return run.result(rows, model=request.model_name if needs_model else "")


def _released_surrogates(table: PaperTable, group: FactorGroup, judged: JudgementTable) -> dict[str, Surrogate]:
    """Fit surrogates of the released scores, by row."""
    columns = {**judged.human, **judged.released}
    metrics = {row.name: columns[row.released] for row in table.rows if row.released}
    if not metrics:
        return {}
    factors = {name: columns[column] for name, column in group.factors.items() if column}
    study = fit_surrogates(metrics, factors, data=judged.name, intervals=_NO_INTERVALS)
    return {surrogate.metric: surrogate for surrogate in study.surrogates}


def _computed_surrogates(run: Run, group: FactorGroup, judged: JudgementTable) -> dict[str, Surrogate]:
    """Fit surrogates of metrics of nlgauge, with and without CLB if it is a factor of the group, by row."""
    request = run.request
    rows = [row for row in run.table.rows if row.recipe]
    if not rows or request.model_name == NO_MODEL:
        return {}
    names = {column: name for name, column in group.factors.items() if column}
    making = None
    if group.translations:
        path = run.locate(group.data)
        file = None if path is None else (path if path.is_dir() else path.parent) / group.translations
        if file is None or not file.is_file():
            run.missing[f"machine translations {group.translations} in the folder of {group.data}"] = None
            return {}
        making = FactorOptions(translations=str(file))
    try:
        study = explain_factors(
            judged,
            list(dict.fromkeys(row.recipe for row in rows)),
            factors=[*names, *([CLB] if making else [])],
            making=making,
            intervals=_NO_INTERVALS,
            run=request.run,
            model=request.model_name,
        )
    except (ModelError, MissingExtraError) as error:
        run.missing[f"model {request.model_name!r}: {error}"] = None
        return {}
    surrogates = {}
    for row in rows:
        surrogate = study.surrogate(f"{row.recipe} (without {row.without})" if row.without else row.recipe)
        effects = [effect._replace(factor=names.get(effect.factor, effect.factor)) for effect in surrogate.effects]
        surrogates[row.name] = replace(surrogate, effects=tuple(effects))  # use the published names of factors
    return surrogates


def _regression_row(table: PaperTable, row: TableRow, surrogates: _Surrogates) -> ReproducedRow:
    ours: dict[str, float] = {}
    signatures: dict[str, str] = {}
    for group in table.groups:
        surrogate = surrogates.get((group.label, row.name))
        if surrogate is not None:
            coefficients = {group.column(effect.factor): effect.coefficient for effect in surrogate.effects}
            coefficients[group.column(R2)] = surrogate.r2
            ours |= coefficients
            signatures |= dict.fromkeys(coefficients, surrogate.signature)
    cells = cells_of(row, table.columns, ours)
    if not ours:
        return ReproducedRow(row.name, cells, "", row.note or NOT_COMPUTED)
    if row.recipe:
        return ReproducedRow(row.name, cells, row.recipe, "not published", signatures)
    deviating = [label for label, cell in cells.items() if not _agrees(label, cell)]
    reason = "as published, truncated"
    if deviating:
        reason += f", except {', '.join(deviating)}" + (f": {row.note}" if row.note else "")
    beyond = () if row.note else tuple(deviating)
    return ReproducedRow(row.name, cells, f"released: {row.released}", reason, beyond=beyond)


def _agrees(label: str, cell: ReproducedCell) -> bool:
    if not isinstance(cell.ours, float) or not isinstance(cell.published, float):
        return True
    first = 3 if label.endswith(R2) else None
    return math.isclose(as_printed(cell.ours, rounded_first=first), cell.published, abs_tol=1e-9)


def _count_agreeing(rows: Sequence[ReproducedRow]) -> list[str]:
    """Count the coefficients that agree with the paper, and separately R2."""
    agreement_of_kind = {
        kind: [
            _agrees(label, cell)
            for row in rows
            for label, cell in row.cells.items()
            if label.endswith(R2) == (kind == R2) and None not in (cell.ours, cell.published)
        ]
        for kind in ("coefficients", R2)
    }
    counts = [
        f"{sum(agreeing)} of {len(agreeing)} {kind}" for kind, agreeing in agreement_of_kind.items() if agreeing
    ]
    return [f"{' and '.join(counts)} as published, truncated"] if counts else []


def _describe_asterisks(table: PaperTable, surrogates: _Surrogates) -> list[str]:
    """Check the paper's asterisk for "not significant" against our p values (D10)."""
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
        f"an asterisk in the paper means p >= {_ALPHA}, but {low} of {len(p[True])} coefficients with an asterisk "
        f"have p < {_ALPHA}; smallest p with asterisk {min(p[True]):.5f}, largest without {max(p[False]):.5f} (D10)"
    ]


#: Released scores of WMT17 with references, and with sources.
_SCORED = ("factors-wmt", "factors-wmt-sources")

#: Tolerance in points for gains, given rounding and the different choice of rows.
_NEAR = 2.0

_Values = dict[str, float]
_Tables = Mapping[str, JudgementTable]


def compute_robustness(request: Request) -> Reproduction:
    """Recompute a table from the available released scores."""
    run = Run(request)
    selected = select_known(request.data, run.table.data, f"{run.table.id}: data set")
    parts = {card: run.judged(DataSlice(card, (), "", ranked=False)) for card in selected}
    tables = {card: part.table for card, part in parts.items() if part is not None}
    values = _EXPERIMENTS[run.table.experiment](run, tables)
    return run.result([_robustness_row(run, row, values.get(row.name, {})) for row in run.table.rows])


def _robustness_row(run: Run, row: TableRow, ours: Mapping[str, float]) -> ReproducedRow:
    if not ours:
        return run.row(row, ours, NOT_COMPUTED)
    cells = cells_of(row, run.table.columns, ours)
    reasons = [agrees(cells.values(), run.table.decimals), row.note]
    beyond: list[str] = []
    if run.table.experiment == "gains" and not reasons[0]:
        differences = {label: cell.difference for label, cell in cells.items() if cell.difference is not None}
        # The paper has whole points: compare after rounding.
        far = [label for label, difference in differences.items() if abs(round(difference)) > _NEAR]
        near = len(differences) - len(far)
        reasons.insert(
            0, f"{near} of {len(differences)} cells within {_NEAR:g} points, rounded; on matched rows only"
        )
        beyond = [] if row.note else far
    return run.row(row, ours, "; ".join(filter(None, reasons)), "released scores", beyond=beyond)


def _overlaps(run: Run, tables: _Tables) -> dict[str, _Values]:
    values = {}
    for row in run.table.rows:
        (card,) = row.key
        if card in tables:
            with run.or_missing(f"value of {row.name}"):
                triples = triples_of_table(tables[card])
                with_b, with_c = triples.overlaps.mean(axis=1).tolist()
                labels = (column.label for column in run.table.columns)
                values[row.name] = dict(zip(labels, (with_b, with_c, len(triples)), strict=True))
    return values


def _wins(run: Run, tables: _Tables) -> dict[str, _Values]:
    studies: dict[str, TripleStudy] = {}
    for card, judged in tables.items():
        with run.or_missing(f"values of {card}"):
            studies[card] = released_wins(triples_of_table(judged))
    titles = {"freitag": "Freitag", "paws": "PAWS"}
    values: dict[str, _Values] = {}
    for row in run.table.rows:
        for card, study in studies.items():
            wins = next(wins for wins in study.metrics if wins.metric == row.key[0])
            row_values = {"B wins": wins.share, "m(A,B)": wins.mean_paraphrase, "m(A,C)": wins.mean_lookalike}
            if wins.interval is not None:
                row_values |= dict(zip(("low", "high"), wins.interval, strict=True))
            values.setdefault(row.name, {}).update(
                {f"{titles[card]} {statistic}": row_values[statistic] for statistic in row_values}
            )
    return values


def _gains(run: Run, tables: _Tables) -> dict[str, _Values]:
    judged = tables.get("wmt17-testset")
    values: dict[str, _Values] = {}
    for card in _SCORED:
        if judged is None or card not in tables:
            continue
        rows, released_rows = matched_rows(judged, tables[card])
        available = [pair for pair in judged.langpair if card == _SCORED[0] or pair in tables[card].langpairs]
        run.notes[f"{card}: {len(rows):,} of {len(available):,} rows of wmt17-testset found"] = None
        human, pairs = judged.gold()[rows], [judged.langpair[row] for row in rows]
        for row in run.table.rows:
            if row.key[0] == card:
                with run.or_missing(f"value of {row.name}"):
                    released = {name: tables[card].released[name][released_rows] for name in row.key[1:]}
                    values[row.name] = _gain_values(released, human, pairs, together=card == _SCORED[0])
    return values


def _gain_values(
    released: Mapping[str, NDArray[np.float64]], human: NDArray[np.float64], pairs: list[str], *, together: bool
) -> _Values:
    """Gains in per cent by language pair; with sources each pair has its own file and was standardised separately."""
    names = np.array(pairs)
    parts = [np.full(len(pairs), True)] if together else [names == pair for pair in dict.fromkeys(pairs)]
    gains = [
        gain
        for rows in parts
        for gain in ensemble_gains(
            {name: scores[rows] for name, scores in released.items()}, human[rows], names[rows].tolist()
        )
    ]
    values = {gain.langpair: 100 * gain.relative for gain in gains if gain.relative is not None}
    return values | ({"avg": float(np.mean(list(values.values())))} if together else {})


def matched_rows(judged: JudgementTable, released: JudgementTable) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match rows of WMT17 with rows of released scores that have the same output and human score.

    Outputs are compared by letters and digits only: files differ in spaces, quotes and accents.
    """
    rows_of: dict[tuple[str, float], list[int]] = {}
    sem = released.gold()
    for row, text in enumerate(released.hypothesis):
        rows_of.setdefault((_letters(text), round(float(sem[row]), 9)), []).append(row)
    human = judged.gold()
    pairs = []
    for row, text in enumerate(judged.hypothesis):
        candidates = rows_of.get((_letters(text), round(float(human[row]), 9)), [])
        # Cross-lingual tables contain several pairs; two of them may have the same output.
        matches = [
            row_index for row_index in candidates if released.langpair[row_index] in ("en", judged.langpair[row])
        ]
        if matches:
            pairs.append((row, matches[0]))
    rows, released_rows = np.array(pairs, dtype=np.intp).T if pairs else np.empty((2, 0), dtype=np.intp)
    return rows, released_rows


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(char for char in plain if char.isalnum())


_EXPERIMENTS: Mapping[str, Callable[[Run, _Tables], dict[str, _Values]]] = {
    "overlap": _overlaps,
    "wins": _wins,
    "gains": _gains,
}


#: Statistics that do not depend on annotation.
_COUNTS = ("references", "systems", "documents")


def compute_features(request: Request) -> Reproduction:
    """Recompute a table on the available data sets; rows on entities need a file of word vectors."""
    run = Run(request)
    columns = run.columns()
    values: dict[str, dict[str, float]] = {}
    measured: dict[DataSlice, tuple[JudgementTable, list[Discourse]] | None] = {}
    for column in columns:
        if column.question is None:
            continue
        part = slice_of(column.question, column.langpair)
        if part not in measured:
            judged = run.judged(part)
            measured[part] = judged and (judged.table, measure_features(run, judged.table))
        features = measured[part]
        if features is not None and features[1]:
            settings = str(features[1][0].settings)
            run.notes = {settings: None} if settings else {}
            values[column.label] = _values(features[1], features[0], column.part, run.table.scale)
    return run.result([_row(request, row, columns, values) for row in run.table.rows], columns)


def measure_features(run: Run, table: JudgementTable) -> list[Discourse]:
    """Compute features of all outputs; systems with the same segments share their references."""
    order = {segment: i for i, segment in enumerate(dict.fromkeys(table.segment))}
    rows: dict[str, list[int]] = {system: [] for system in table.systems}
    for row in sorted(range(len(table)), key=lambda row: order[table.segment[row]]):
        rows[table.system[row]].append(row)
    by_segments: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for system, own in rows.items():
        by_segments.setdefault(tuple(table.segment[row] for row in own), {})[system] = own
    measured: list[Discourse] = []
    with run.or_missing(f"features of {table.name}"):
        measured += [
            discourse(
                {system: [table.hypothesis[row] for row in own] for system, own in group.items()},
                [table.references[row] for row in next(iter(group.values()))],
                vectors=run.request.vectors,
            )
            for group in by_segments.values()
        ]
    return measured


def _values(measured: Sequence[Discourse], table: JudgementTable, part: str, scale: float) -> dict[str, float]:
    """Compute each feature or statistic: mean over all hypotheses, or share of all pairs."""
    features = measured[0].features
    if part:
        # A system whose texts all equal their references has no pairs.
        shares = {
            name: [own[name] for group in measured for own in group.separations.values() if name in own]
            for name in features
        }
        return {
            name: scale * sum(getattr(share, part) * share.pairs for share in own) / sum(share.pairs for share in own)
            for name, own in shares.items()
            if own
        }
    every = [own.features for group in measured for own in group.systems.values()]
    whole = {name: np.concatenate([own[name].documents for own in every]) for name in features}
    return {name: float(values.mean()) for name, values in whole.items()} | {
        "references": float(np.mean([len(group) for group in table.references])),
        "systems": float(len(every)),
        "documents": len(table) / len(every),
        "with-repeated": 100 * float((whole["repeated"] > 0).mean()),
    }


def _row(
    request: Request, row: TableRow, columns: Sequence[Column], values: Mapping[str, Mapping[str, float]]
) -> ReproducedRow:
    (feature,) = row.key
    cells = cells_of(
        row,
        columns,
        {label: column_values[feature] for label, column_values in values.items() if feature in column_values},
    )
    if row.word_vectors and request.vectors is None:
        return ReproducedRow(row.name, cells, "", f"published values only: {NEEDS_VECTORS}")
    if all(cell.ours is None for cell in cells.values()):
        return ReproducedRow(row.name, cells, "", NOT_COMPUTED)
    reason = "other outputs" if feature in _COUNTS else "another tagger"
    if row.word_vectors:
        reason += ", other word vectors"
    compared = [cell for cell in cells.values() if cell.difference is not None]
    return ReproducedRow(
        row.name, cells, "", agrees(compared, request.table.decimals) or (reason if compared else "not published")
    )
