"""Published tables on what texts are like, recomputed: statistics of data, and features beside references.

Published tables on hybrid systems: real systems mixed at random, thousands of them (`nlgauge.meta.hybrids`).

    pearson     correlation of a metric with people over hybrids
    hits_at_1   how often a metric's best of some hybrids is people's best
    mrr         mean of 1 / people's rank of the metric's best
    diff        how much worse people find it than their own best, x 100

The package of WMT18 has no scores of single outputs, so each output has the official score of its system, and
people's score of a hybrid is the mean of these; a hybrid mixes two systems (D24).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.studies.discourse import Discourse, discourse
from nlgauge.studies.meta.hybrids import hybrid_results
from nlgauge.studies.meta.metric_scores import MetricScores
from nlgauge.studies.published.runs import (
    NEEDS_VECTORS,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    agrees,
    find_judged,
    kept_columns,
    or_missing,
    slice_of,
)
from nlgauge.studies.published.tables import Column, Mean, PaperTable, TableRow

#: Statistics that no annotation enters.
_COUNTS = ("references", "systems", "documents")


@dataclass(frozen=True)
class FeatureColumn(Column):
    """A data set; its question names the rows that are looked at."""

    part: str = ""
    """Which share of pairs it has (a field of `Separation`); empty for means over hypotheses."""


@dataclass(frozen=True)
class FeatureRow(TableRow):
    """A statistic or a feature."""

    feature: str = ""
    """A feature of `nlgauge.features`, or a count."""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.feature)


@dataclass(frozen=True)
class FeatureTable(PaperTable):
    """A table whose values come from `nlgauge discourse`."""


def reproduce_features(
    table: FeatureTable,
    *,
    at: str | os.PathLike[str] | None = None,
    rows: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    vectors: str | None = None,
) -> Reproduction:
    """The table with our values on the data sets that lie under `at`; rows on entities need a file of `vectors`."""
    names = select_known(rows, [row.name for row in table.rows], f"{table.id}: row")
    kept = kept_columns(table, data=data)
    missing: dict[str, None] = {}
    found: dict[str, dict[str, float]] = {}
    settings = ""
    measured: dict[tuple[object, ...], list[Discourse]] = {}
    judged: dict[tuple[object, ...], JudgementTable] = {}
    for column in kept:
        if isinstance(column, Mean) or column.question is None:
            continue
        part = slice_of(column.question, column.langpair)
        if part not in measured:
            there = find_judged(part, at, missing)
            measured[part] = [] if there is None else _measured(there.table, missing, vectors)
            if there is not None:
                judged[part] = there.table
        if own := measured[part]:
            settings = own[0].settings
            found[column.label] = _values(own, judged[part], getattr(column, "part", ""), table.scale)
    made = tuple(_row(table, row, kept, found, vectors=vectors) for row in table.rows if row.name in names)
    notes = (settings,) if settings else ()
    return Reproduction(replace(table, rows=tuple(row for row in table.rows if row.name in names)), "", kept, made,
                        tuple(missing), notes)  # fmt: skip


def _measured(table: JudgementTable, missing: dict[str, None], vectors: str | None) -> list[Discourse]:
    """Features of all outputs; systems of the same segments are measured together, as they share references."""
    order = {segment: place for place, segment in enumerate(dict.fromkeys(table.segment))}
    rows: dict[str, list[int]] = {system: [] for system in table.systems}
    for at in sorted(range(len(table)), key=lambda at: order[table.segment[at]]):
        rows[table.system[at]].append(at)
    alike: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for system, own in rows.items():
        alike.setdefault(tuple(table.segment[at] for at in own), {})[system] = own
    measured: list[Discourse] = []
    with or_missing(f"features of {table.name}", missing):
        measured += [
            discourse(
                {system: [table.hypothesis[at] for at in own] for system, own in group.items()},
                [table.references[at] for at in next(iter(group.values()))],
                vectors=vectors,
            )
            for group in alike.values()
        ]
    return measured


def _values(found: Sequence[Discourse], table: JudgementTable, part: str, scale: float) -> dict[str, float]:
    """By feature or statistic: means over all hypotheses, or a share of all pairs."""
    features = found[0].features
    if part:
        # A system all of whose texts are their references has no pair to tell apart.
        shares = {
            name: [own[name] for one in found for own in one.separations.values() if name in own] for name in features
        }
        return {
            name: scale * sum(getattr(one, part) * one.pairs for one in own) / sum(one.pairs for one in own)
            for name, own in shares.items()
            if own
        }
    every = [own for one in found for own in one.hypotheses.values()]
    whole = {name: np.concatenate([own[name] for own in every]) for name in features}
    return {name: float(values.mean()) for name, values in whole.items()} | {
        "references": float(np.mean([len(group) for group in table.references])),
        "systems": float(len(every)),
        "documents": len(table) / len(every),
        "with-repeated": 100 * float((whole["repeated"] > 0).mean()),
    }


def _row(
    table: FeatureTable,
    row: TableRow,
    kept: Iterable[Column | Mean],
    found: Mapping[str, Mapping[str, float]],
    *,
    vectors: str | None,
) -> ReproducedRow:
    feature = getattr(row, "feature", "")
    cells = {
        column.label: ReproducedCell(row.published.get(column.label), found.get(column.label, {}).get(feature))
        for column in kept
    }
    if row.word_vectors and vectors is None:
        return ReproducedRow(row.name, cells, "", f"only shown: {NEEDS_VECTORS}")
    if all(cell.ours is None for cell in cells.values()):
        return ReproducedRow(row.name, cells, "", "not computed: see what is missing")
    why = "other outputs" if feature in _COUNTS else "another tagger"
    if row.word_vectors:
        why += ", other word vectors"
    both = [cell for cell in cells.values() if cell.difference is not None]
    return ReproducedRow(row.name, cells, "", agrees(both, table.decimals) or (why if both else "not in print"))


@dataclass(frozen=True)
class HybridTable(PaperTable):
    """A published table on hybrids of a data set's systems."""

    measure: Literal["pearson", "hits_at_1", "mrr", "diff"] = "pearson"
    hybrids: int = 10_000
    chosen_from: int = 100
    repeats: int = 100_000


def hybrid_value(
    table: HybridTable, judged: JudgementTable, scores: MetricScores, langpair: str
) -> tuple[float, str]:
    """What the table measures, of one metric on one language pair; and why there is none where it is nan."""
    official = judged.system_scores.get(langpair, {})
    at = [row for row, pair in enumerate(judged.langpair) if pair == langpair and judged.system[row] in official]
    systems = {name: line for line, name in enumerate(dict.fromkeys(judged.system[row] for row in at))}
    segments = {name: column for column, name in enumerate(dict.fromkeys(judged.segment[row] for row in at))}
    if len(systems) < 2 or len(at) != len(systems) * len(segments):
        return float("nan"), "hybrids need two systems with human scores, and each system's output for each segment"
    values, human = np.empty((2, len(systems), len(segments)))
    for row in at:
        place = systems[judged.system[row]], segments[judged.segment[row]]
        values[place] = scores.oriented[row]
        human[place] = official[judged.system[row]]
    (found,) = hybrid_results(
        [MetricScores(scores.name, values)],
        human,
        mixed="two",
        hybrids=table.hybrids,
        chosen_from=table.chosen_from,
        repeats=1 if table.measure == "pearson" else table.repeats,  # a correlation needs no choices
        undefined="nan",
    )
    return float(getattr(found, table.measure)), found.reason or ""
