"""WER, PER and CDER: edits that turn the words of an output into those of the reference, per word of the reference.

What it computes
----------------

    rate = 100 edits / words of the reference        lower is better

WER counts insertions, deletions and substitutions of words (Levenshtein distance). PER ignores order: its edits are
max(h, r) - m for an output of h and a reference of r words with m words in common. CDER covers the reference from
left to right with blocks of the output: a substitution, an insertion or a jump to any place of the output costs 1.

A system's rate is that of the sums over segments. For PER, h, r and m are summed, as in the tables of WMT. Of several
references, the one with the lowest rate counts.

Worked example
--------------

"on the mat the cat sat" has the words of "the cat sat on the mat" in two blocks. WER counts 6 edits, PER none. CDER
counts 3 jumps: to the first block, to the second, and from there to the end of the output.

    >>> import nlgauge
    >>> metrics = ["wer:tokenize=none", "per:tokenize=none", "cder:tokenize=none"]
    >>> scores = nlgauge.score_systems({"": ["on the mat the cat sat"]}, ["the cat sat on the mat"], metrics)
    >>> [score.system_score for score in scores]
    [100.0, 0.0, 50.0]

Profiles and deviations
-----------------------

There are no profiles. The defaults are those of the WMT metrics tasks: the tokenizer of Moses, then lower case.

Relations
---------

- TER adds shifts of blocks to WER, at the cost of one edit each. CDER has no cost for words of the output that no
  block covers.
- `character` and `eed` count edits of characters.

Citation
--------

Leusch, Ueffing, Ney: "CDER: Efficient MT Evaluation Using Block Movements", EACL 2006 (also for WER and PER).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from nlgauge.core.metric import SystemResult
from nlgauge.core.run_options import report_progress
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.edits import levenshtein, positions_of
from nlgauge.metrics.parts.word_metric import WordMetric, Words

CITATION = cite("leusch-etal-2006-cder")
EMPTY = "scored 100"

#: Counts of an output and a reference for a formula of `CorpusCounts`.
Count = Callable[[Words, Words], tuple[int, ...]]


def covering_edits(output: Sequence[str], reference: Sequence[str]) -> int:
    """Edits that cover the reference with blocks of the output, where a jump within the output costs 1 (CDER).

    Because of jumps, the costs of all places of the output differ by at most 1. So a row of the table is an integer
    with one bit per place, set where the cost is the lowest.

    Here "a" is inserted, "b c" is a block, and a jump goes to the end of the output.

    >>> covering_edits("b c a".split(), "a b c".split())
    2
    """
    positions = positions_of(["", *output])
    mask = (1 << (len(output) + 1)) - 1
    cheapest, cost = 1, 0  # at the start, which is before the first word
    for word in reference:
        places = positions.get(word, 0) & mask & ~1
        matches = (cheapest << 1) & places
        if matches:
            cheapest = matches
        else:
            cost += 1
            cheapest = (cheapest | cheapest << 1 | places) & mask
    return cost + (not cheapest >> len(output) & 1)


def score_edits(
    metric: WordMetric, hypotheses: Sequence[str], references: Sequence[Sequence[str]], count: Count, formula: str
) -> SystemResult:
    """Rates of all segments by the formula; of several references, the one with the lowest rate counts."""
    from nlgauge.stats.corpus_counts import CorpusCounts

    split = metric.split()
    counts, best = [], []
    for hypothesis, group in report_progress(zip(hypotheses, references, strict=True)):
        output = split(hypothesis)
        rows = [count(output, split(reference)) for reference in group]
        pairs = CorpusCounts(formula, np.array(rows, dtype=np.float64))
        best.append(int(pairs.score(pairs.counts).argmin()))
        counts.append(pairs.counts[best[-1]])
    statistics = CorpusCounts(formula, np.array(counts))
    return SystemResult(
        {metric.main: statistics.score(statistics.counts)},
        np.array(best, dtype=np.int64),
        corpus=metric.corpus_scores(statistics),
        statistics=statistics,
    )


class WER(WordMetric):
    """Word error rate: insertions, deletions and substitutions of words."""

    name: ClassVar[str] = "wer"
    title: ClassVar[str] = "WER"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("wer",)
    main: ClassVar[str] = "wer"
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = CITATION

    def describe_empty(self) -> str:
        return EMPTY

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def count(output: Words, reference: Words) -> tuple[int, ...]:
            return levenshtein(output, reference), len(reference)

        return score_edits(self, hypotheses, references, count, "rate")


class PER(WordMetric):
    """Position-independent error rate: WER without regard to word order."""

    name: ClassVar[str] = "per"
    title: ClassVar[str] = "PER"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("per",)
    main: ClassVar[str] = "per"
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = CITATION

    def describe_empty(self) -> str:
        return EMPTY

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def count(output: Words, reference: Words) -> tuple[int, ...]:
            matches = sum((Counter(output) & Counter(reference)).values())
            return matches, len(output), len(reference)

        return score_edits(self, hypotheses, references, count, "per")


class CDER(WordMetric):
    """Edits that cover the reference with blocks of the output; jumps between blocks are allowed."""

    name: ClassVar[str] = "cder"
    title: ClassVar[str] = "CDER"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("cder",)
    main: ClassVar[str] = "cder"
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = CITATION

    def describe_empty(self) -> str:
        return EMPTY

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def count(output: Words, reference: Words) -> tuple[int, ...]:
            return covering_edits(output, reference), len(reference)

        return score_edits(self, hypotheses, references, count, "rate")
