"""The figure of ranked systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, shorten

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import MetricComparison, SystemComparison

#: Inches for a system, and for what stands above and below the systems of a panel.
_ROW, _FRAME = 0.24, 1.0


def draw_comparison(comparison: SystemComparison) -> Any:
    """Draw the rankings; the best system is at the top."""
    metrics = comparison.metrics
    most = max(len(found.systems) for found in metrics)
    figure, panels = new_panels(len(metrics), 2, width=min(WIDEST, 9.0), height=_FRAME + _ROW * most)
    for row, found in enumerate(metrics):
        score, strength = panels[2 * row], panels[2 * row + 1]
        _draw(score, found, [(one.score, one.interval) for one in found.systems])
        _draw(strength, found, [(one.bradley_terry, one.bt_interval) for one in found.systems])
        better = "" if found.higher_is_better else " (lower is better)"
        score.set_xlabel(f"{found.metric}{better}", fontsize=8)
        strength.set_xlabel(f"{found.metric}: Bradley-Terry strength", fontsize=8)
        strength.set_yticklabels([])
    settings = comparison.settings
    counted = ", ".join(
        dict.fromkeys(
            f"{found.n} instances" + ("" if found.documents is None else f" of {found.documents} documents")
            for found in metrics
        )
    )
    clusters = ""
    if any(found.systems[-1].cluster > 1 for found in metrics):
        clusters = "Dashed: every system above is significantly better than every system below (rank clusters). "
    caption = (
        f"Lines: {100 * settings.level:.10g} % intervals, none for fewer than four instances. Filled: not "
        f"significantly worse than the best (test {settings.test}, alpha {settings.alpha:g}, "
        f"{'Holm' if settings.correction == 'holm' else 'not corrected'}). {clusters}{counted}."
    )
    finish_figure(figure, title="Systems ranked", caption=caption)
    return figure


def _draw(axes: Any, found: MetricComparison, values: Sequence[tuple[float, Interval | None]]) -> None:
    places = list(range(len(values)))
    for at, (value, interval) in zip(places, values, strict=True):
        if interval is not None:
            axes.plot([interval.low, interval.high], [at, at], color=COLOURS[0], linewidth=1.4)
        face = "white" if found.systems[at].worse_than_best else COLOURS[0]
        axes.plot([value], [at], marker="o", markersize=5, color=COLOURS[0], markerfacecolor=face, linestyle="none")
    for at in places[1:]:
        if found.systems[at].cluster != found.systems[at - 1].cluster:
            axes.axhline(at - 0.5, color="#888888", linewidth=0.8, linestyle="--")
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_yticks(places, [shorten(row.system) for row in found.systems], fontsize=8)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a "$" in a name is a "$"
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    ends = [end for value, interval in values for end in ([value] if interval is None else interval[1:3])]
    if math.isclose(min(ends), max(ends)):
        axes.set_xlim(min(ends) - 0.5, max(ends) + 0.5)
