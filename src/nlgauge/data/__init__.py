"""Data sets with human judgements, each read into one table."""

import importlib
import typing

from nlgauge.data.cards import DATA_CARDS, DataCard, DataCheck, check, find_data_card, load, locate, recognise
from nlgauge.data.judgements import UNKNOWN_SYSTEM, Documents, ErrorSpan, JudgementTable, RankedPairs, document_table
from nlgauge.data.score_files import ImportedScores, read_score_file, read_score_files

if typing.TYPE_CHECKING:  # at run time __getattr__ below imports these, so that listing data sets imports no loader
    from nlgauge.data.loaders.flat_files import load_custom
    from nlgauge.data.loaders.mt_metrics_eval import load_mt_metrics_eval
    from nlgauge.data.loaders.wmt import WmtPackage, load_wmt_rankings

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

_LOADERS = {
    "WmtPackage": "wmt",
    "load_custom": "flat_files",
    "load_mt_metrics_eval": "mt_metrics_eval",
    "load_wmt_rankings": "wmt",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LOADERS:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"nlgauge.data.loaders.{_LOADERS[name]}"), name)
