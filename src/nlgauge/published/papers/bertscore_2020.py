"""Tables of the BERTScore paper that public data allows: WMT17 and WMT18 to English, and paraphrases.

The values in print are not at hand, so these entries compute only.
"""

from __future__ import annotations

from dataclasses import replace

from nlgauge.meta.question import Question
from nlgauge.published.papers.shared import TO_ENGLISH_17
from nlgauge.published.table import Column, PaperTable, PublishedModel, TableRow, language_columns

__all__ = ["BERTSCORE_TABLES"]

_SOURCE = (
    "Zhang, Kishore, Wu, Weinberger, Artzi 2020, BERTScore (ICLR), openreview.net/forum?id=SkeHuCVFDr, {}; "
    "code: github.com/Tiiiger/bert_score"
)
_NONE = "values in print are not at hand; ours stand alone"
_TO_ENGLISH_18 = ("cs-en", "de-en", "et-en", "fi-en", "ru-en", "tr-en", "zh-en")

_ROBERTA = PublishedModel("roberta-large", published="huggingface.co/FacebookAI/roberta-large")
_F = TableRow("BERTScore F", recipe="bertscore:layer=17", recipe_for_other_models="bertscore", model=_ROBERTA)
_IDF = replace(
    _F, name="BERTScore F (idf)", recipe="bertscore:layer=17,idf=refs", recipe_for_other_models="bertscore:idf=refs"
)
_BERTSCORES = (
    replace(_F, name="BERTScore P", component="precision"),
    replace(_F, name="BERTScore R", component="recall"),
    _F,
)
_LEXICAL = (TableRow("BLEU", recipe="bleu"), TableRow("chrF", recipe="chrf"))
_SYSTEMS = Question("wmt17", "system", options=(("level", "system"),))
_SIGNED = "print has absolute values; ours keep their sign, so a metric that opposes people is negative"
_LONG = "every output of every system is scored: minutes per language pair; --langpairs chooses"

BERTSCORE_TABLES = (
    PaperTable(
        "bertscore-table1",
        "WMT18 to English, system level, Pearson",
        _SOURCE.format("Table 1"),
        language_columns(Question("wmt18", "system"), _TO_ENGLISH_18),
        (*_LEXICAL, *_BERTSCORES, _IDF),
        notes=(_NONE, _SIGNED, _LONG),
    ),
    PaperTable(
        "bertscore-table6",
        "adversarial paraphrases, area under the ROC curve",
        _SOURCE.format("Table 6"),
        (Column("PAWS", Question("paws", agreement="auc")),),
        (
            *_LEXICAL,
            *(TableRow(f"ROUGE-{name}", recipe=f"rouge{name.lower()}") for name in ("1", "2", "L")),
            *_BERTSCORES,
            _IDF,
            *(
                TableRow(f"{name} (released)", released=name)
                for name in ("bertscore", "moverscore", "sbert", "labse", "laser", "bleurt")
            ),
        ),
        notes=(
            _NONE,
            "in print it is another selection: all pairs of QQP and PAWS-QQP. Here it is 300 sentences of PAWS, "
            "each with a paraphrase of low overlap and a lookalike of high overlap (D14), so values below .5 are "
            "no mistake",
        ),
    ),
    PaperTable(
        "bertscore-table13",
        "WMT17 to English, segment level, Pearson",
        _SOURCE.format("Table 13"),
        language_columns(Question("wmt17"), TO_ENGLISH_17),
        (*_LEXICAL, *_BERTSCORES, _IDF),
        notes=(_NONE, _SIGNED),
    ),
    PaperTable(
        "bertscore-table15",
        "WMT17 to English, system level, Pearson",
        _SOURCE.format("Table 15"),
        language_columns(_SYSTEMS, TO_ENGLISH_17),
        (*_LEXICAL, *_BERTSCORES, _IDF),
        notes=(_NONE, _SIGNED, _LONG),
    ),
    PaperTable(
        "bertscore-table19",
        "WMT18 to English, system level, Pearson, more models",
        _SOURCE.format("Table 19"),
        language_columns(Question("wmt18", "system"), _TO_ENGLISH_18),
        (*_LEXICAL, *_BERTSCORES, _IDF),
        notes=(_NONE, _SIGNED, _LONG),
    ),
)
