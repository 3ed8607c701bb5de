"""Studies of metrics: what was published about them, recomputed, and what moves their scores."""

from nlgauge.studies.catalog import PAPER_TABLES, find_paper_table
from nlgauge.studies.paper_data import data_at
from nlgauge.studies.paper_studies import PaperStudy, StudyRow
from nlgauge.studies.paper_tables import Column, Mean, PaperTable, PublishedModel, Question, TableRow
from nlgauge.studies.reproduced import ReproducedCell, ReproducedRow, Reproduction
from nlgauge.studies.reproduction import reproduce
from nlgauge.studies.study_reproduction import StudyInputs

__all__ = [
    "PAPER_TABLES",
    "Column",
    "Mean",
    "PaperStudy",
    "PaperTable",
    "PublishedModel",
    "Question",
    "ReproducedCell",
    "ReproducedRow",
    "Reproduction",
    "StudyInputs",
    "StudyRow",
    "TableRow",
    "data_at",
    "find_paper_table",
    "reproduce",
]
