"""How far metrics fall under perturbations, as bars."""

from __future__ import annotations

from pathlib import Path

from nlgauge.plots.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.plots.canvas import save_figure, series_styles
from nlgauge.stress.results import Fall, MetricFalls, StressTest

__all__ = ["plot_stress"]


def plot_stress(test: StressTest, path: Path) -> None:
    """A group of bars for each perturbation, a bar for each metric, on the scale from 0 to an unrelated text."""
    groups: dict[str, dict[str, Bar]] = {}
    for one in test.metrics:
        own = () if one.paraphrase is None else (one.paraphrase,)
        for fall in (*own, *one.falls):
            bar = _bar(one, fall)
            if bar is not None:
                groups.setdefault(fall.perturbation, {})[one.metric] = bar
    figure = draw_bar_panels(
        [BarPanel("", "of the way to an unrelated text", groups)],
        series_styles([one.metric for one in test.metrics]),
        title="how far metrics fall when texts are perturbed",
        caption=f"{test.size} texts, against {test.against}; seed {test.seed}. Bars: mean fall over the texts that a "
        f"perturbation could change, divided by the fall to an unrelated text; lines: {test.level:.0%} intervals.",
    )
    save_figure(figure, path)


def _bar(one: MetricFalls, fall: Fall) -> Bar | None:
    if fall.way is None or fall.mean is None:
        return None
    if fall.fall is None or fall.mean == 0:
        return Bar(fall.way)
    scale = fall.way / fall.mean
    return Bar(fall.way, fall.fall.low * scale, fall.fall.high * scale)
