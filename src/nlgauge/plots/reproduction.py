"""Figures of published tables: experiments on rankings, and sensitivity studies.

A study has bars: a panel per statistic, a group per column, a bar per metric.
"""

from __future__ import annotations

from pathlib import Path

from nlgauge.errors import InputError, RecipeError
from nlgauge.plots.canvas import draw_bars, new_panels, save_figure
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
    order = list(dict.fromkeys(label for rows in panels.values() for label in rows))
    width = max(6.0, 1.5 + 0.24 * len(names) * max(2, len(order)))
    figure, axes = new_panels(len(panels), 1, width=width, height=2.8)
    for place, (measure, rows) in zip(axes, panels.items(), strict=True):
        bars = {label: [_number(row, name) for name in names] for label, row in rows.items()}
        draw_bars(place, names, bars, order)
        place.set_title(measure, loc="left", fontsize=9)
        place.set_ylabel("agreement" if measure == "agreement" else "%", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False, fontsize=8)
    figure.suptitle(f"{result.table.id} with {result.model}: {result.table.title}", fontsize=10, x=0.01, ha="left")
    save_figure(figure, path)


def _number(row: ReproducedRow, column: str) -> float | None:
    ours = row.cells[column].ours
    return ours if isinstance(ours, float) else None
