"""How nlgauge computes the rows of the BERTScore paper, by their names in print.

A row such as `F RoBERTa-Large (idf)` is BERTScore's F at the layer that the paper's Table 8 names for the model.
Other models stand in for RoBERTa-Large (to English) and multilingual BERT (from English) only: else the same value of
ours would stand in the table once for each of a dozen models.

Rows of the BERTScore paper's Table 9: BERTScore and MoverScore with one part exchanged at a time.

MNLI     a model fine-tuned on MNLI         IDF-S    idf of the 560 judged references
PMEANS   power means of the last layers     IDF-L    idf of all references of the file
RM       no punctuation, first pieces       SEP      hypotheses are weighted by their own idf

Tables of the BERTScore paper: translations, segments and systems; captions; paraphrases.

Tables on hybrid systems are in `bertscore_2020_hybrids`. Not carried are Tables 7 (examples), 8 (layers, in
`bertscore_rows`) and 11 (scores of translations that are not to be had).

Tables 2, 3 and 21 to 28 of the BERTScore paper: hybrid systems of WMT18, and choosing the best of a hundred.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from nlgauge.core.vector_metric import MULTILINGUAL
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.features import HybridTable
from nlgauge.studies.published.papers.shared import BERT_BASE, BERT_MNLI, MSCOCO
from nlgauge.studies.published.tables import (
    Column,
    PaperTable,
    PrintedTable,
    PublishedModel,
    TableRow,
    printed_tables,
)


def _model(name: str, owner: str) -> PublishedModel:
    return PublishedModel(name, published=f"huggingface.co/{owner}/{name}")


#: By name in print: the model, and the layer of Table 8.
MODELS: Mapping[str, tuple[PublishedModel, int]] = {
    "BERT-Base": (_model("bert-base-uncased", "google-bert"), 9),
    "BERT-Base-MRPC": (_model("bert-base-cased-finetuned-mrpc", "google-bert"), 9),
    "BERT-Large": (_model("bert-large-uncased", "google-bert"), 18),
    "BERT-Multi": (_model("bert-base-multilingual-cased", "google-bert"), 9),
    "RoBERTa-Base": (_model("roberta-base", "FacebookAI"), 10),
    "RoBERTa-Large": (_model("roberta-large", "FacebookAI"), 17),
    "RoBERTa-Large-MNLI": (_model("roberta-large-mnli", "FacebookAI"), 19),
    "XLNet-Base": (_model("xlnet-base-cased", "xlnet"), 5),
    "XLNet-Large": (_model("xlnet-large-cased", "xlnet"), 7),
    "XLM-En": (_model("xlm-mlm-en-2048", "FacebookAI"), 7),
    "XLM-100": (_model("xlm-mlm-100-1280", "FacebookAI"), 11),
}
#: Models that another one may stand in for.
_MAIN = ("RoBERTa-Large", "BERT-Multi")

_COMPONENTS = {"P": "precision", "R": "recall", "F": ""}
_TRAINED = "only shown: trained on human scores or on paraphrases, and not part of nlgauge"
_OTHER = "only shown: not part of nlgauge"
_SUPERVISED = ("RUSE", "BLEND", "BEER", "AUTODA", "LEIC", "DecAtt", "DIIN", "BERT (", "BLEU2VEC", "NGRAM2VEC")
_SHARED_TASK = "in print, a run of the shared task"
#: BLEU of systems as the shared task has it: mteval-v13a in lower case, with international tokenisation.
SYSTEM_BLEU = TableRow(
    "",
    recipe="bleu:case=lower,tokenize=intl",
    exceptions={"en-zh": "tokenize=zh"},
    note=f"{_SHARED_TASK} (mteval-v13a); ours is sacrebleu's, in lower case and with international tokens",
)
_PLAIN: Mapping[str, TableRow] = {
    "BLEU": SYSTEM_BLEU,
    "SENTBLEU": TableRow("", recipe="bleu", note=f"{_SHARED_TASK}; ours is sacrebleu's"),
    "CHRF": TableRow("", recipe="chrf", note=_SHARED_TASK),
    "CHRF1": TableRow("", recipe="chrf:beta=1", note=_SHARED_TASK),
    "CHRF2": TableRow("", recipe="chrf:beta=2", note=_SHARED_TASK),
    "CHRF3": TableRow("", recipe="chrf:beta=3", note=_SHARED_TASK),
    "CHRF+": TableRow("", recipe="chrf:words=1", note=_SHARED_TASK),
    "CHRF++": TableRow("", recipe="chrf:words=2", note=_SHARED_TASK),
    "ROUGE-L": TableRow("", recipe="rougel", note="settings of ROUGE-L are not in the paper"),
}


def bertscore_rows(
    table: PrintedTable,
    *,
    main: str = "RoBERTa-Large",
    idf_unless_said: bool = False,
    shared_task: bool = True,
    sentences: bool = False,
    columns: Mapping[str, str] | None = None,
) -> tuple[TableRow, ...]:
    """The rows of a table in print, and how they are computed.

    `main` is the model of rows that name none (`F BERT`). With `idf_unless_said`, rows of BERT-Base without a word on
    idf have it (Table 12). `shared_task` says whether print took the scores of other metrics from it, `sentences`
    whether its BLEU is that of sentences (Table 4). `columns` maps columns in print to those of the entry, where they
    differ.
    """
    found = []
    for name, values in table.rows.items():
        published = {(columns or {}).get(column, column): value for column, value in values.items()}
        row = _encoded(name, main, idf_unless_said=idf_unless_said)
        row = row or _plain(name, shared_task=shared_task, sentences=sentences)
        found.append(replace(row, name=name, published=published))
    return tuple(found)


def _encoded(name: str, main: str, *, idf_unless_said: bool) -> TableRow | None:
    """A row of BERTScore; None if it is another metric."""
    match = re.fullmatch(r"([PRF]) ([\w-]+)(?: \((idf|no idf)\))?", name)
    if match is None:
        return None
    component, model, idf = match.groups()
    model = main if model == "BERT" else model
    published, layer = MODELS[model]
    counted = idf == "idf" or (idf is None and idf_unless_said and model == "BERT-Base")
    return TableRow(
        name,
        recipe=f"bertscore:layer={layer}" + (",idf=refs" if counted else ""),
        recipe_for_other_models="bertscore" + (":idf=refs" if counted else ""),
        component=_COMPONENTS[component],
        model=published,
        own_model_only=model not in _MAIN,
    )


def _plain(name: str, *, shared_task: bool, sentences: bool) -> TableRow:
    """A metric without an encoder, or one that is only shown."""
    row = _PLAIN.get("SENTBLEU" if name == "BLEU" and (sentences or not shared_task) else name)
    if row is None:
        return TableRow(name, note=_TRAINED if name.startswith(_SUPERVISED) else _OTHER)
    return row if shared_task else replace(row, note="its settings are not in the paper")


_NO_IDF_S = "only shown: idf of the judged segments alone; nlgauge counts it on whole files here (IDF-L)"
_NO_OPTION = "only shown: BERTScore has no option of nlgauge for {}"


def ablation_rows(table: PrintedTable) -> tuple[TableRow, ...]:
    """The rows with what nlgauge computes of them."""
    return tuple(_row(name, dict(values)) for name, values in table.rows.items())


def _row(name: str, values: dict[str, float]) -> TableRow:
    setting, _, metric = name.partition(": ")
    parts = setting.split(" + ")
    model = BERT_MNLI if "MNLI" in parts else BERT_BASE
    if "IDF-S" in parts:
        return TableRow(name, values, note=_NO_IDF_S)
    if metric == "F BERT":
        return _greedy(name, values, parts, model)
    layers = "pmeans" if "PMEANS" in parts else "layer-{}"
    fields = {
        "profile": "v1",
        "n": metric[-1],
        "aggregation": layers,
        "idf": "both" if "SEP" in parts else "refs" if "IDF-L" in parts else "none",
        "subwords": "first" if "RM" in parts else "all",
        "punctuation": "drop-ascii" if "RM" in parts else "keep",
    }
    recipe = "moverscore:" + ",".join(f"{key}={value}" for key, value in fields.items())
    return TableRow(
        name,
        values,
        recipe=recipe.format(9),
        recipe_for_other_models=recipe.format("top-3"),
        model=model,
        note="the ablation's own distance and special tokens are not in the paper; profile v1 here",
    )


def _greedy(name: str, values: dict[str, float], parts: list[str], model: PublishedModel) -> TableRow:
    lacking = [part for part in ("PMEANS", "RM") if part in parts]
    if lacking:
        return TableRow(name, values, note=_NO_OPTION.format(", ".join(lacking)))
    idf = "idf=both" if "SEP" in parts else "idf=refs" if "IDF-L" in parts else ""
    return TableRow(
        name,
        values,
        recipe="bertscore:layer=9" + (f",{idf}" if idf else ""),
        recipe_for_other_models="bertscore" + (f":{idf}" if idf else ""),
        model=model,
    )


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


_QUESTION = Question("wmt18", "system")
_STAND_IN = (
    "in print, hybrids and people's scores of single outputs are those of the shared task; here a hybrid mixes two "
    "systems in a share drawn at random, and an output has the official score of its system (D24)"
)
_CHOOSING = (
    "official scores have no noise of single judgements, so choosing hangs on which system a metric puts first, and "
    "comes nowhere near print"
)
_MEANS = "a hybrid's BLEU is the mean over its segments here"
_CAPTION = "print calls it 'to English'; its columns are from English"


def _bertscore_2020_hybrids_table(
    number: int,
    what: str,
    measure: Literal["pearson", "hits_at_1", "mrr", "diff"],
    *,
    file: str = "bertscore_hybrids",
    notes: tuple[str, ...] = (),
) -> HybridTable:
    printed = printed_tables(file)[str(number)]
    english = [pair.endswith("-en") for pair in printed.columns]
    columns: tuple[Column, ...] = tuple(Column(pair, _QUESTION, pair) for pair in printed.columns)
    if any(english) and not all(english):
        columns = both_directions(printed, _QUESTION)
    every = (_STAND_IN, _MEANS, ABSOLUTE if measure == "pearson" else _CHOOSING, LONG, *notes)
    options: dict[str, Any] = {"notes": every} if any(english) else from_english(every)
    direction = " to English" if all(english) else "" if any(english) else " from English"
    return HybridTable(
        f"bertscore-table{number}",
        f"hybrid systems of WMT18{direction}: {what}",
        SOURCE.format(f"Table {number}"),
        columns,
        bertscore_rows(printed, main="RoBERTa-Large" if any(english) else "BERT-Multi"),
        decimals=2 if measure == "diff" else 3,
        absolute=measure == "pearson",
        measure=measure,
        **options,
    )


_FROM = "columns from English are only shown here; {} computes them"
_HITS, _MRR, _DIFF = "Hits@1", "mean reciprocal rank", "difference x 100"

BERTSCORE_HYBRIDS = (
    _bertscore_2020_hybrids_table(2, "Pearson", "pearson", notes=(_FROM.format("bertscore-table22"),)),
    _bertscore_2020_hybrids_table(3, _HITS, "hits_at_1", notes=(_FROM.format("bertscore-table26"),)),
    _bertscore_2020_hybrids_table(21, "Pearson, more models", "pearson"),
    _bertscore_2020_hybrids_table(22, "Pearson", "pearson"),
    _bertscore_2020_hybrids_table(23, f"{_HITS}, more models", "hits_at_1"),
    _bertscore_2020_hybrids_table(24, f"{_MRR}, more models", "mrr", file="bertscore_selection"),
    _bertscore_2020_hybrids_table(25, f"{_DIFF}, more models", "diff", file="bertscore_selection"),
    _bertscore_2020_hybrids_table(26, _HITS, "hits_at_1", file="bertscore_selection", notes=(_CAPTION,)),
    _bertscore_2020_hybrids_table(27, _MRR, "mrr", file="bertscore_selection", notes=(_CAPTION,)),
    _bertscore_2020_hybrids_table(28, _DIFF, "diff", file="bertscore_selection", notes=(_CAPTION,)),
)
