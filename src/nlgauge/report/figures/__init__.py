"""Figures (extra `nlgauge[plot]`)."""

from nlgauge.io.canvas import check_figure
from nlgauge.report.figures.comparison import plot_agreement, plot_curves
from nlgauge.report.figures.explanation import plot_factors, plot_surrogates
from nlgauge.report.figures.reproduction import check_plotted, plot_reproduction, plot_study
from nlgauge.report.figures.sensitivity import plot_ranks, plot_variation

__all__ = [
    "check_figure",
    "check_plotted",
    "plot_agreement",
    "plot_curves",
    "plot_factors",
    "plot_ranks",
    "plot_reproduction",
    "plot_study",
    "plot_surrogates",
    "plot_variation",
]
