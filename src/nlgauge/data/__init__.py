"""Data sets with human judgements, each read into one table."""

from nlgauge.data.catalog import DATA_CARDS, DataCard, find_data_card, load, locate
from nlgauge.data.checks import DataCheck, check, recognise
from nlgauge.data.documents import document_table
from nlgauge.data.loaders.custom_table import load_custom
from nlgauge.data.loaders.mt_metrics_eval import load_mt_metrics_eval
from nlgauge.data.loaders.wmt_package import WmtPackage, load_wmt_rankings
from nlgauge.data.score_files import ImportedScores, read_score_file, read_score_files
from nlgauge.data.table import UNKNOWN_SYSTEM, Documents, ErrorSpan, JudgementTable, RankedPairs

__all__ = [
    "DATA_CARDS",
    "UNKNOWN_SYSTEM",
    "DataCard",
    "DataCheck",
    "Documents",
    "ErrorSpan",
    "ImportedScores",
    "JudgementTable",
    "RankedPairs",
    "WmtPackage",
    "check",
    "document_table",
    "find_data_card",
    "load",
    "load_custom",
    "load_mt_metrics_eval",
    "load_wmt_rankings",
    "locate",
    "read_score_file",
    "read_score_files",
    "recognise",
]
