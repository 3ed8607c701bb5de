"""Published tables on what texts are like, recomputed: statistics of data, and features beside references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nlgauge.data.judgements import JudgementTable
from nlgauge.studies.discourse import Discourse, discourse
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import (
    NEEDS_VECTORS,
    NOT_COMPUTED,
    DataSlice,
    ReproducedRow,
    Reproduction,
    Run,
    agrees,
    cells_of,
    slice_of,
)
from nlgauge.studies.published.tables import Column, Mean, TableRow

#: Statistics that no annotation enters.
_COUNTS = ("references", "systems", "documents")


def compute_features(request: Request) -> Reproduction:
    """The table with our values on the data sets that are here; rows on entities need a file of word vectors."""
    run = Run(request)
    columns = run.columns()
    values: dict[str, dict[str, float]] = {}
    measured: dict[DataSlice, tuple[JudgementTable, list[Discourse]] | None] = {}
    for column in columns:
        if not isinstance(column, Column) or column.question is None:
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
    request: Request, row: TableRow, kept: Sequence[Column | Mean], values: Mapping[str, Mapping[str, float]]
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
