"""REALSumm: 100 CNN/DailyMail articles, 14 abstractive and 11 extractive systems, judged by lightweight pyramids.

The published scores (`scores_dicts/abs.pkl` and `ext.pkl`) are pickles, and reading a pickle runs what it holds. So
they are turned into JSONL once, by whoever trusts them (docs/data.md), and read here as that: an article per line,

    {"doc_id": 0, "ref_summ": "<t> ... </t>",
     "system_summaries": {"bart_out.txt": {"system_summary": "<t> ... </t> <t> ... </t>",
                                           "scores": {"litepyramid_recall": 0.5, "rouge_1_f_score": 0.4, ...}}}}

Sentences stand between tags, sometimes with an outer pair around all; here they are the lines of a text. Systems of
the two files may share a name, so it is preceded by the file's: `abs/bart_out.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import need_file
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import json_lines

__all__ = ["load_realsumm"]

_GOLD = "litepyramid_recall"
_KINDS = ("abs", "ext")
_TAGS = re.compile(r"\s*</?t>\s*")

#: The scoring code of the repository stores F, P and R of BERTScore under these names, in this order.
_MISNAMED = ("bert_precision_score", "bert_recall_score", "bert_f_score")


def load_realsumm(
    path: Path,
    *,
    systems: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """The folder with `abs.jsonl` and `ext.jsonl`; `systems` names one of the two (abs, ext), by default both."""
    select_known(langpairs, ["en"], "realsumm: language")
    build = TableBuilder()
    for kind in select_known(systems, _KINDS, "realsumm: systems"):
        name = str(need_file(path, f"{kind}.jsonl"))
        for row in json_lines(read_bytes(name), name):
            article = row.label("doc_id")
            reference = _lines(row.text("ref_summ"))
            summaries = row.inner("system_summaries")
            for system in summaries.values:
                summary = summaries.inner(system)
                scores = summary.inner("scores")
                build.add(
                    row,
                    segment=article,
                    system=f"{kind}/{system}",
                    langpair="en",
                    topic=article,
                    hypothesis=_lines(summary.text("system_summary")),
                    references=(reference,),
                    human={_GOLD: scores.number(_GOLD)},
                    released={metric: scores.number(metric) for metric in scores.values if metric != _GOLD},
                )
    released = "a released score under a wrong name: the three of BERTScore are F, precision and recall in this order"
    return build.table("realsumm", default_criterion=_GOLD, caveats=dict.fromkeys(_MISNAMED, released))


def _lines(tagged: str) -> str:
    """The sentences between tags, a line each.

    >>> _lines("<t> <t> One . </t> <t> Two . </t> </t>")
    'One .\\nTwo .'
    """
    return "\n".join(part for part in _TAGS.split(tagged) if part)
