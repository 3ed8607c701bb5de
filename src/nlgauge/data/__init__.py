"""Files to texts, and data sets with human judgements to one table.

`read_texts` and its kin read what people want to score; `load` reads what people have judged.
"""

from nlgauge.data.catalog import DATA_CARDS, DataCard, find_data_card, load, locate
from nlgauge.data.checks import DataCheck, check, recognise
from nlgauge.data.lines import stream_lines
from nlgauge.data.mt_metrics_eval import load_mt_metrics_eval
from nlgauge.data.own_table import load_own_table
from nlgauge.data.table import UNKNOWN_SYSTEM, Documents, JudgementTable, RankedPairs
from nlgauge.data.textfiles import Inputs, TextSource, parse_source, read_references, read_texts
from nlgauge.data.wmt_package import WmtPackage, load_wmt_rankings

__all__ = [
    "DATA_CARDS",
    "UNKNOWN_SYSTEM",
    "DataCard",
    "DataCheck",
    "Documents",
    "Inputs",
    "JudgementTable",
    "RankedPairs",
    "TextSource",
    "WmtPackage",
    "check",
    "find_data_card",
    "load",
    "load_mt_metrics_eval",
    "load_own_table",
    "load_wmt_rankings",
    "locate",
    "parse_source",
    "read_references",
    "read_texts",
    "recognise",
    "stream_lines",
]
