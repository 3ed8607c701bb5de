"""Tables of the BERTScore paper: translations, segments and systems; captions; paraphrases.

Tables on hybrid systems are in `bertscore_2020_hybrids`. Not carried are Tables 7 (examples), 8 (layers, in
`bertscore_rows`) and 11 (scores of translations that are not to be had).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nlgauge.meta.question import Question
from nlgauge.published.papers.bertscore_ablation import ablation_rows
from nlgauge.published.papers.bertscore_rows import bertscore_rows
from nlgauge.published.papers.shared import MSCOCO
from nlgauge.published.printed import PrintedTable, printed_tables
from nlgauge.published.table import Column, PaperTable, TableRow
from nlgauge.recipes.defaults import MULTILINGUAL

__all__ = ["ABSOLUTE", "BERTSCORE_TABLES", "LONG", "SOURCE", "both_directions", "from_english"]

SOURCE = (
    "Zhang, Kishore, Wu, Weinberger, Artzi 2020, BERTScore (ICLR), openreview.net/forum?id=SkeHuCVFDr, {}; "
    "code: github.com/Tiiiger/bert_score"
)
ABSOLUTE = "print has absolute values; ours keep their sign, so a metric that opposes people is negative"
LONG = "every output of every system is scored: minutes per language pair; --langpairs chooses"
_DIRECTIONS = "columns from English are only shown here; {} computes them"
_OTHER_LANGUAGES = (
    f"the model {MULTILINGUAL!r} stands for multilingual BERT (in print bert-base-chinese for Chinese); it was not "
    "trained on cs, et, fi and lv"
)
_RANKED = "needs RR-seglevel.csv of the metrics package; idf is counted on the ranked outputs"
_SYSTEMS_17 = Question("wmt17", "system", options=(("level", "system"),))


def _columns(table: PrintedTable, question: Question) -> tuple[Column, ...]:
    return tuple(Column(pair, question, pair) for pair in table.columns)


def both_directions(table: PrintedTable, question: Question) -> tuple[Column, ...]:
    """Columns of both directions, as Tables 1 to 4 have them; those from English ask nothing."""
    return tuple(Column(pair, question if pair.endswith("-en") else None, pair) for pair in table.columns)


def from_english(notes: tuple[str, ...]) -> dict[str, Any]:
    """What tables of translations from English have in common."""
    return {"notes": (*notes, _OTHER_LANGUAGES), "default_model": MULTILINGUAL}


def _table(number: int, title: str, file: str, question: Question, **more: Any) -> PaperTable:
    printed = printed_tables(file)[str(number)]
    rows = bertscore_rows(printed, **more.pop("rows", {}))
    return PaperTable(
        f"bertscore-table{number}",
        title,
        SOURCE.format(f"Table {number}"),
        more.pop("columns", None) or _columns(printed, question),
        rows,
        **more,
    )


def _mixed_17(table: PrintedTable) -> tuple[Column, ...]:
    """Table 14: direct assessment where there is one, rankings elsewhere."""
    assessed = ("en-ru", "en-zh")
    questions = {True: Question("wmt17"), False: Question("wmt17", agreement="darr")}
    return tuple(Column(pair, questions[pair in assessed], pair) for pair in table.columns)


_SEGMENTS, _SYSTEMS = "bertscore_segments", "bertscore_systems"
_WMT18, _WMT18_SYSTEMS = Question("wmt18", agreement="darr"), Question("wmt18", "system")
_TRANSLATIONS = (
    _table(
        1,
        "WMT18, system level, Pearson",
        _SYSTEMS,
        _WMT18_SYSTEMS,
        columns=both_directions(printed_tables(_SYSTEMS)["1"], _WMT18_SYSTEMS),
        absolute=True,
        notes=(ABSOLUTE, LONG, _DIRECTIONS.format("bertscore-table20")),
    ),
    _table(
        4,
        "WMT18, segment level, Kendall-like tau on relative rankings",
        _SEGMENTS,
        _WMT18,
        columns=both_directions(printed_tables(_SEGMENTS)["4"], _WMT18),
        rows={"sentences": True},
        notes=(_RANKED, _DIRECTIONS.format("bertscore-table18")),
    ),
    _table(
        12,
        "WMT16 to English, segment level, Pearson",
        _SEGMENTS,
        Question("wmt16"),
        rows={"idf_unless_said": True},
        notes=(
            "rows of BERT-Base without a word on idf have it: those without are called so, and the reproducibility "
            "study's Table 3 has the same values with idf",
            "the public copies of wmt16 lack ro-en and tr-en",
        ),
    ),
    _table(
        13,
        "WMT17 to English, segment level, Pearson",
        _SEGMENTS,
        Question("wmt17"),
        absolute=True,
        notes=(
            ABSOLUTE,
            "idf is counted on whole files here, in print on the 560 judged segments",
            "XLNet-Base and -Large are called XLM-Base and -Large in this table; the other tables have XLNet there",
        ),
    ),
    _table(
        14,
        "WMT17 from English, segment level: Pearson (en-ru, en-zh) or Kendall-like tau on relative rankings",
        _SEGMENTS,
        _WMT18,
        columns=_mixed_17(printed_tables(_SEGMENTS)["14"]),
        rows={"main": "BERT-Multi"},
        absolute=True,
        **from_english((ABSOLUTE, _RANKED)),
    ),
    _table(
        15,
        "WMT17 to English, system level, Pearson",
        _SYSTEMS,
        _SYSTEMS_17,
        absolute=True,
        notes=(ABSOLUTE, LONG, "AUTODA on zh-en: the text at hand has lost the value"),
    ),
    _table(16, "WMT17 from English, system level, Pearson", _SYSTEMS, _SYSTEMS_17, absolute=True,
           **from_english((ABSOLUTE, LONG))),
    _table(17, "WMT18 to English, segment level, Kendall-like tau on relative rankings, more models", _SEGMENTS,
           _WMT18, notes=(_RANKED,)),
    _table(18, "WMT18 from English, segment level, Kendall-like tau on relative rankings", _SEGMENTS, _WMT18,
           **from_english((_RANKED,))),
    _table(19, "WMT18 to English, system level, Pearson, more models", _SYSTEMS, _WMT18_SYSTEMS, absolute=True,
           notes=(ABSOLUTE, LONG)),
    _table(20, "WMT18 from English, system level, Pearson", _SYSTEMS, _WMT18_SYSTEMS, absolute=True,
           **from_english((ABSOLUTE, LONG))),
)  # fmt: skip

_ABLATION = PaperTable(
    "bertscore-table9",
    "BERTScore and MoverScore with one part exchanged at a time: WMT17 to English, segment level, Pearson",
    SOURCE.format("Table 9"),
    _columns(printed_tables(_SEGMENTS)["9"], Question("wmt17")),
    ablation_rows(printed_tables(_SEGMENTS)["9"]),
    notes=("idf is counted on whole files (IDF-L); a layer stands for the one at the same distance from the last",),
)

_CAPTIONS = tuple(
    PaperTable(
        f"bertscore-table{number}",
        "MSCOCO captions, system level, Pearson" + (", more models" if number == 29 else ""),
        SOURCE.format(f"Table {number}"),
        (Column("M1", None), Column("M2", None)),
        bertscore_rows(printed_tables("bertscore_other")[str(number)], shared_task=False),
        unavailable=MSCOCO,
    )
    for number in (5, 29)
)
_COMPRESSION = PaperTable(
    "bertscore-table10",
    "abstractive compression of sentences and short texts (MSR), Pearson",
    SOURCE.format("Table 10"),
    tuple(Column(name, None) for name in ("meaning", "grammar", "combined")),
    bertscore_rows(printed_tables("bertscore_other")["10"], shared_task=False),
    decimals=2,
    unavailable="the MSR abstractive compression data set: microsoft.com/en-us/download/details.aspx?id=54262; "
    "no loader reads it",
)

_LEXICAL = (TableRow("chrF, on PAWS", recipe="chrf"), TableRow("ROUGE-1, on PAWS", recipe="rouge1"),
            TableRow("ROUGE-2, on PAWS", recipe="rouge2"))  # fmt: skip
_RELEASED = tuple(
    TableRow(f"{name} (released)", released=name)
    for name in ("bertscore", "moverscore", "sbert", "labse", "laser", "bleurt")
)
_SELECTION: Mapping[str, str] = {
    "PAWS": "300 sentences of PAWS, each with a paraphrase of low overlap and a lookalike of high overlap (D14), so "
    "values below .5 are no mistake; print has all pairs of QQP and of PAWS-QQP, which are not at hand",
}


def _paraphrases(number: int, extra: tuple[TableRow, ...]) -> PaperTable:
    return PaperTable(
        f"bertscore-table{number}",
        "adversarial paraphrases, area under the ROC curve" + (", more models" if number == 30 else ""),
        SOURCE.format(f"Table {number}"),
        (Column("QQP", None), Column("PAWS-QQP", None), Column("PAWS", Question("paws", agreement="auc"))),
        (*bertscore_rows(printed_tables("bertscore_other")[str(number)], shared_task=False), *extra),
        notes=tuple(f"column {name}: {what}" for name, what in _SELECTION.items()),
    )


BERTSCORE_TABLES = (
    *_TRANSLATIONS,
    *_CAPTIONS,
    _paraphrases(6, (*_LEXICAL, *_RELEASED)),
    _paraphrases(30, ()),
    _ABLATION,
    _COMPRESSION,
)
