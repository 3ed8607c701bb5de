"""Published tables on robustness: triples that try to fool metrics, and gains of ensembles.

Scores are those that were released with the study; no text is scored.

    overlap    mean overlap of words in triples, and their number                         Table 6
    wins       share of triples whose paraphrase scores above the lookalike               Figure 3 shows distributions
    gains      correlation of two metrics' average over that of the better one, per cent  Table 13

The key of a row is its data set of triples, its released metric, or a data set and the metrics of an ensemble.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.studies.ensembles import ensemble_gains
from nlgauge.studies.meta.metric_values import MetricValues
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NOT_COMPUTED, DataSlice, ReproducedRow, Reproduction, Run, agrees, cells_of
from nlgauge.studies.published.tables import TableRow
from nlgauge.studies.stress.triples import TripleStudy, released_wins, triples_of_table

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
    return run.result([_row(run, row, values.get(row.name, {})) for row in run.table.rows])


def _row(run: Run, row: TableRow, ours: Mapping[str, float]) -> ReproducedRow:
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
            values.setdefault(row.name, {}).update(_of_metric(study, row.key[0], titles[card]))
    return values


def _of_metric(study: TripleStudy, metric: str, title: str) -> _Values:
    wins = next(wins for wins in study.metrics if wins.metric == metric)
    values = {"B wins": wins.share, "m(A,B)": wins.mean_paraphrase, "m(A,C)": wins.mean_lookalike}
    if wins.interval is not None:
        values |= dict(zip(("low", "high"), wins.interval, strict=True))
    return {f"{title} {what}": value for what, value in values.items()}


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
            [MetricValues(name, scores[rows]) for name, scores in released.items()], human[rows], names[rows].tolist()
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
