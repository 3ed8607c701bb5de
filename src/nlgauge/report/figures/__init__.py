"""Figures (extra `nlgauge[plot]`)."""

from nlgauge.io.canvas import check_figure
from nlgauge.report.figures.comparison import plot_agreement, plot_curves
from nlgauge.report.figures.sensitivity import plot_ranks, plot_variation

__all__ = [
    "check_figure",
    "plot_agreement",
    "plot_curves",
    "plot_ranks",
    "plot_variation",
]
