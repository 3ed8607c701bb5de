"""Published tables that no metric scores texts for: released scores, and features of texts.

Regressions of metrics on linguistic factors have groups of columns, one for each data set: a coefficient per factor,
and R2. What was not released (the cross-lingual factor CLB) is computed for metrics of nlgauge, in rows of their own.

Tables on robustness are about triples that try to fool metrics, and about gains of ensembles:

    overlap    mean overlap of words in triples, and their number                         Table 6
    wins       share of triples whose paraphrase scores above the lookalike               Figure 3 shows distributions
    gains      correlation of two metrics' average over that of the better one, per cent  Table 13

The key of a row is its data set of triples, its released metric, or a data set and the metrics of an ensemble.

Tables on features have statistics of data, and discourse features of texts next to those of their references.
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
from nlgauge.studies.ensembles import ensemble_gains
from nlgauge.studies.factors.columns import CLB, FactorOptions
from nlgauge.studies.factors.surrogate import Intervals, Surrogate, explain_factors, fit_surrogates
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
    rows = [_regression_row(table, row, surrogates) for row in table.rows]
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
    return {surrogate.metric: surrogate for surrogate in study.surrogates}


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
    surrogates = {}
    for row in rows:
        own = study.surrogate(f"{row.recipe} (without {row.without})" if row.without else row.recipe)
        effects = [effect._replace(factor=names.get(effect.factor, effect.factor)) for effect in own.effects]
        surrogates[row.name] = replace(own, effects=tuple(effects))  # factors are called as in print
    return surrogates


def _regression_row(table: PaperTable, row: TableRow, surrogates: _Surrogates) -> ReproducedRow:
    ours: dict[str, float] = {}
    signatures: dict[str, str] = {}
    for group in table.groups:
        surrogate = surrogates.get((group.label, row.name))
        if surrogate is not None:
            own = {group.column(effect.factor): effect.coefficient for effect in surrogate.effects}
            own[group.column(R2)] = surrogate.r2
            ours |= own
            signatures |= dict.fromkeys(own, surrogate.signature)
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


#: Released scores of WMT17: against references, and against sources.
_SCORED = ("factors-wmt", "factors-wmt-sources")

#: Rows whose gains are within so many points of print are as near as rounding and other rows allow.
_NEAR = 2.0

_Values = dict[str, float]
_Tables = Mapping[str, JudgementTable]


def compute_robustness(request: Request) -> Reproduction:
    """The table with our values on the released scores that are here."""
    run = Run(request)
    wanted = select_known(request.data, run.table.data, f"{run.table.id}: data set")
    parts = {card: run.judged(DataSlice(card, (), "", ranked=False)) for card in wanted}
    tables = {card: part.table for card, part in parts.items() if part is not None}
    values = _EXPERIMENTS[run.table.experiment](run, tables)
    return run.result([_robustness_row(run, row, values.get(row.name, {})) for row in run.table.rows])


def _robustness_row(run: Run, row: TableRow, ours: Mapping[str, float]) -> ReproducedRow:
    if not ours:
        return run.row(row, ours, NOT_COMPUTED)
    cells = cells_of(row, run.table.columns, ours)
    reasons = [agrees(cells.values(), run.table.decimals), row.note]
    if run.table.experiment == "gains" and not reasons[0]:
        differences = [cell.difference for cell in cells.values() if cell.difference is not None]
        # Print has whole points: a cell is compared after rounding.
        near = sum(abs(round(difference)) <= _NEAR for difference in differences)
        reasons.insert(0, f"{near} of {len(differences)} cells within {_NEAR:g} points, rounded")
    return run.row(row, ours, "; ".join(filter(None, reasons)), "released scores")


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
            own = {"B wins": wins.share, "m(A,B)": wins.mean_paraphrase, "m(A,C)": wins.mean_lookalike}
            if wins.interval is not None:
                own |= dict(zip(("low", "high"), wins.interval, strict=True))
            values.setdefault(row.name, {}).update({f"{titles[card]} {what}": own[what] for what in own})
    return values


def _gains(run: Run, tables: _Tables) -> dict[str, _Values]:
    judged = tables.get("wmt17-testset")
    values: dict[str, _Values] = {}
    for card in _SCORED:
        if judged is None or card not in tables:
            continue
        here, there = matched_rows(judged, tables[card])
        asked = [pair for pair in judged.langpair if card == _SCORED[0] or pair in tables[card].langpairs]
        run.notes[f"{card}: {len(here):,} of {len(asked):,} rows of wmt17-testset found"] = None
        human, pairs = judged.gold()[here], [judged.langpair[row] for row in here]
        for row in run.table.rows:
            if row.key[0] == card:
                with run.or_missing(f"value of {row.name}"):
                    released = {name: tables[card].released[name][there] for name in row.key[1:]}
                    values[row.name] = _gain_values(released, human, pairs, together=card == _SCORED[0])
    return values


def _gain_values(
    released: Mapping[str, NDArray[np.float64]], human: NDArray[np.float64], pairs: list[str], *, together: bool
) -> _Values:
    """Per cent by language pair; against sources each pair has a file, and was standardised, of its own."""
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


def matched_rows(judged: JudgementTable, scored: JudgementTable) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of WMT17 and the rows of released scores that are theirs: the same output and the same human score.

    Outputs are compared by their letters and digits: files differ in blanks, quotes and accents.
    """
    known: dict[tuple[str, float], list[int]] = {}
    sem = scored.gold()
    for row, text in enumerate(scored.hypothesis):
        known.setdefault((_letters(text), round(float(sem[row]), 9)), []).append(row)
    human = judged.gold()
    pairs = []
    for row, text in enumerate(judged.hypothesis):
        places = known.get((_letters(text), round(float(human[row]), 9)), [])
        # Across languages a table holds several pairs; an output may be the same in two of them.
        own = [place for place in places if scored.langpair[place] in ("en", judged.langpair[row])]
        if own:
            pairs.append((row, own[0]))
    here, there = np.array(pairs, dtype=np.intp).T if pairs else np.empty((2, 0), dtype=np.intp)
    return here, there


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(char for char in plain if char.isalnum())


