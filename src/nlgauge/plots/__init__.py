"""Figures (extra `nlgauge[plot]`)."""

from nlgauge.plots.agreement import plot_agreement
from nlgauge.plots.canvas import check_format

__all__ = ["check_format", "plot_agreement"]
