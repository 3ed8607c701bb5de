"""A comparison as one HTML file."""

from nlgauge.report.html.document import html_report, write_report
from nlgauge.report.html.inputs import (
    PairExplanation,
    ReportOptions,
    ReportTexts,
    differing_segments,
    explain_for_report,
)

__all__ = [
    "PairExplanation",
    "ReportOptions",
    "ReportTexts",
    "differing_segments",
    "explain_for_report",
    "html_report",
    "write_report",
]
