"""Tables 2, 3 and 21 to 28 of the BERTScore paper: hybrid systems of WMT18, and choosing the best of a hundred."""

from __future__ import annotations

from typing import Any, Literal

from nlgauge.meta.question import Question
from nlgauge.published.hybrid_table import HybridTable
from nlgauge.published.papers.bertscore_2020 import ABSOLUTE, LONG, SOURCE, both_directions, from_english
from nlgauge.published.papers.bertscore_rows import bertscore_rows
from nlgauge.published.printed import printed_tables
from nlgauge.published.table import Column

__all__ = ["BERTSCORE_HYBRIDS"]

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


def _table(
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
    _table(2, "Pearson", "pearson", notes=(_FROM.format("bertscore-table22"),)),
    _table(3, _HITS, "hits_at_1", notes=(_FROM.format("bertscore-table26"),)),
    _table(21, "Pearson, more models", "pearson"),
    _table(22, "Pearson", "pearson"),
    _table(23, f"{_HITS}, more models", "hits_at_1"),
    _table(24, f"{_MRR}, more models", "mrr", file="bertscore_selection"),
    _table(25, f"{_DIFF}, more models", "diff", file="bertscore_selection"),
    _table(26, _HITS, "hits_at_1", file="bertscore_selection", notes=(_CAPTION,)),
    _table(27, _MRR, "mrr", file="bertscore_selection", notes=(_CAPTION,)),
    _table(28, _DIFF, "diff", file="bertscore_selection", notes=(_CAPTION,)),
)
