"""Studies of metrics: what was published about them, recomputed, and what moves their scores."""

from nlgauge.studies.catalog import PAPER_TABLES, find_paper_table
from nlgauge.studies.paper_tables import Column, Mean, PaperTable, PublishedModel, Question, TableRow
from nlgauge.studies.reproduction import ReproducedCell, ReproducedRow, Reproduction, data_at, reproduce

__all__ = [
    "PAPER_TABLES",
    "Column",
    "Mean",
    "PaperTable",
    "PublishedModel",
    "Question",
    "ReproducedCell",
    "ReproducedRow",
    "Reproduction",
    "TableRow",
    "data_at",
    "find_paper_table",
    "reproduce",
]
