"""Figures of published tables: experiments on rankings, and sensitivity studies.

A study has bars: a panel per statistic, a group per column, a bar per metric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import (
    WIDEST,
    finish_figure,
    legend_entries,
    new_panels,
    series_styles,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.tables import PaperTable

if TYPE_CHECKING:
    from nlgauge.studies.published.runs import ReproducedRow, Reproduction

_TITLES = {
    "a": "one type, no outliers",
    "b": "one type, no outliers",
    "c": "one type",
    "d": "no outliers",
}
_MARKS = "os^"


def _draw_simulation(result: Reproduction, table: PaperTable) -> Any:
    """A panel for each of Figure 3: Kendall's tau with the strengths, with 95 % intervals."""
    from nlgauge.studies.paired_evaluation.simulation import PANELS

    figure, axes = new_panels(2, 4, width=WIDEST, height=2.6)
    keys = {row.name: row.key for row in table.rows}
    styles = series_styles(("mean", "median", "BT"))
    for place, (letter, panel) in zip(axes, PANELS.items(), strict=True):
        rows = [row for row in result.rows if keys[row.name][0] == letter and row.has_ours]
        levels = [keys[row.name][1] for row in rows]
        for number, (name, style) in enumerate(styles.items()):
            # Side by side, or intervals would cover each other.
            at = [step + 0.12 * (number - 1) for step in range(len(rows))]
            heights, errors = ([_ours(row, label) for row in rows] for label in (name, f"± {name}"))
            place.errorbar(at, heights, errors, color=style.colour, marker=_MARKS[number], markersize=4)
        place.set_xticks(range(len(levels)), levels, fontsize=8)
        place.tick_params(axis="y", labelsize=8)
        place.set_ylim(0, 1.05)
        place.set_xlabel(panel.axis, fontsize=8)
        place.set_title(f"({letter}) {_TITLES.get(letter, 'all setups')}", loc="left", fontsize=9)
    for place in (axes[0], axes[4]):
        place.set_ylabel("Kendall's tau", fontsize=8)
    marked = {name: style._replace(mark=mark) for (name, style), mark in zip(styles.items(), _MARKS, strict=True)}
    finish_figure(
        figure,
        title=f"{result.id}: {result.title}",
        caption=f"Design: {result.options['design']}. Vertical lines: 95 % intervals of the mean over setups.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


def _draw_pairings(result: Reproduction, table: PaperTable) -> Any:
    """The same scores in six pairings: instances by the scores of S and B."""
    from nlgauge.studies.paired_evaluation.measures import THREE_TYPES, draw_pairings

    pairings = draw_pairings(THREE_TYPES, RankingOptions(**result.options))
    figure, axes = new_panels(2, 3, width=9.5, height=3.0)
    styles = series_styles(("S is better", "B is better"))
    marked = {name: style._replace(mark=mark) for (name, style), mark in zip(styles.items(), _MARKS, strict=False)}
    for place, one in zip(axes, pairings, strict=True):
        ahead = one.scores[:, 0] > one.scores[:, 1]
        low, high = one.scores.min(), one.scores.max()
        for style, chosen in zip(marked.values(), (ahead, ~ahead), strict=True):
            place.scatter(*one.scores[chosen].T, s=9, color=style.colour, marker=style.mark)
        place.plot((low, high), (low, high), "--", color="#999999", linewidth=0.8)
        place.set_title(f"S as {' '.join(map(str, one.order))}: S wins {one.wins:.0%}", loc="left", fontsize=9)
        place.set_xlabel("score of S", fontsize=8)
        place.set_ylabel("score of B", fontsize=8)
        place.tick_params(labelsize=8)
    finish_figure(
        figure,
        title=f"{result.id}: the same scores of S and of B in every panel, paired in other ways",
        caption="A point is an instance. S as 2 3 1: its second type of instances meets B's first, and so on. "
        "Dashed: equal scores.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


def _draw_disagreement(result: Reproduction, table: PaperTable) -> Any:
    """Bars of Figure 4, as far as its frames are here: a panel of metrics and one of tasks."""
    panels: dict[str, dict[str, dict[str, Bar]]] = {}
    for row in (row for row in result.rows if row.has_ours):
        kind, _, name = row.name.partition(" ")
        bars = {label: Bar(ours) for label in result.columns if (ours := _ours(row, label)) is not None}
        panels.setdefault(f"per {kind}", {})[name] = bars
    return draw_bar_panels(
        [BarPanel(title, "share of pairs", groups) for title, groups in panels.items()],
        series_styles(result.columns),
        title=f"{result.id}: {result.title}",
        caption="Bars: what was computed here, without intervals; values in print are in the table.",
    )


def _ours(row: ReproducedRow, column: str) -> float | None:
    ours = row.cells[column].ours
    return ours if isinstance(ours, float) else None


_OF_RANKINGS = {"simulation": _draw_simulation, "pairing": _draw_pairings, "by-metric": _draw_disagreement}


def check_plotted(table: PaperTable) -> None:
    """Refuse what has no figure before the work is done."""
    if table.kind == "sensitivity":
        plotted = all(row.statistic != "best" for row in table.rows)
    else:
        plotted = table.kind == "rankings" and table.experiment in _OF_RANKINGS
    if not plotted:
        known = "sensitivity studies whose cells are numbers, bt-figure2, bt-figure3 and bt-figure4"
        msg = f"{table.id} has no figure; these have one: {known}"
        raise RecipeError(msg)


def draw_reproduction(result: Reproduction) -> Any:
    """The figure of a table that has one."""
    if result.table is None:
        msg = f"{result.id} was read from JSON, which has no figure; reproduce it again to draw one"
        raise InputError(msg)
    check_plotted(result.table)
    return _OF_RANKINGS.get(result.table.experiment, _draw_study)(result, result.table)


def _draw_study(result: Reproduction, table: PaperTable) -> Any:
    """Bars of what was computed; values in print are not drawn."""
    declared = {row.name: row for row in table.rows}
    columns = [column for column in result.columns if any(_ours(row, column) is not None for row in result.rows)]
    panels: dict[str, dict[str, dict[str, Bar]]] = {}
    labels = []
    for row in result.rows:
        if not row.has_ours:
            continue
        known = declared[row.name]
        label = row.name if known.statistic == "value" else known.metric or row.name
        labels.append(label)
        groups = panels.setdefault(known.measure, {column: {} for column in columns})
        for column in columns:
            if (ours := _ours(row, column)) is not None:
                groups[column][label] = Bar(ours)
    if not panels:
        msg = f"nothing of {result.id} was computed, so there is nothing to draw; see what is missing"
        raise InputError(msg)
    return draw_bar_panels(
        [BarPanel(name, "agreement" if name == "agreement" else "%", groups) for name, groups in panels.items()],
        series_styles(labels),
        title=f"{result.id} with {result.model}: {result.title}",
        caption="Bars: what was computed here, without intervals; values in print are in the table.",
        height=2.8,
    )
