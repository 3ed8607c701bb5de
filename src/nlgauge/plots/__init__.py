"""Figures (extra `nlgauge[plot]`)."""

from nlgauge.plots.agreement import plot_agreement
from nlgauge.plots.canvas import check_figure
from nlgauge.plots.comparison import plot_comparison
from nlgauge.plots.curves import plot_curves
from nlgauge.plots.factors import plot_factors, plot_surrogates
from nlgauge.plots.reproduction import check_plotted, plot_reproduction, plot_study
from nlgauge.plots.sensitivity import plot_ranks, plot_variation

__all__ = [
    "check_figure",
    "check_plotted",
    "plot_agreement",
    "plot_comparison",
    "plot_curves",
    "plot_factors",
    "plot_ranks",
    "plot_reproduction",
    "plot_study",
    "plot_surrogates",
    "plot_variation",
]
