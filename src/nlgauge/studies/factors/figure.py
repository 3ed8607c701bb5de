"""Figures of surrogates: coefficients of factors, and each metric next to its surrogate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.errors import InputError
from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, panel_grid, series_styles, shorten

if TYPE_CHECKING:
    from nlgauge.studies.factors.surrogate import FactorStudy, Surrogate

#: Inches for a metric in a panel, and for what stands around them.
_ROW, _FRAME = 0.3, 0.9
#: Points of a panel; more make a blot.
_MOST_POINTS = 2000


def draw_factors(study: FactorStudy) -> Any:
    """Coefficients with their intervals: a panel per factor, a line per metric, so that metrics are compared."""
    names = list(study.factors)
    rows, columns = panel_grid(len(names), most_columns=4)
    height = _FRAME + _ROW * len(study.surrogates)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 2.6 * columns + 1.6), height=height)
    ends = [end for one in study.surrogates for effect in one.effects for end in (effect.low, effect.high)]
    low, high = min(0.0, *ends) - 0.05, max(0.0, *ends) + 0.05
    styles = series_styles(one.metric for one in study.surrogates)
    for number, (axes, name) in enumerate(zip(panels, names, strict=False)):
        for at, one in enumerate(study.surrogates):
            if name not in one.factors:
                continue
            effect, style = one.effect(name), styles[one.metric]
            axes.plot([effect.low, effect.high], [at, at], color=style.colour, linewidth=1.6)
            axes.plot([effect.coefficient], [at], marker=style.mark, markersize=5, color=style.colour)
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.set_xlim(low, high)
        axes.set_ylim(len(study.surrogates) - 0.5, -0.5)
        labels = [_label(one) if number % columns == 0 else "" for one in study.surrogates]
        axes.set_yticks(range(len(labels)), labels, fontsize=8)
        for text in axes.get_yticklabels():
            text.set_parse_math(False)  # a "$" in a name is a "$"
        axes.set_title(shorten(name), fontsize=9)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    caption = (
        f"Coefficients of standardised columns; lines: {100 * study.intervals.level:.10g} % intervals. In brackets: "
        f"R2, what the factors explain of the metric together. {study.surrogates[0].rows} pairs."
    )
    finish_figure(figure, title=f"{study.data}: what metrics look at", caption=caption)
    return figure


def draw_surrogates(study: FactorStudy) -> Any:
    """Each metric beside what its surrogate says instead, a point per pair."""
    if not all(surrogate.fitted.size for surrogate in study.surrogates):
        msg = "the study was read from JSON, which has no scores of pairs; compute it again to draw them"
        raise InputError(msg)
    count = len(study.surrogates)
    rows, columns = panel_grid(count, most_columns=3)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.2 * columns), height=3.0)
    chosen = _shown(study.surrogates[0].rows)
    for axes, one in zip(panels, study.surrogates, strict=False):
        _scatter(axes, one, chosen)
    for axes in panels[count:]:
        axes.set_visible(False)
    some = f" of {study.surrogates[0].rows}" if len(chosen) < study.surrogates[0].rows else ""
    caption = (
        f"A point per pair ({len(chosen)}{some} are drawn), in standard deviations; the line is where metric and "
        f"surrogate agree. Factors: {', '.join(study.factors)}."
    )
    finish_figure(figure, title=f"{study.data}: metrics beside their surrogates", caption=caption)
    return figure


def _scatter(axes: Any, one: Surrogate, chosen: Any) -> None:
    axes.plot(
        one.fitted[chosen],
        one.observed[chosen],
        linestyle="none",
        marker="o",
        markersize=2.5,
        alpha=0.35,
        color=COLOURS[0],
        markeredgewidth=0,
    )
    both = np.concatenate([one.fitted[chosen], one.observed[chosen]])
    ends = [float(both.min()), float(both.max())]
    axes.plot(ends, ends, color=COLOURS[5], linewidth=1.2)
    axes.set_title(_label(one), fontsize=9).set_parse_math(False)
    axes.set_xlabel("surrogate", fontsize=8)
    axes.set_ylabel("metric", fontsize=8)
    axes.tick_params(labelsize=8)


def _shown(rows: int) -> Any:
    """Rows that are drawn: all, or evenly spread ones."""
    return np.linspace(0, rows - 1, min(rows, _MOST_POINTS)).astype(np.intp)


def _label(one: Surrogate) -> str:
    return f"{shorten(one.metric, 26)} ({one.r2:.2f})"
