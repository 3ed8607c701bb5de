"""How nlgauge computes the rows of the BERTScore paper, by their names in print.

A row such as `F RoBERTa-Large (idf)` is BERTScore's F at the layer that the paper's Table 8 names for the model.
Other models stand in for RoBERTa-Large (to English) and multilingual BERT (from English) only: else the same value of
ours would stand in the table once for each of a dozen models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from nlgauge.published.printed import PrintedTable
from nlgauge.published.table import PublishedModel, TableRow

__all__ = ["MODELS", "SYSTEM_BLEU", "bertscore_rows"]


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
