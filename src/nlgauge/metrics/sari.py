"""SARI: n-grams that an output keeps, deletes and adds, compared with the source and the references.

What it computes
----------------

    SARI = 100 mean over n of (F_keep + P_delete + F_add) / 3                          n = 1 to 4 words

An n-gram is kept if source and output have it, deleted if only the source has it, and added if only the output has
it. Each of the r references has a share of 1/r in what should be kept. `keep` and `add` are F-scores of precision and
recall, `delete` is a precision only, because deleting too much is the worse mistake. The score of a system is the
mean over segments.

Worked example
--------------

The source is "a big cat", the reference "a cat". The output "a dog" keeps "a" of two words (P = 1, R = 1/2, F = 2/3),
deletes "big", as it should, and "cat", as it should not (1/2), and adds a wrong word (0). The mean of words is 7/18.

    >>> import nlgauge
    >>> score = nlgauge.score(["a dog"], ["a cat"], "sari:order=1", sources=["a big cat"])
    >>> score.segments["sari"].round(3).tolist()
    [38.889]

Profiles and deviations
-----------------------

There are no profiles. The default is `variant=evaluate`, the SARI of Hugging Face's evaluate and of tensor2tensor. It
differs from the script of the paper's authors (`variant=released`) in two ways: 0/0 is 1, not 0, and the recall of
kept n-grams is a ratio of sums, not a mean over n-grams. The authors also expect texts that are split already
(`tokenize=none`). EASSE sums the counts over the corpus instead.

Relations
---------

- BLEU and the others compare with the references alone, so that a copy of the source can score well.

Citation
--------

Xu, Napoles, Pavlick, Chen, Callison-Burch: "Optimizing Statistical Machine Translation for Text Simplification",
TACL 2016.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Int
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.metrics.nist import Ngrams, count_ngrams
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_metric import WordMetric, Words

_SCALE = 100.0


def _times(counts: Ngrams, factor: int) -> Ngrams:
    return Counter({ngram: count * factor for ngram, count in counts.items()})


def _of_order(counts: Ngrams, n: int) -> Ngrams:
    return Counter({ngram: count for ngram, count in counts.items() if len(ngram) == n})


@dataclass(frozen=True)
class _Shares:
    """Shares of n-grams, with the value of 0/0 and the form of the recall."""

    of_nothing: float
    sums: bool

    def ratio(self, part: float, whole: float) -> float:
        return part / whole if whole else self.of_nothing

    def mean(self, part: Ngrams, whole: Ngrams) -> float:
        """The mean over the n-grams of the whole."""
        return self.ratio(sum(count / whole[ngram] for ngram, count in part.items()), len(whole))

    def f_score(self, precision: float, recall: float) -> float:
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def edits(self, source: Ngrams, output: Ngrams, references: Sequence[Ngrams]) -> tuple[float, float, float]:
        """Scores of what is kept, deleted and added."""
        # Counts times the number of references, so that those of all references can be summed.
        wanted = sum(references, Counter[Words]())
        before, after = _times(source, len(references)), _times(output, len(references))
        kept, keepable = before & after, before & wanted
        right = kept & wanted
        recall = self.ratio(right.total(), keepable.total()) if self.sums else self.mean(right, keepable)
        deleted = before - after
        added, addable = output.keys() - source.keys(), wanted.keys() - source.keys()
        rightly_added = len(added & wanted.keys())
        return (
            self.f_score(self.mean(right, kept), recall),
            self.mean(deleted - wanted, deleted),
            self.f_score(self.ratio(rightly_added, len(added)), self.ratio(rightly_added, len(addable))),
        )


@dataclass(frozen=True, kw_only=True)
class SARI(WordMetric):
    """N-grams kept, deleted and added, compared with the source and the references."""

    name: ClassVar[str] = "sari"
    title: ClassVar[str] = "SARI"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("sari", "keep", "delete", "add")
    main: ClassVar[str] = "sari"
    needs_sources: ClassVar[bool] = True
    usual_tokenizer: ClassVar[str] = "13a"
    citation: ClassVar[str] = cite("xu-etal-2016-optimizing")

    variant: str = option(
        "evaluate",
        Choice("evaluate", "released"),
        help="evaluate: as in Hugging Face's evaluate; released: as in the script of the authors",
    )
    order: int = option(4, Int(1), help="longest n-gram")

    def score_texts(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str] = ()
    ) -> SystemResult:
        rows = [
            self._score(source, hypothesis, group)
            for source, hypothesis, group in report_progress(zip(sources, hypotheses, references, strict=True))
        ]
        return SystemResult(dict(zip(self.components, _SCALE * np.array(rows).T, strict=True)))

    def _score(self, source: str, hypothesis: str, references: Iterable[str]) -> tuple[float, ...]:
        split = self.split()
        texts = [count_ngrams(split(text), self.order) for text in (source, hypothesis, *references)]
        shares = _Shares(1.0, sums=True) if self.variant == "evaluate" else _Shares(0.0, sums=False)
        edits = []
        for n in range(1, self.order + 1):
            first, second, *others = (_of_order(counts, n) for counts in texts)
            edits.append(shares.edits(first, second, others))
        keep, delete, add = np.mean(edits, axis=0)
        return (keep + delete + add) / 3, keep, delete, add
