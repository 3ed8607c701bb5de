"""Scores and tables as text, JSON, TSV and LaTeX."""

from nlgauge.report.agreement import render_agreement
from nlgauge.report.scores import Confidence, render
from nlgauge.report.table import Marked, Span, Table

__all__ = ["Confidence", "Marked", "Span", "Table", "render", "render_agreement"]
