"""The tables of a comparison of systems; `named` is for files, with the metric in each row and nothing left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nlgauge.compare.results import MetricComparison, PairRow, SystemComparison, SystemRow
from nlgauge.compare.settings import CompareSettings
from nlgauge.report.table import Cell, Marked, Table
from nlgauge.stats import Interval

__all__ = ["disagreement_table", "ends", "pairs_table", "ranking_table", "win_rows_table", "wins_table"]

#: Systems of a win matrix that a page is wide enough for.
_WIDEST_MATRIX = 16

#: Tests by the words that a reader knows them by.
_TESTS = {
    "bootstrap": "paired bootstrap",
    "randomisation": "approximate randomisation",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test, ties out",
    "sign-ties-in": "sign test, ties in",
    "mood": "Mood's median test",
}


def ranking_table(
    metrics: Sequence[MetricComparison],
    settings: CompareSettings,
    *,
    named: bool = False,
    budgets: Mapping[str, Mapping[str, str | float]] | None = None,
) -> Table:
    """Systems, best first, with intervals, Bradley-Terry strengths and clusters."""
    rated = any(row.elo is not None for found in metrics for row in found.systems)
    columns = ["rank", "system", "score", "low", "high", "median", "BT", "BT low", "BT high"]
    columns += ["Elo", "TrueSkill"] * rated + ["wins", "ties", "losses", "cluster"]
    spent = list(dict.fromkeys(name for budget in (budgets or {}).values() for name in budget))
    rows = []
    for found in metrics:
        for row in found.systems:
            cells = [*_ranking_cells(row, rated=rated), *((budgets or {}).get(row.system, {}).get(n) for n in spent)]
            rows.append([found.metric, *cells, found.signature] if named else cells)
    columns += spent
    if named:
        return Table(["metric", *columns, "signature"], rows)
    (found,) = metrics
    return Table(columns, rows, _caption(found), _ranking_notes(found, settings))


def _ranking_cells(row: SystemRow, *, rated: bool) -> list[Cell]:
    return [
        row.rank,
        row.system,
        row.score,
        *ends(row.interval),
        row.median,
        row.bradley_terry,
        *ends(row.bt_interval),
        *([row.elo, row.trueskill] if rated else []),
        *(row.wins, row.ties, row.losses, row.cluster),
    ]


def ends(interval: Interval | None) -> list[Cell]:
    """Of an interval, in two cells; empty where there is none."""
    return [None, None] if interval is None else [interval.low, interval.high]


def _caption(found: MetricComparison) -> str:
    counted = f"{found.n} instance{'s' * (found.n != 1)}"
    if found.documents is not None:
        counted += f" of {found.documents} document{'s' * (found.documents != 1)}"
    return f"{found.metric}: {counted}{'' if found.higher_is_better else ' (distance: lower is better)'}"


def _ranking_notes(found: MetricComparison, settings: CompareSettings) -> list[str]:
    notes = list(found.notes)
    if len(found.systems) > 1:
        notes.append(
            "cluster: systems that do not differ significantly from the best one of it "
            f"({significance_in_words(settings)})"
        )
    made = next((row.interval for row in found.systems if row.interval is not None), None)
    if made is not None:
        notes.append(f"low, high: {made}; of BT: bootstrap")
    return [*notes, *([f"signature: {found.signature}"] if found.signature else [])]


def significance_in_words(settings: CompareSettings) -> str:
    """How differences are called significant."""
    corrected = ", corrected for all pairs by Holm" if settings.correction == "holm" else ", not corrected"
    least = f", difference at least {settings.smallest_difference:g}" if settings.smallest_difference else ""
    return f"{_TESTS[settings.test]}, p < {settings.alpha:g}{corrected}{least}"


def pairs_table(
    metrics: Sequence[MetricComparison], settings: CompareSettings, *, named: bool = False, most: int | None = None
) -> Table:
    """Every pair of systems: difference, test, instances won; the first `most` pairs of a metric."""
    others = [name for name in settings.tests if name != settings.test] if named else []
    columns = ["first", "second", "difference", "low", "high", "effect", "wins", "ties", "losses", "p"]
    columns += ["p Holm"] * (settings.correction == "holm") + ["detectable", *(f"p {name}" for name in others)]
    rows: list[list[Cell]] = []
    for found in metrics:
        for row in found.pairs[:most]:
            cells = _pair_cells(row, settings, others)
            if named:
                cells = [
                    found.metric,
                    *(cell.value if isinstance(cell, Marked) else cell for cell in cells),
                    row.better,
                ]
            rows.append(cells)
    if named:
        return Table(["metric", *columns, "better"], rows)
    (found,) = metrics
    notes = [f"difference: above 0 if the first is better; with a star, or bold: {significance_in_words(settings)}"]
    notes.append("effect: Cohen's d of the paired differences; detectable: found with a chance of 80 %")
    if most is not None and len(found.pairs) > most:
        notes.append(f"{most} of {len(found.pairs)} pairs; all of them: --format tsv --table pairs, or json")
    return Table(columns, rows, f"{found.metric}, pairs", notes)


def _pair_cells(row: PairRow, settings: CompareSettings, others: Sequence[str]) -> list[Cell]:
    return [
        *(row.first, row.second, Marked(row.difference) if row.significant else row.difference),
        *(row.low, row.high, row.effect, row.wins, row.ties, row.losses, row.p_value),
        *([row.p_adjusted] if settings.correction == "holm" else []),
        row.detectable,
        *(row.p.get(name) for name in others),
    ]


def wins_table(found: MetricComparison) -> Table:
    """Share of instances on which the system of the row beats that of the column."""
    systems = [row.system for row in found.systems]
    caption = f"{found.metric}, share of instances on which the row beats the column"
    if len(systems) > _WIDEST_MATRIX:
        note = f"{len(systems)} systems; --format tsv --table wins, or json"
        return Table(["system"], [], f"{caption}: too wide for a page", [note])
    rows: list[list[Cell]] = []
    for at, name in enumerate(systems):
        shares: list[Cell] = [
            None if at == other else float(found.win_matrix[at, other]) for other in range(len(systems))
        ]
        rows.append([at + 1, name, *shares])
    return Table(["", "system", *(str(number) for number in range(1, len(systems) + 1))], rows, caption)


def win_rows_table(metrics: Sequence[MetricComparison]) -> Table:
    """The win matrix as rows."""
    rows: list[list[Cell]] = []
    for found in metrics:
        names = [row.system for row in found.systems]
        rows += [
            [found.metric, one, other, float(found.win_matrix[i, j])]
            for i, one in enumerate(names)
            for j, other in enumerate(names)
            if i != j
        ]
    return Table(["metric", "system", "other", "share"], rows)


def disagreement_table(comparison: SystemComparison, *, all_rows: bool = True) -> Table:
    """Where two rankings of the same systems disagree; without `all_rows` only those that do."""
    rows: list[list[Cell]] = [
        [row.first, row.second, row.share_of_pairs, _yes(row.different_winner), _yes(row.different_top3)]
        for row in comparison.disagreements
        if all_rows or row.share_of_pairs
    ]
    columns = ["ranking", "other ranking", "share of pairs", "another winner", "another top 3"]
    notes = ["share of pairs: of systems that the two rankings order differently; BT: Bradley-Terry"]
    return Table(columns, rows, "rankings that disagree", notes)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
