"""NIST: matches of word n-grams, weighted by their information in the references.

What it computes
----------------

    NIST = BP sum over n of (information of matching n-grams / n-grams of the output),    n = 1 to 5

    information of w1..wn = log2(count(w1..w(n-1)) / count(w1..wn))        for n = 1: log2(words / count(w1))
    BP = exp(-b ln(min(1, h/r))^2)                                         with b such that BP = 1/2 at h/r = 2/3

Counts are taken over all references of the corpus, so rare n-grams weigh more, and a score depends on the corpus. h
and r are the words of output and reference (their mean, for several references). An n-gram matches as often as it
occurs in the reference that has it most often.

Worked example
--------------

Among the six words of "the cat sat on the mat", "the" has log2(6/2) = 1.585 bits and each other word 2.585. "the cat
sat" shares 3 words (6.755 bits), the pair "the cat" (log2(2/1) = 1 bit; "cat sat" has 0) and a triple of 0 bits. So
6.755/3 + 1/2 = 2.752 is multiplied by the penalty of 3 words for 6, .132.

    >>> import nlgauge
    >>> score = nlgauge.score(["the cat sat"], ["the cat sat on the mat"], "nist:tokenize=none")
    >>> score.segments["nist"].round(3).tolist()
    [0.363]

Profiles and deviations
-----------------------

There are no profiles. Defaults are those of mteval-v13a in the WMT metrics tasks: international tokenisation, without
regard to case.

Relations
---------

- BLEU multiplies precisions that are not weighted.

Citation
--------

Doddington: "Automatic Evaluation of Machine Translation Quality Using N-gram Co-Occurrence Statistics", HLT 2002.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Int
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_metric import WordMetric, Words, digest_of_references

Ngrams = Counter[Words]


def count_ngrams(words: Words, order: int) -> Ngrams:
    """Count the n-grams of 1 to `order` words.

    >>> len(count_ngrams(("a", "b", "a"), 2))
    4
    """
    return Counter(words[i : i + n] for n in range(1, order + 1) for i in range(len(words) - n + 1))


def information(references: Iterable[Words], order: int) -> dict[Words, float]:
    """Bits of each n-gram of the references.

    >>> information([("a", "b", "a", "c")], 2)["a", "b"]
    1.0
    """
    counts: Ngrams = Counter()
    total = 0
    for words in references:
        counts.update(count_ngrams(words, order))
        total += len(words)
    return {
        ngram: math.log2((counts[ngram[:-1]] if len(ngram) > 1 else total) / count) for ngram, count in counts.items()
    }


@dataclass(frozen=True, kw_only=True)
class NIST(WordMetric):
    """Precision of word n-grams, weighted by their information in the references of the corpus."""

    name: ClassVar[str] = "nist"
    title: ClassVar[str] = "NIST"
    table_decimals: ClassVar[int] = 2
    components: ClassVar[tuple[str, ...]] = ("nist",)
    main: ClassVar[str] = "nist"
    citation: ClassVar[str] = cite("doddington-2002-automatic")
    whole_corpus: ClassVar[bool] = True
    usual_tokenizer: ClassVar[str] = "intl"

    order: int = option(5, Int(1), help="longest n-gram")

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        from nlgauge.stats.corpus_counts import CorpusCounts

        split = self.split()
        groups = [[split(reference) for reference in group] for group in references]
        bits = information((words for group in groups for words in group), self.order)
        counts = [
            self._count(split(hypothesis), group, bits)
            for hypothesis, group in report_progress(zip(hypotheses, groups, strict=True))
        ]
        statistics = CorpusCounts("nist", np.array(counts))
        return SystemResult(
            {self.main: statistics.score(statistics.counts)},
            corpus=self.corpus_scores(statistics),
            statistics=statistics,
            run={"information": digest_of_references(groups)},
        )

    def _count(self, output: Words, group: Sequence[Words], bits: Mapping[Words, float]) -> list[float]:
        """Lengths of output and reference, information of the matches, and numbers of n-grams."""
        most: Ngrams = reduce(or_, (count_ngrams(words, self.order) for words in group))
        matched = [0.0] * self.order
        for ngram, count in sorted((count_ngrams(output, self.order) & most).items()):
            matched[len(ngram) - 1] += count * bits[ngram]
        ngrams = [max(len(output) - n, 0) for n in range(self.order)]
        return [len(output), sum(map(len, group)) / len(group), *matched, *ngrams]
