"""Figures of stress tests, and of scores on adversarial triples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.io.canvas import (
    WIDEST,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    series_styles,
    shorten,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels

if TYPE_CHECKING:
    from nlgauge.studies.stress.suite import Fall, StressTest
    from nlgauge.studies.stress.triples import TripleStudy, TripleWins


def draw_falls(test: StressTest) -> Any:
    """A group of bars for each perturbation, a bar for each metric, on the scale from 0 to an unrelated text."""
    groups: dict[str, dict[str, Bar]] = {}
    for one in test.metrics:
        for fall in one.falls:
            bar = _bar(fall)
            if bar is not None:
                groups.setdefault(fall.perturbation, {})[one.metric] = bar
    return draw_bar_panels(
        [BarPanel("", "of the way to an unrelated text", groups)],
        series_styles([one.metric for one in test.metrics]),
        title="how far metrics fall when texts are perturbed",
        caption=f"{test.texts} texts, against {test.against}; seed {test.signature.recipe['seed']}. Bars: mean fall "
        f"over the texts that a perturbation could change, divided by the fall to an unrelated text; lines: "
        f"{test.level:.0%} intervals.",
    )


def _bar(fall: Fall) -> Bar | None:
    way = fall.way_to_unrelated
    if way is None or fall.fall is None:
        return None
    if fall.interval is None or fall.fall == 0:
        return Bar(way)
    scale = way / fall.fall
    low, high = fall.interval
    return Bar(way, low * scale, high * scale)


_SERIES = ("paraphrase: m(A, B)", "lookalike: m(A, C)")
_BINS = 30


def draw_triples(study: TripleStudy) -> Any:
    """A panel for each metric: both distributions, with lines at their means."""
    rows, columns = panel_grid(len(study.metrics), most_columns=3)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.6 * columns), height=2.3)
    styles = series_styles(_SERIES)
    for axes, one in zip(panels, study.metrics, strict=False):
        _draw(axes, one, [style.colour for style in styles.values()])
        within = "" if one.interval is None else " ({:.0%} to {:.0%})".format(*one.interval)
        axes.set_title(f"{shorten(one.metric)}: B wins {one.share:.1%}{within}", loc="left", fontsize=8)
        axes.tick_params(labelsize=7)
    for axes in panels[len(study.metrics) :]:
        axes.set_visible(False)
    finish_figure(
        figure,
        title=f"{study.name}: scores of paraphrases with little overlap, and of lookalikes with much",
        caption=f"{study.triples} triples. Bars: share of triples per bin; dashed: means. In brackets: "
        f"{study.level:.0%} intervals of the share (bootstrap, seed {study.signature.recipe['seed']}).",
        legend=(legend_entries(styles, kind="bar"), list(styles)),
    )
    return figure


def _draw(axes: Any, one: TripleWins, colours: list[str]) -> None:
    both = np.concatenate([one.paraphrase, one.lookalike])
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    for values, colour in zip((one.paraphrase, one.lookalike), colours, strict=True):
        share = np.full(len(values), 1 / len(values))
        axes.hist(values, bins=edges, weights=share, color=colour, alpha=0.55)
        axes.axvline(float(values.mean()), color=colour, linestyle="--", linewidth=1.2)
