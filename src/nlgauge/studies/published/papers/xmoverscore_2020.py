"""Tables of XMoverScore: WMT17 to 19 without references (Tables 1, 4 to 8; chapter 8 of W. Zhao's dissertation).

Rows without a re-mapping and without a language model can be computed with any multilingual model. The others need
files fitted for each language pair (`nlgauge align fit`), and are only shown; `examples/crosslingual.py` fits them
for the embedded model. Tables 2 and 3 are an example and counts of word-by-word translations, and not carried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nlgauge.core.vector_metric import MULTILINGUAL
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.papers.bertscore_2020 import SYSTEM_BLEU
from nlgauge.studies.published.tables import (
    Column,
    Mean,
    PaperTable,
    PublishedModel,
    TableRow,
    language_columns,
    printed_tables,
)

_SOURCE = (
    "Zhao, Glavas, Peyrard, Gao, West, Eger 2020, On the Limitations of Cross-lingual Encoders as Exposed by "
    "Reference-Free Machine Translation Evaluation (ACL), aclanthology.org/2020.acl-main.151, {}"
)
_PRINTED = printed_tables("xmoverscore_2020")
_MBERT = PublishedModel(
    "bert-base-multilingual-cased",
    ("google-bert/bert-base-multilingual-cased",),
    published="huggingface.co/google-bert/bert-base-multilingual-cased",
)
_LASER = PublishedModel("LASER", published="github.com/facebookresearch/LASER")
_USE = PublishedModel(
    "universal-sentence-encoder-multilingual",
    published="tfhub.dev/google/universal-sentence-encoder-multilingual",
)
_FITTED = "only shown: needs re-mappings fitted for each language pair (nlgauge align fit) and their transforms="
_TUNED = "only shown: needs re-mappings, and the language model of the paper (GPT)"
_OTHER = "only shown: not part of nlgauge"
_WITH_REFERENCES = "reads the reference; in print, a run of the shared task"

_COMPUTED: Mapping[str, TableRow] = {
    "SENTBLEU": TableRow("", recipe="bleu", note=_WITH_REFERENCES),
    "BLEU": replace(
        SYSTEM_BLEU,
        absolute=True,
        note=f"reads the reference; {SYSTEM_BLEU.note}; print has its absolute values (WMT18 tr-en is negative), and "
        "their average",
    ),
    "CHRF++": TableRow("", recipe="chrf:words=2", note=_WITH_REFERENCES),
    "MOVER-1 + M-BERT": TableRow("", recipe="xmoverscore:n=1", model=_MBERT),
    "COSINE + LASER": TableRow("", recipe="xmoverscore:unit=sentence", model=_LASER),
}
_NOT_OURS = ("YISI", "METEOR", "IBM1", "LASIM", "LP")


def _row(name: str, values: Mapping[str, float]) -> TableRow:
    note = _OTHER if name.startswith(_NOT_OURS) else _TUNED if name.endswith("LM") else _FITTED
    known = _COMPUTED.get(name, TableRow("", note=note))
    return replace(known, name=name, published=values)


def _table(
    number: int, title: str, question: Question, *notes: str, rows: tuple[TableRow, ...] = (), **more: Any
) -> PaperTable:
    printed = _PRINTED[str(number)]
    pairs = tuple(column for column in printed.columns if column != "avg")
    columns: tuple[Column | Mean, ...] = language_columns(question, pairs)
    return PaperTable(
        f"xmoverscore-table{number}",
        f"{title}, source and translation",
        _SOURCE.format(f"Table {number}"),
        columns if "avg" in printed.columns else columns[:-1],
        rows or tuple(_row(name, values) for name, values in printed.rows.items()),
        notes=(*notes, f"the model {MULTILINGUAL!r} was not trained on cs, et, fi, gu, kk, lt and lv"),
        default_model=MULTILINGUAL,
        **more,
    )


def _without_training() -> tuple[TableRow, ...]:
    """Table 4: sentence vectors of a model that was not trained on the language."""
    bleu = TableRow(
        "", note="only shown: these are values of Table 8, for other languages and at system level (D8.15)"
    )
    sentences = TableRow("", recipe="xmoverscore:unit=sentence", model=_USE, note="'LAS' in print is USE (D8.15)")
    known = {"BLEU": bleu, "COSINE + LAS": sentences}
    return tuple(
        replace(known[name], name=name, published=values) if name in known else _row(name, values)
        for name, values in _PRINTED["4"].rows.items()
    )


_LONG = "every output of every system is scored: minutes per language pair; --langpairs chooses"
_LOST = "cs-en of the first two rows: the text at hand has lost the values"
XMOVERSCORE_TABLES = (
    _table(
        1,
        "WMT17 to English, segment level, Pearson x 100",
        Question("wmt17"),
        "published on Moses-detokenised and truecased translations; the demo set has 435 rows of lv-en (D8.12)",
        decimals=1,
        scale=100,
    ),
    _table(4, "WMT17, languages that the model was not trained on, segment level, Pearson", Question("wmt17"),
           rows=_without_training()),
    _table(5, "WMT17 to English, system level, Pearson",
           Question("wmt17", "system", options=(("level", "system"),)), _LONG),
    _table(6, "WMT18 to English, segment level, Kendall-like tau on relative rankings",
           Question("wmt18", agreement="darr"), "needs RR-seglevel.csv of the WMT18 metrics package", _LOST),
    _table(7, "WMT18 to English, system level, Pearson", Question("wmt18", "system"), _LONG, _LOST),
    _table(8, "WMT19 to English, system level, Pearson", Question("wmt19", "system"), _LONG),
)  # fmt: skip
