"""Rows of the BERTScore paper's Table 9: BERTScore and MoverScore with one part exchanged at a time.

MNLI     a model fine-tuned on MNLI         IDF-S    idf of the 560 judged references
PMEANS   power means of the last layers     IDF-L    idf of all references of the file
RM       no punctuation, first pieces       SEP      hypotheses are weighted by their own idf
"""

from __future__ import annotations

from nlgauge.published.papers.shared import BERT_BASE, BERT_MNLI
from nlgauge.published.printed import PrintedTable
from nlgauge.published.table import PublishedModel, TableRow

__all__ = ["ablation_rows"]

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
