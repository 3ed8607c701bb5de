"""The tables of a comparison of systems; `named` is for files, with the metric in each row and nothing left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nlgauge.compare.results import Diagnostics, MetricComparison, PairRow, SystemComparison, SystemRow
from nlgauge.compare.settings import CompareSettings
from nlgauge.report.numbers import counted
from nlgauge.report.table import Cell, Marked, Probability, Table
from nlgauge.report.verdicts import test_name
from nlgauge.stats import Interval

__all__ = [
    "disagreement_table",
    "ends",
    "legend",
    "p_cell",
    "pairs_table",
    "ranking_table",
    "win_rows_table",
    "wins_table",
]

#: Systems of a win matrix that a page is wide enough for.
_WIDEST_MATRIX = 16


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
    return Table(columns, rows, _caption(found), _ranking_notes(found))


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
    on = counted(found.n, "instance")
    if found.documents is not None:
        on += f" of {counted(found.documents, 'document')}"
    return f"{found.metric}: {on}{'' if found.higher_is_better else ' (distance: lower is better)'}"


def _ranking_notes(found: MetricComparison) -> list[str]:
    signed = [f"signature: {found.signature}"] if found.signature else []
    return [*found.notes, _diagnostics(found.diagnostics), *signed]


def _diagnostics(of: Diagnostics) -> str:
    """What the scores look like, in a line: what a mean hides, and how much there is to pair."""
    said = f"scores: {100 * of.outliers:.3g} % outliers, {100 * of.ties:.3g} % of comparisons tie"
    spreads = {"systems on an instance": of.instance_deviation, "instances": of.difficulty_deviation}
    known = [f"{value:.3g} between {what}" for what, value in spreads.items() if value is not None]
    return f"{said}; standard deviation {', '.join(known)}" if known else said


def legend(comparison: SystemComparison) -> list[str]:
    """What columns, stars and clusters mean; the same for all metrics, so it is said once."""
    settings, metrics = comparison.settings, comparison.metrics
    decided = significance_in_words(settings)
    made = dict.fromkeys(
        str(row.interval) for found in metrics for row in found.systems[:1] if row.interval is not None
    )
    said = [f"low, high: {'; '.join(made)}; of BT (Bradley-Terry strength): bootstrap"] if made else []
    if len(metrics[0].systems) > 1:
        said += [
            "cluster: rank clusters as in WMT; every system of a cluster is significantly better than every system "
            "of later clusters",
            f"difference: above 0 if the first is better; with a star, or bold: {decided}",
            "effect: Cohen's d of the paired differences; detectable: found with a chance of 80 %",
        ]
    if len(metrics[0].pairs) > 1 and settings.correction == "holm":
        said.append(
            "intervals are not corrected for the number of pairs, stars are: one that leaves out 0 may lack a star"
        )
    return [*said, "outliers: scores more than 1.5 interquartile ranges off the middle half"]


def significance_in_words(settings: CompareSettings) -> str:
    """How differences are called significant."""
    corrected = ", corrected for all pairs by Holm" if settings.correction == "holm" else ", not corrected"
    least = f", difference at least {settings.smallest_difference:g}" if settings.smallest_difference else ""
    return f"{test_name(settings)}, p < {settings.alpha:g}{corrected}{least}"


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
    notes = []
    if most is not None and len(found.pairs) > most:
        notes.append(f"{most} of {len(found.pairs)} pairs; all of them: --format tsv --table pairs, or json")
    return Table(columns, rows, f"{found.metric}, pairs", notes)


def _pair_cells(row: PairRow, settings: CompareSettings, others: Sequence[str]) -> list[Cell]:
    return [
        *(row.first, row.second, Marked(row.difference) if row.significant else row.difference),
        *(row.low, row.high, row.effect, row.wins, row.ties, row.losses, p_cell(row.p_value)),
        *([p_cell(row.p_adjusted)] if settings.correction == "holm" else []),
        row.detectable,
        *(p_cell(row.p.get(name)) for name in others),
    ]


def p_cell(p: float | None) -> Cell:
    """A p value in a table; empty where nothing was tested."""
    return None if p is None else Probability(p)


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
