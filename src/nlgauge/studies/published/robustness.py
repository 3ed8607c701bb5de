"""What a published table on robustness is: triples that try to fool metrics, and gains of ensembles.

Scores are those that were released with the study; no text is scored.

    overlap    mean overlap of words in triples, and their number                         Table 6
    wins       share of triples whose paraphrase scores above the lookalike               Figure 3 shows distributions
    gains      correlation of two metrics' average over that of the better one, per cent  Table 13

Our values of a published table on triples or ensembles, beside those in print.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.studies.ensembles import Gain, ensemble_gains
from nlgauge.studies.meta.metric_scores import MetricScores
from nlgauge.studies.published.runs import (
    DataSlice,
    ReproducedCell,
    ReproducedRow,
    Reproduction,
    agrees,
    find_judged,
    or_missing,
)
from nlgauge.studies.published.tables import PaperTable, TableRow
from nlgauge.studies.stress.triples import TripleStudy, released_wins, triples_of_table


@dataclass(frozen=True)
class RobustnessRow(TableRow):
    """A data set of triples, a metric, or a pair of metrics."""

    key: tuple[str, ...] = ()
    """A data set, a released metric, or the released metrics of an ensemble."""
    card: str = ""
    """Data set with the released scores."""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.key)


@dataclass(frozen=True)
class RobustnessTable(PaperTable):
    """A published table on triples or ensembles."""

    rows: tuple[RobustnessRow, ...]
    experiment: Literal["overlap", "wins", "gains"] = "wins"
    cards: tuple[str, ...] = ()

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs, by name."""
        return self.cards


#: Rows whose gains are within so many points of print are as near as rounding and other rows allow.
_NEAR = 2.0

_Values = dict[str, float]


def reproduce_robustness(
    table: RobustnessTable,
    *,
    at: str | os.PathLike[str] | None = None,
    rows: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
) -> Reproduction:
    """The table with our values on the released scores that lie under `at`."""
    names = select_known(rows, [row.name for row in table.rows], f"{table.id}: row")
    wanted = select_known(data, table.data, f"{table.id}: data set")
    table = replace(table, rows=tuple(row for row in table.rows if row.name in names))
    missing: dict[str, None] = {}
    parts = {card: find_judged(DataSlice(card, (), "", ranked=False), at, missing) for card in wanted}
    tables = {card: part.table for card, part in parts.items() if part is not None}
    by_row = {"overlap": _overlaps, "wins": _wins, "gains": _gains}[table.experiment](table, tables, missing)
    notes = _matched(tables) if table.experiment == "gains" else []
    made = tuple(_row(table, row, by_row.get(row.name, {})) for row in table.rows)
    return Reproduction(table, "", table.columns, made, tuple(missing), tuple(notes))


def _row(table: RobustnessTable, row: RobustnessRow, ours: Mapping[str, float]) -> ReproducedRow:
    cells = {
        column.label: ReproducedCell(row.published.get(column.label), ours.get(column.label))
        for column in table.columns
    }
    if not ours:
        return ReproducedRow(row.name, cells, "", "not computed: see what is missing")
    reasons = [agrees(cells.values(), table.decimals), row.note]
    if table.experiment == "gains" and not reasons[0]:
        off = [cell.difference for cell in cells.values() if cell.difference is not None]
        # Print has whole points: a cell is compared after rounding.
        near = sum(abs(round(one)) <= _NEAR for one in off)
        reasons.insert(0, f"{near} of {len(off)} cells within {_NEAR:g} points, rounded")
    return ReproducedRow(row.name, cells, "released scores", "; ".join(reason for reason in reasons if reason))


def _overlaps(
    table: RobustnessTable, tables: Mapping[str, JudgementTable], missing: dict[str, None]
) -> dict[str, _Values]:
    found = {}
    for row in table.rows:
        if row.card in tables:
            with or_missing(f"value of {row.name}", missing):
                triples = triples_of_table(tables[row.card])
                with_b, with_c = triples.overlaps.mean(axis=1).tolist()
                labels = (column.label for column in table.columns)
                found[row.name] = dict(zip(labels, (with_b, with_c, len(triples)), strict=True))
    return found


def _wins(
    table: RobustnessTable, tables: Mapping[str, JudgementTable], missing: dict[str, None]
) -> dict[str, _Values]:
    studies: dict[str, TripleStudy] = {}
    for card, one in tables.items():
        with or_missing(f"values of {card}", missing):
            studies[card] = released_wins(triples_of_table(one))
    titles = {"freitag": "Freitag", "paws": "PAWS"}
    found: dict[str, _Values] = {}
    for row in table.rows:
        for card, study in studies.items():
            found.setdefault(row.name, {}).update(_of_metric(study, row.key[0], titles[card]))
    return found


def _of_metric(study: TripleStudy, metric: str, title: str) -> _Values:
    one = next(found for found in study.metrics if found.metric == metric)
    interval = study.interval(one)
    values = {"B wins": one.share, "m(A,B)": float(one.paraphrase.mean()), "m(A,C)": float(one.lookalike.mean())}
    if interval is not None:
        values |= {"low": interval.low, "high": interval.high}
    return {f"{title} {what}": value for what, value in values.items()}


def _gains(
    table: RobustnessTable, tables: Mapping[str, JudgementTable], missing: dict[str, None]
) -> dict[str, _Values]:
    judged = tables.get("wmt17-testset")
    found: dict[str, _Values] = {}
    if judged is None:
        return found
    for card in ("factors-wmt", "factors-wmt-sources"):
        if card not in tables:
            continue
        scored = tables[card]
        here, there = matched_rows(judged, scored)
        human, pairs = judged.gold()[here], [judged.langpair[row] for row in here]
        for row in table.rows:
            if row.card == card:
                with or_missing(f"value of {row.name}", missing):
                    members = [MetricScores(name, scored.released[name][there]) for name in row.key]
                    found[row.name] = _gain_values(members, human, pairs, all_pairs=card == "factors-wmt")
    return found


def _gain_values(
    members: list[MetricScores], human: NDArray[np.float64], pairs: list[str], *, all_pairs: bool
) -> _Values:
    """Per cent by language pair; against sources each pair has a file, and was standardised, of its own."""
    if all_pairs:
        gains = ensemble_gains(members, human, pairs)
    else:
        of = np.array(pairs)
        gains = [gain for pair in dict.fromkeys(pairs) for gain in _of_pair(members, human, pairs, of == pair)]
    values = {gain.langpair: 100 * gain.relative for gain in gains if gain.relative is not None}
    return values | ({"avg": float(np.mean(list(values.values())))} if all_pairs else {})


def _of_pair(
    members: list[MetricScores], human: NDArray[np.float64], pairs: list[str], rows: NDArray[np.bool_]
) -> list[Gain]:
    chosen = [MetricScores(one.name, one.values[rows]) for one in members]
    kept = [pair for pair, own in zip(pairs, rows, strict=True) if own]
    return ensemble_gains(chosen, human[rows], kept)


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


def _matched(tables: Mapping[str, JudgementTable]) -> list[str]:
    judged = tables.get("wmt17-testset")
    if judged is None:
        return []
    found = []
    for card in ("factors-wmt", "factors-wmt-sources"):
        if card in tables:
            here, _ = matched_rows(judged, tables[card])
            asked = [pair for pair in judged.langpair if card == "factors-wmt" or pair in tables[card].langpairs]
            found.append(f"{card}: {len(here):,} of {len(asked):,} rows of wmt17-testset found")
    return found
