"""A comparison as one HTML file."""

from nlgauge.report.html.document import html_report, write_report
from nlgauge.report.html.inputs import PairExplanation, ReportOptions, ReportTexts, differing_segments
from nlgauge.report.html.links import explanations_of_scores

__all__ = [
    "PairExplanation",
    "ReportOptions",
    "ReportTexts",
    "differing_segments",
    "explanations_of_scores",
    "html_report",
    "write_report",
]
