"""Tables of systems compared by verdicts of judges, and over several runs each."""

from __future__ import annotations

from collections.abc import Sequence

from nlgauge.compare.runs import RunComparison
from nlgauge.compare.verdicts import PositionCheck, VerdictComparison
from nlgauge.report.comparison_tables import ends, p_cell
from nlgauge.report.numbers import counted
from nlgauge.report.table import Cell, Marked, Table

__all__ = ["run_pairs_table", "run_table", "verdict_table"]


def verdict_table(found: Sequence[tuple[str, VerdictComparison]], *, named: bool = False) -> Table:
    """Systems by the Bradley-Terry strength that verdicts give them; each comparison with the name of its judge."""
    columns = ["rank", "system", "BT", "BT low", "BT high", "wins", "ties", "losses"]
    rows: list[list[Cell]] = []
    for name, comparison in found:
        for row in comparison.systems:
            cells = [row.rank, row.system, row.bradley_terry, *ends(row.bt_interval), row.wins, row.ties, row.losses]
            rows.append([name, *cells] if named else cells)
    if named:
        return Table(["metric", *columns], rows)
    ((name, comparison),) = found
    judge, digest, _ = name.partition("|")
    caption = f"{judge}: {counted(comparison.verdicts, 'verdict')} on {counted(comparison.instances, 'instance')}"
    notes = [_position(comparison.position), *comparison.notes]
    notes += [f"verdicts: {name}"] * bool(digest) + [f"signature: {comparison.signature}"]
    return Table(columns, rows, caption, notes)


def _position(check: PositionCheck) -> str:
    share = "" if check.share_first is None else f" ({check.share_first:.0%} of those decided)"
    first = counted(check.first, "verdict")
    said = f"position: {first} for the output shown first{share}, {check.second} for the second"
    if check.swapped:
        said += f"; {check.agreed} of {check.swapped} pairs judged in both orders got the same verdict"
    return f"{said}; p = {check.p_value:.4g}"


def run_table(found: Sequence[RunComparison], *, named: bool = False) -> Table:
    """Systems over their runs, best mean first, with what was spent on them."""
    spent = list(dict.fromkeys(name for one in found for row in one.systems for name in row.budget))
    columns = ["system", "runs", "mean", "low", "high", "deviation", "lowest", "median", "highest", *spent]
    rows: list[list[Cell]] = []
    for one in found:
        for row in one.systems:
            cells: list[Cell] = [row.system, row.runs, row.mean, *ends(row.interval), row.deviation]
            cells += [row.lowest, row.median, row.highest, *(row.budget.get(name) for name in spent)]
            rows.append([one.metric, *cells] if named else cells)
    if named:
        return Table(["metric", *columns], rows)
    (one,) = found
    caption = f"{one.metric}, over runs{'' if one.higher_is_better else ' (distance: lower is better)'}"
    return Table(columns, rows, caption, [*one.notes, f"low, high: {100 * one.level:.10g} % t interval over runs"])


def run_pairs_table(found: Sequence[RunComparison], *, named: bool = False) -> Table:
    """Every pair of systems over their runs."""
    columns = ["first", "second", "difference", "low", "high", "P(first better)", "p", "p Holm"]
    rows: list[list[Cell]] = []
    for one in found:
        for row in one.pairs:
            marked = Marked(row.difference) if row.significant and not named else row.difference
            cells: list[Cell] = [row.first, row.second, marked, row.low, row.high]
            cells += [row.probability, p_cell(row.p_value), p_cell(row.p_adjusted)]
            rows.append([one.metric, *cells, row.better] if named else cells)
    if named:
        return Table(["metric", *columns, "better"], rows)
    (one,) = found
    notes = [
        f"with a star, or bold: permutation test of runs, p < {one.alpha:g}, corrected for all pairs by Holm",
        "P(first better): that a run of the first system beats a run of the second",
        f"signature: {one.signature}",
    ]
    return Table(columns, rows, f"{one.metric}, pairs over runs", notes)
