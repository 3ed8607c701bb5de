"""ROUGE-1, ROUGE-2 and ROUGE-L: overlap of words, of pairs of words, or the longest common subsequence.

What it computes
----------------

    P = overlap / units of the hypothesis,   R = overlap / units of the reference,   F = 2PR / (P + R)

A unit is a word (`rouge1`), a pair of adjacent words (`rouge2`) or a word in its order (`rougel`, where the overlap
is the length of the longest common subsequence). Words are stemmed unless `stemmer=no`. Several references are
averaged, or the best counts (`multiref`).

Worked example
--------------

"a cat sat here" and "a dog sat right here" share 3 words, in the same order: P = 3/4, R = 3/5. They share no pair.

    >>> import nlgauge
    >>> metrics = ["rouge1", "rouge2", "rougel"]
    >>> scores = nlgauge.score_systems({"": ["a cat sat here"]}, ["a dog sat right here"], metrics)
    >>> [score.f1.round(4).tolist() for score in scores]
    [[0.6667], [0.0], [0.6667]]

Profiles and deviations
-----------------------

There are no profiles. The package rouge-score tokenises, stems and counts; its version is in the signature. The
longest common subsequence is computed here, with the same result, because the package needs a table of all pairs of
words.

Relations
---------

- On SummEval (Kendall's tau, average over aspects, systems) ROUGE-L has .64 as F and .19 as recall, a larger
  difference than between most metrics. BERTScore has .33 with MiniLM and .48 with mpnet. See docs/findings.

Citation
--------

Lin: "ROUGE: A Package for Automatic Evaluation of Summaries", Text Summarization Branches Out 2004.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Choice
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.io.packages import package_version, require
from nlgauge.metrics.parts import cite


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of words (Hyyrö 2004, "Bit-parallel LCS-length computation").

    Neighbours in a row of the table differ by 0 or 1, so a row fits in an integer with one bit per word of `first`.
    Two texts of 50,000 words take seconds; a table of lists would take 20 GB.

    >>> common_subsequence("the cat sat here".split(), "the dog sat there here".split())
    3
    """
    shared = set(second)
    positions: defaultdict[str, int] = defaultdict(int)
    for index, word in enumerate(first):
        if word in shared:
            positions[word] |= 1 << index
    mask = (1 << len(first)) - 1
    row = mask  # a bit is 0 where the table rises by 1
    for word in second:
        rises = row & positions.get(word, 0)
        row = ((row + rises) | (row - rises)) & mask
    return len(first) - bin(row).count("1")


@dataclass(frozen=True, kw_only=True)
class _Rouge(TextMetric):
    """Overlap of n-grams or of the longest common subsequence; `multiref` averages references or takes the best."""

    kind: ClassVar[str]
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    derived_fields: ClassVar[tuple[str, ...]] = ("stemmer_engine", "rouge_score")
    citation: ClassVar[str] = cite("lin-2004-rouge")

    stemmer: str = option("yes", Choice("yes", "no"), help="whether to stem words (Porter stemmer)")
    multiref: str = option("mean", Choice("mean", "best"), help="how to combine several references")
    measure: str = option("f1", Choice("f1", "recall", "precision"), help="component reported as the score")

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The chosen measure."""
        return self.measure

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        words = rouge_words(self.stemmer == "yes")
        compare = self.pair_function(words)
        comparisons = [
            Comparison(np.array([compare(reference, hypothesis) for reference in group]))
            for hypothesis, group in report_progress(zip(hypotheses, references, strict=True))
        ]
        return self.joined(comparisons, rule=self.multiref)

    def pair_function(self, words: RougeWords) -> Callable[[str, str], tuple[float, float, float]]:
        """The function from a reference and a hypothesis to precision, recall and F1."""
        scorer = require("rouge_score.rouge_scorer", "lexical").RougeScorer([self.kind], tokenizer=words)

        def compare(reference: str, hypothesis: str) -> tuple[float, float, float]:
            score = scorer.score(reference, hypothesis)[self.kind]
            return score.precision, score.recall, score.fmeasure

        return compare

    def versions(self) -> dict[str, str]:
        stemmer = {"stemmer_engine": f"nltk-{package_version('nltk', 'lexical')}"} if self.stemmer == "yes" else {}
        return stemmer | {"rouge_score": package_version("rouge-score", "lexical")}


class RougeWords:
    """The tokenizer of rouge-score; each text is tokenised once, however many pairs it is in."""

    def __init__(self, stem: bool) -> None:
        tokenizer = require("rouge_score.tokenizers", "lexical").DefaultTokenizer(stem)
        self.tokenize = lru_cache(maxsize=4096)(tokenizer.tokenize)


@cache
def rouge_words(stem: bool) -> RougeWords:
    """One tokenizer for all systems, because they share their references."""
    return RougeWords(stem)


class Rouge1(_Rouge):
    """ROUGE-1: overlap of words."""

    name: ClassVar[str] = "rouge1"
    title: ClassVar[str] = "ROUGE-1"
    kind: ClassVar[str] = "rouge1"


class Rouge2(_Rouge):
    """ROUGE-2: overlap of word pairs."""

    name: ClassVar[str] = "rouge2"
    title: ClassVar[str] = "ROUGE-2"
    kind: ClassVar[str] = "rouge2"


class RougeL(_Rouge):
    """ROUGE-L: longest common subsequence of words."""

    name: ClassVar[str] = "rougel"
    title: ClassVar[str] = "ROUGE-L"
    kind: ClassVar[str] = "rougeL"

    def pair_function(self, words: RougeWords) -> Callable[[str, str], tuple[float, float, float]]:
        """As in rouge-score, but without its table, which takes quadratic time and memory."""
        f_measure = require("rouge_score.scoring", "lexical").fmeasure

        def compare(reference: str, hypothesis: str) -> tuple[float, float, float]:
            target, output = words.tokenize(reference), words.tokenize(hypothesis)
            if not target or not output:
                return 0.0, 0.0, 0.0
            length = common_subsequence(target, output)
            precision, recall = length / len(output), length / len(target)
            return precision, recall, f_measure(precision, recall)

        return compare
