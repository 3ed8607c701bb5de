"""Figures of metrics next to metrics: correlation matrices, scatter plots, distributions of good and bad outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import WIDEST, finish_figure, legend_entries, new_panels, panel_grid, series_styles, shorten
from nlgauge.io.numbers import format_number
from nlgauge.stats.correlation import correlate
from nlgauge.studies.meta.between import (
    HUMAN,
    CorrelationMatrix,
    MetricRelations,
    RelatedScores,
    compared_pairs,
    quality_groups,
)

#: Panels that can still be read; the tables have the rest.
_MOST_PANELS = 24
_MOST_NAME = 24
_BINS = 24
#: Name of marked points in the legend.
_MARKED = "largest differences of rank"
#: Values from which a cell is dark, so that its number is white.
_DARK = 0.6

_SYMBOLS = {"pearson": "r", "spearman": "\u03c1", "kendall": "\u03c4"}


def draw_relations(result: MetricRelations, show: str) -> Any:
    """Draw one part of the result."""
    if show not in _DRAWN:
        msg = f"no figure of {show!r}; figures: {', '.join(_DRAWN)}"
        raise RecipeError(msg)
    if show == "distribution" and not result.separations:
        msg = f"{result.data}: no good and bad outputs to draw; choose another figure, or another share of outputs"
        raise InputError(msg)
    return _DRAWN[show](result)


def _draw_matrices(result: MetricRelations) -> Any:
    matrices = result.matrices
    size = max(len(matrix.names) for matrix in matrices)
    columns = panel_grid(len(matrices), most_columns=3 if size <= 6 else 2 if size <= 12 else 1)[1]
    width = min(WIDEST / columns, 1.8 + 0.62 * size)
    matrices, note = _shown(matrices, "matrices")
    rows = -(-len(matrices) // columns)
    figure, panels = new_panels(rows, columns, width=width * columns, height=0.75 * width + 0.3)
    for axes, matrix in zip(panels, matrices, strict=False):
        _draw_matrix(axes, matrix)
    _hide(panels[len(matrices) :])
    caption = f"Cells: correlation of two scores over {result.unit}s{result.within}. The framed row has human scores "
    finish_figure(
        figure,
        title=f"{result.data}: correlations of metrics with human scores and with each other",
        caption=f"{caption}({result.criterion}). Distances are negated.{note}",
    )
    return figure


def _draw_matrix(axes: Any, matrix: CorrelationMatrix) -> None:
    from matplotlib.patches import Rectangle

    names = [shorten(name, _MOST_NAME) for name in matrix.names]
    size = len(names)
    axes.imshow(np.nan_to_num(matrix.values), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    for i, line in enumerate(matrix.values):
        for j, value in enumerate(line):
            text = format_number(float(value), 2) or "\u2013"
            colour = "white" if abs(value) > _DARK else "#222222"
            axes.text(j, i, text, ha="center", va="center", fontsize=7 if size <= 12 else 5.5, color=colour)
    axes.add_patch(Rectangle((-0.48, -0.48), size - 0.04, 0.96, fill=False, edgecolor="#222222", linewidth=1.4))
    axes.grid(visible=False)
    axes.set_xticks(range(size), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=7, parse_math=False)
    axes.set_yticks(range(size), names, fontsize=7, parse_math=False)
    axes.tick_params(length=0)
    axes.set_title(f"{matrix.langpair}, {matrix.agreement}", loc="left", fontsize=9)


def _draw_scatter(result: MetricRelations) -> Any:
    """A panel per language pair and pair of scores; human scores on the x axis."""
    pairs = [
        (part, first, second)
        for part in result.points
        for first, second in compared_pairs(tuple(part.scores), result.options["pair"])
    ]
    shown, note = _shown(pairs, "panels")
    if not shown:
        msg = f"{result.data}: nothing to draw: the scores of {' and '.join(result.options['pair'])} are missing"
        raise InputError(msg)
    rows, columns = _grid(len(shown), len(pairs) // len(result.points))
    figure, panels = new_panels(rows, columns, width=max(4.6, 3.6 * columns), height=2.9)
    styles = series_styles((result.unit, _MARKED))
    styles[_MARKED] = styles[_MARKED]._replace(mark="s")
    kind = result.options["agreement"][0]
    for axes, (part, first, second) in zip(panels, shown, strict=False):
        _draw_points(axes, result, part, (first, second), [style.colour for style in styles.values()], kind)
    _hide(panels[len(shown) :])
    finish_figure(
        figure,
        title=f"{result.data}: scores against {'each other' if result.options['pair'] else result.criterion}",
        caption=f"A point is a {result.unit}. {_SYMBOLS[kind]}: {kind} over all points. Distances are negated.{note}",
        legend=(legend_entries(styles, kind="mark"), list(styles)),
    )
    return figure


def _draw_points(
    axes: Any, result: MetricRelations, part: RelatedScores, names: tuple[str, str], colours: list[str], kind: str
) -> None:
    y, x = names if names[1] == HUMAN or names[0] != HUMAN else names[::-1]
    values = part.scores[x], part.scores[y]
    entries = [
        entry
        for entry in result.disagreements
        if entry.langpair == part.langpair and {entry.higher, entry.lower} == {x, y}
    ]
    most = max(1, values[0].size // 20)  # of few points, most would be marked
    listed = {
        (entry.system, entry.segment)
        for name in (x, y)
        for entry in [entry for entry in entries if entry.higher == name][:most]
    }
    marked = np.array([place in listed for place in zip(part.systems, part.segments, strict=True)], dtype=bool)
    few = values[0].size <= 100
    axes.scatter(
        values[0][~marked], values[1][~marked], s=14 if few else 5, color=colours[0], alpha=0.45, linewidths=0
    )
    axes.scatter(values[0][marked], values[1][marked], s=26, color=colours[1], marker="s", linewidths=0)
    if result.unit == "system":
        middle = float(values[0].min() + values[0].max()) / 2
        for name, *place in zip(part.systems, *values, strict=True):
            side, shift = ("right", -3) if place[0] > middle else ("left", 3)
            label = shorten(name, _MOST_NAME)
            axes.annotate(label, place, (shift, 2), textcoords="offset points", ha=side, fontsize=5, parse_math=False)
    value = correlate(*values, kind=kind, undefined="nan").value
    shown = format_number(value, 3) or "undefined"
    axes.set_title(f"{part.langpair}: {_SYMBOLS[kind]} = {shown}", loc="left", fontsize=9)
    human = HUMAN if result.criterion.casefold() == HUMAN else f"{HUMAN} ({result.criterion})"
    labels = [human if name == HUMAN else name for name in (x, y)]
    axes.set_xlabel(shorten(labels[0]), fontsize=8, parse_math=False)
    axes.set_ylabel(shorten(labels[1]), fontsize=8, parse_math=False)
    axes.tick_params(labelsize=7)


def _draw_distributions(result: MetricRelations) -> Any:
    """A panel per language pair and metric: scores of bad and of good outputs."""
    parts = {part.langpair: part for part in result.points}
    shown, note = _shown(result.separations, "panels")
    rows, columns = _grid(len(shown), len(result.separations) // len(result.points))
    figure, panels = new_panels(rows, columns, width=max(4.6, 3.6 * columns), height=2.4)
    share = result.options["quality"]
    styles = series_styles((f"bad: lowest {share:.0%} by {result.criterion}", f"good: highest {share:.0%}"))
    colours = [style.colour for style in styles.values()]
    for axes, row in zip(panels, shown, strict=False):
        scores = parts[row.langpair].scores
        groups = quality_groups(scores[HUMAN], share)
        assert groups is not None  # else there is no separation
        values = scores[row.metric]
        low, high = float(values.min()), float(values.max())
        edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
        for mask, mean, colour in zip(groups, (row.bad, row.good), colours, strict=True):
            weights = np.full(int(mask.sum()), 100 / mask.sum())
            axes.hist(values[mask], bins=edges, weights=weights, color=colour, alpha=0.5)
            axes.axvline(mean, color=colour, linestyle="--", linewidth=1.2)
        effect = f"effect {format_number(row.effect, 2)}" if np.isfinite(row.effect) else "no spread"
        title = f"{row.langpair} {shorten(row.metric, _MOST_NAME)}"
        axes.set_title(title, loc="left", fontsize=8, parse_math=False)
        axes.set_xlabel(f"score ({effect}, AUC {row.auc:.2f})", fontsize=7.5)
        axes.set_ylabel("% of the group", fontsize=7.5)
        axes.tick_params(labelsize=7)
    _hide(panels[len(shown) :])
    finish_figure(
        figure,
        title=f"{result.data}: scores of good and bad outputs",
        caption="Bars: share of the group per bin; dashed: means. Effect: difference of the means in standard "
        f"deviations; AUC: chance that a good output scores above a bad one.{note}",
        legend=(legend_entries(styles, kind="bar"), list(styles)),
    )
    return figure


def _shown(entries: Any, what: str) -> tuple[Any, str]:
    """The first panels, and a note on the others."""
    if len(entries) <= _MOST_PANELS:
        return entries, ""
    return entries[:_MOST_PANELS], f"\nThe first {_MOST_PANELS} of {len(entries)} {what}; the table has all."


def _grid(count: int, per_langpair: int) -> tuple[int, int]:
    """Rows and columns of panels: a row per language pair, where two or three panels belong to one."""
    return panel_grid(count, most_columns=2 if per_langpair in (2, 4) else 3)


def _hide(panels: list[Any]) -> None:
    for axes in panels:
        axes.set_visible(False)


_DRAWN: Mapping[str, Callable[[MetricRelations], Any]] = {
    "matrix": _draw_matrices,
    "scatter": _draw_scatter,
    "disagreements": _draw_scatter,
    "distribution": _draw_distributions,
}
