"""Figures of published tables: experiments on rankings, and sensitivity studies.

A study has bars: a panel per statistic, a group per column, a bar per metric.
"""

from __future__ import annotations

from pathlib import Path

from nlgauge.errors import InputError, RecipeError
from nlgauge.plots.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.plots.canvas import save_figure, series_styles
from nlgauge.plots.rankings import plot_disagreement, plot_pairings, plot_simulation
from nlgauge.published.rankings.table import RankingTable
from nlgauge.published.results import ReproducedRow, Reproduction
from nlgauge.published.study import PaperStudy, StudyRow

__all__ = ["check_plotted", "plot_reproduction", "plot_study"]

_OF_RANKINGS = {"simulation": plot_simulation, "pairing": plot_pairings, "by-metric": plot_disagreement}


def check_plotted(table: object) -> None:
    """Refuse what has no figure before the work is done."""
    if isinstance(table, RankingTable) and table.experiment in _OF_RANKINGS:
        return
    if not isinstance(table, PaperStudy) or any(row.statistic == "best" for row in table.rows):
        what = f"{getattr(table, 'id', table)}"
        known = "sensitivity studies whose cells are numbers, bt-figure2, bt-figure3 and bt-figure4"
        msg = f"{what} has no figure; these have one: {known}"
        raise RecipeError(msg)


def plot_reproduction(result: Reproduction, path: Path) -> None:
    """The figure of a table that has one."""
    check_plotted(result.table)
    if isinstance(result.table, RankingTable):
        _OF_RANKINGS[result.table.experiment](result, path)
    else:
        plot_study(result, path)


def plot_study(result: Reproduction, path: Path) -> None:
    """Bars of what was computed; values in print are not drawn."""
    check_plotted(result.table)
    declared = {row.name: row for row in result.table.rows if isinstance(row, StudyRow)}
    panels: dict[str, dict[str, ReproducedRow]] = {}
    for row in result.rows:
        known = declared[row.name]
        if any(cell.ours is not None for cell in row.cells.values()):
            label = row.name if known.statistic == "value" else known.metric
            panels.setdefault(known.measure, {})[label] = row
    if not panels:
        msg = f"nothing of {result.table.id} was computed, so there is nothing to draw; see what is missing"
        raise InputError(msg)
    names = [
        column.label
        for column in result.columns
        if any(row.cells[column.label].ours is not None for row in result.rows)
    ]
    drawn = [
        BarPanel(measure, "agreement" if measure == "agreement" else "%", _groups(rows, names))
        for measure, rows in panels.items()
    ]
    figure = draw_bar_panels(
        drawn,
        series_styles(label for rows in panels.values() for label in rows),
        title=f"{result.table.id} with {result.model}: {result.table.title}",
        caption="Bars: what was computed here, without intervals; values in print are in the table.",
        height=2.8,
    )
    save_figure(figure, path)


def _groups(rows: dict[str, ReproducedRow], names: list[str]) -> dict[str, dict[str, Bar]]:
    return {
        name: {label: Bar(ours) for label, row in rows.items() if isinstance(ours := row.cells[name].ours, float)}
        for name in names
    }
