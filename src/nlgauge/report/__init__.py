"""Scores and tables as text, JSON, TSV and LaTeX."""

from nlgauge.report.scores import Confidence, render
from nlgauge.report.table import Span, Table

__all__ = ["Confidence", "Span", "Table", "render"]
