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
    effects = [effect for surrogate in study.surrogates for effect in surrogate.effects]
    ends = [end for effect in effects for end in (effect.low, effect.high)]
    low, high = min(0.0, *ends) - 0.05, max(0.0, *ends) + 0.05
    styles = series_styles(surrogate.metric for surrogate in study.surrogates)
    for number, (axes, name) in enumerate(zip(panels, names, strict=False)):
        for row, surrogate in enumerate(study.surrogates):
            if name in surrogate.factors:
                effect, style = surrogate.effect(name), styles[surrogate.metric]
                axes.plot([effect.low, effect.high], [row, row], color=style.colour, linewidth=1.6)
                axes.plot([effect.coefficient], [row], marker=style.mark, markersize=5, color=style.colour)
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.set_xlim(low, high)
        axes.set_ylim(len(study.surrogates) - 0.5, -0.5)
        labels = [_label(surrogate) if number % columns == 0 else "" for surrogate in study.surrogates]
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
    total = study.surrogates[0].rows
    # All pairs, or evenly spread ones.
    chosen = np.linspace(0, total - 1, min(total, _MOST_POINTS)).astype(np.intp)
    for axes, surrogate in zip(panels, study.surrogates, strict=False):
        fitted, observed = surrogate.fitted[chosen], surrogate.observed[chosen]
        axes.plot(fitted, observed, "o", markersize=2.5, alpha=0.35, color=COLOURS[0], markeredgewidth=0)
        ends = [float(min(fitted.min(), observed.min())), float(max(fitted.max(), observed.max()))]
        axes.plot(ends, ends, color=COLOURS[5], linewidth=1.2)
        axes.set_title(_label(surrogate), fontsize=9).set_parse_math(False)
        axes.set_xlabel("surrogate", fontsize=8)
        axes.set_ylabel("metric", fontsize=8)
        axes.tick_params(labelsize=8)
    for axes in panels[count:]:
        axes.set_visible(False)
    some = f" of {total}" if len(chosen) < total else ""
    caption = (
        f"A point per pair ({len(chosen)}{some} are drawn), in standard deviations; the line is where metric and "
        f"surrogate agree. Factors: {', '.join(study.factors)}."
    )
    finish_figure(figure, title=f"{study.data}: metrics beside their surrogates", caption=caption)
    return figure


def _label(surrogate: Surrogate) -> str:
    return f"{shorten(surrogate.metric, 26)} ({surrogate.r2:.2f})"
