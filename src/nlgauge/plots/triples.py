"""How a metric's scores of paraphrases and of lookalikes are spread, on adversarial triples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nlgauge.plots.canvas import (
    WIDEST,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    save_figure,
    series_styles,
    shorten,
)
from nlgauge.stress.wins import TripleStudy, TripleWins

__all__ = ["plot_triples"]

_SERIES = ("paraphrase: m(A, B)", "lookalike: m(A, C)")
_BINS = 30


def plot_triples(study: TripleStudy, path: Path) -> None:
    """A panel for each metric: both distributions, with lines at their means."""
    rows, columns = panel_grid(len(study.metrics), most_columns=3)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.6 * columns), height=2.3)
    styles = series_styles(_SERIES)
    for axes, one in zip(panels, study.metrics, strict=False):
        _draw(axes, one, [style.colour for style in styles.values()])
        found = study.interval(one)
        within = "" if found is None else f" ({found.low:.0%} to {found.high:.0%})"
        axes.set_title(f"{shorten(one.metric)}: B wins {one.share:.1%}{within}", loc="left", fontsize=8)
        axes.tick_params(labelsize=7)
    for axes in panels[len(study.metrics) :]:
        axes.set_visible(False)
    finish_figure(
        figure,
        title=f"{study.triples.name}: scores of paraphrases with little overlap, and of lookalikes with much",
        caption=f"{len(study.triples)} triples. Bars: share of triples per bin; dashed: means. In brackets: "
        f"{study.level:.0%} intervals of the share (bootstrap, seed {study.seed}).",
        legend=(legend_entries(styles, kind="bar"), list(styles)),
    )
    save_figure(figure, path)


def _draw(axes: Any, one: TripleWins, colours: list[str]) -> None:
    both = np.concatenate([one.paraphrase, one.lookalike])
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    for values, colour in zip((one.paraphrase, one.lookalike), colours, strict=True):
        share = np.full(len(values), 1 / len(values))
        axes.hist(values, bins=edges, weights=share, color=colour, alpha=0.55)
        axes.axvline(float(values.mean()), color=colour, linestyle="--", linewidth=1.2)
