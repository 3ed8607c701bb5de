"""Figures of published experiments on rankings: the simulation, pairings of the same scores, and disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlgauge.plots.canvas import COLOURS, draw_bars, new_panels, save_figure
from nlgauge.published.rankings.pairing import THREE_TYPES, draw_pairings
from nlgauge.published.rankings.simulation import PANELS
from nlgauge.published.rankings.table import RankingOptions, RankingRow
from nlgauge.published.results import ReproducedRow, Reproduction

__all__ = ["plot_disagreement", "plot_pairings", "plot_simulation"]

_TITLES = {
    "a": "one type, no outliers",
    "b": "one type, no outliers",
    "c": "one type",
    "d": "no outliers",
}
_MARKS = "os^"


def plot_simulation(result: Reproduction, path: Path) -> None:
    """A panel for each of Figure 3: Kendall's tau with the strengths, with 95 % intervals."""
    figure, axes = new_panels(2, 4, width=13.0, height=2.8)
    keys = {row.name: row.key for row in result.table.rows if isinstance(row, RankingRow)}
    for place, (letter, panel) in zip(axes, PANELS.items(), strict=True):
        rows = [row for row in result.rows if keys[row.name][0] == letter and _computed(row)]
        levels = [keys[row.name][1] for row in rows]
        for number, name in enumerate(("mean", "median", "BT")):
            # Side by side, or intervals would cover each other.
            at = [step + 0.12 * (number - 1) for step in range(len(rows))]
            heights, errors = ([_ours(row, label) for row in rows] for label in (name, f"± {name}"))
            place.errorbar(
                at, heights, errors, color=COLOURS[number], marker=_MARKS[number], markersize=4, label=name
            )
        place.set_xticks(range(len(levels)), levels, fontsize=8)
        place.set_ylim(0, 1.05)
        place.set_xlabel(panel.axis, fontsize=8)
        place.set_title(f"({letter}) {_TITLES.get(letter, 'all setups')}", loc="left", fontsize=9)
    for place in (axes[0], axes[4]):
        place.set_ylabel("Kendall's tau", fontsize=8)
    _finish(figure, axes[0], f"{result.table.id}: {result.table.title}; bars are 95 % intervals", path)


def plot_pairings(result: Reproduction, path: Path) -> None:
    """The same scores in six pairings: instances by the scores of S and B."""
    pairings = draw_pairings(THREE_TYPES, RankingOptions(**result.options))
    figure, axes = new_panels(2, 3, width=10.0, height=3.2)
    for place, one in zip(axes, pairings, strict=True):
        ahead = one.scores[:, 0] > one.scores[:, 1]
        low, high = one.scores.min(), one.scores.max()
        for number, (label, chosen) in enumerate((("S is better", ahead), ("B is better", ~ahead))):
            place.scatter(*one.scores[chosen].T, s=9, color=COLOURS[number], marker=_MARKS[number], label=label)
        place.plot((low, high), (low, high), "--", color="#999999", linewidth=0.8)
        place.set_title(f"S as {' '.join(map(str, one.order))}: S wins {one.wins:.0%}", loc="left", fontsize=9)
        place.set_xlabel("score of S", fontsize=8)
        place.set_ylabel("score of B", fontsize=8)
    _finish(
        figure, axes[0], f"{result.table.id}: the same scores of S and of B in every panel, paired otherwise", path
    )


def plot_disagreement(result: Reproduction, path: Path) -> None:
    """Bars of Figure 4, as far as its frames are here."""
    rows = [row for row in result.rows if _computed(row)]
    labels = [column.label for column in result.columns]
    figure, (axes,) = new_panels(1, 1, width=max(6.0, 1.5 + 0.62 * len(rows)), height=3.6)
    bars = {label: [_ours(row, label) for row in rows] for label in labels}
    draw_bars(axes, [row.name.partition(" ")[2] for row in rows], bars, labels)
    axes.set_ylabel("share of pairs ordered differently", fontsize=8)
    _finish(figure, axes, f"{result.table.id}: {result.table.title}", path)


def _finish(figure: Any, axes: Any, title: str, path: Path) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    save_figure(figure, path)


def _computed(row: ReproducedRow) -> bool:
    return any(cell.ours is not None for cell in row.cells.values())


def _ours(row: ReproducedRow, column: str) -> float | None:
    ours = row.cells[column].ours
    return ours if isinstance(ours, float) else None