_EXPERIMENTS: Mapping[str, Callable[[Run, _Tables], dict[str, _Values]]] = {
    "overlap": _overlaps,
    "wins": _wins,
    "gains": _gains,
}


#: Statistics that no annotation enters.
_COUNTS = ("references", "systems", "documents")


def compute_features(request: Request) -> Reproduction:
    """The table with our values on the data sets that are here; rows on entities need a file of word vectors."""
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
            measured[part] = judged and (judged.table, _measure(run, judged.table))
        own = measured[part]
        if own is not None and own[1]:
            settings = str(own[1][0].settings)
            run.notes = {settings: None} if settings else {}
            values[column.label] = _values(own[1], own[0], column.part, run.table.scale)
    return run.result([_row(request, row, columns, values) for row in run.table.rows], columns)


def _measure(run: Run, table: JudgementTable) -> list[Discourse]:
    """Features of all outputs; systems of the same segments are measured together, as they share references."""
    order = {segment: place for place, segment in enumerate(dict.fromkeys(table.segment))}
    rows: dict[str, list[int]] = {system: [] for system in table.systems}
    for at in sorted(range(len(table)), key=lambda at: order[table.segment[at]]):
        rows[table.system[at]].append(at)
    alike: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for system, own in rows.items():
        alike.setdefault(tuple(table.segment[at] for at in own), {})[system] = own
    measured: list[Discourse] = []
    with run.or_missing(f"features of {table.name}"):
        measured += [
            discourse(
                {system: [table.hypothesis[at] for at in own] for system, own in group.items()},
                [table.references[at] for at in next(iter(group.values()))],
                vectors=run.request.vectors,
            )
            for group in alike.values()
        ]
    return measured


def _values(measured: Sequence[Discourse], table: JudgementTable, part: str, scale: float) -> dict[str, float]:
    """By feature or statistic: means over all hypotheses, or a share of all pairs."""
    features = measured[0].features
    if part:
        # A system all of whose texts are their references has no pair to tell apart.
        shares = {
            name: [own[name] for group in measured for own in group.separations.values() if name in own]
            for name in features
        }
        return {
            name: scale * sum(getattr(one, part) * one.pairs for one in own) / sum(one.pairs for one in own)
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
    request: Request, row: TableRow, kept: Sequence[Column], values: Mapping[str, Mapping[str, float]]
) -> ReproducedRow:
    (feature,) = row.key
    cells = cells_of(row, kept, {label: own[feature] for label, own in values.items() if feature in own})
    if row.word_vectors and request.vectors is None:
        return ReproducedRow(row.name, cells, "", f"only shown: {NEEDS_VECTORS}")
    if all(cell.ours is None for cell in cells.values()):
        return ReproducedRow(row.name, cells, "", NOT_COMPUTED)
    why = "other outputs" if feature in _COUNTS else "another tagger"
    if row.word_vectors:
        why += ", other word vectors"
    both = [cell for cell in cells.values() if cell.difference is not None]
    return ReproducedRow(
        row.name, cells, "", agrees(both, request.table.decimals) or (why if both else "not in print")
    )
