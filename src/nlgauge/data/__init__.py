"""Data sets with human judgements, each read into one table."""

from nlgauge.data.card import DataCard
from nlgauge.data.cards import DATA_CARDS, find_data_card, load, locate
from nlgauge.data.integrity import DataCheck, check, recognise
from nlgauge.data.judgements import UNKNOWN_SYSTEM, Documents, ErrorSpan, JudgementTable, RankedPairs, document_table
from nlgauge.data.loaders.flat_files import load_custom
from nlgauge.data.loaders.mt_metrics_eval import load_mt_metrics_eval
from nlgauge.data.loaders.wmt import WmtPackage, load_wmt_rankings
from nlgauge.data.score_files import ImportedScores, read_score_file, read_score_files

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
