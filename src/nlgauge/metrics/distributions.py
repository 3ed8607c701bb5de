"""JS and TF*IDF: divergence and cosine of the n-gram counts of a summary and its references.

What it computes
----------------

    JS     = (sum p ln(p / m) + sum q ln(q / m)) / 2,    m = (p + q) / 2         0 to ln 2 = .693, lower is better
    TF*IDF = cos(f idf, g idf),                          idf = ln(N / df)        0 to 1, higher is better

f and g count the n-grams of the summary and of the reference, p and q are their shares. All n-grams have `order`
words: JS-1 and TF*IDF-1 compare words, JS-2 and TF*IDF-2 pairs of words. df of the N references of the corpus contain
an n-gram; df of others is 1. So TF*IDF depends on the corpus. Words are letters a to z and digits in lower case,
stemmed unless `stemmer=no`. Counts of several references are added (`multiref=pool`), or the scores are averaged, or
the best one counts.

Worked example
--------------

"a cat" and "a dog" have p = (1/2, 1/2, 0) and q = (1/2, 0, 1/2), so m = (1/2, 1/4, 1/4) and JS is
(1/2 ln 2 + 1/2 ln 2) / 2.

    >>> import nlgauge
    >>> nlgauge.score(["a cat"], ["a dog"], "js").segments["js"].round(4).tolist()
    [0.3466]

Profiles and deviations
-----------------------

There are no profiles. JS is that of SIMetrix without smoothing. SIMetrix counts idf on a corpus of its own, and an
n-gram that is not in it has df = 1, as here. A text without n-grams gets the worst score.

Relations
---------

- ROUGE counts common n-grams, without regard to their shares.
- SIMetrix compares a summary with the texts that it summarises. Give them as references for that.

Citation
--------

Louis, Nenkova: "Automatically Assessing Machine Summary Content Without a Gold Standard", Computational Linguistics
39(2), 2013.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Int
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.io.packages import package_version
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_metric import Words, digest_of_references, warn_of_zero_idf
from nlgauge.metrics.rouge import alphabet_problem, rouge_words

Ngrams = Counter[Words]


def divergence(first: Ngrams, second: Ngrams) -> float:
    """Jensen-Shannon divergence of the shares of n-grams; ln 2 if a side has none.

    >>> round(divergence(Counter("aab"), Counter("bcc")) / math.log(2), 4)
    0.6667
    """
    totals = first.total(), second.total()
    if 0 in totals:
        return math.log(2)
    terms = []
    for ngram in first | second:
        p, q = first[ngram] / totals[0], second[ngram] / totals[1]
        terms += [share * math.log(2 * share / (p + q)) for share in (p, q) if share]
    return max(math.fsum(terms) / 2, 0.0)


def weighted_cosine(first: Ngrams, second: Ngrams, weight: Callable[[Words], float]) -> float:
    """Cosine of two counts, each times its weight; 0 if a side has only weights of 0.

    >>> round(weighted_cosine(Counter("ab"), Counter("ac"), {"a": 1.0, "b": 2.0, "c": 2.0}.__getitem__), 4)
    0.2
    """
    x, y = ({ngram: count * weight(ngram) for ngram, count in side.items()} for side in (first, second))
    lengths = math.fsum(value**2 for value in x.values()) * math.fsum(value**2 for value in y.values())
    product = math.fsum(value * y[ngram] for ngram, value in x.items() if ngram in y)
    return min(product / math.sqrt(lengths), 1.0) if lengths else 0.0


@dataclass(frozen=True, kw_only=True)
class _Distribution(TextMetric):
    """Comparison of the n-gram counts of two texts."""

    derived_fields: ClassVar[tuple[str, ...]] = ("stemmer_engine", "rouge_score")
    citation: ClassVar[str] = cite("louis-nenkova-2013-automatically")

    order: int = option(1, Int(1), help="words per n-gram")
    stemmer: str = option("yes", Choice("yes", "no"), help="whether to stem words (Porter stemmer)")
    multiref: str = option(
        "pool", Choice("pool", "mean", "best"), help="how to combine several references; pool: add their counts"
    )

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """JS-2 for pairs of words."""
        return f"{cls.title}-{recipe['order']}"

    def versions(self) -> dict[str, str]:
        stemmer = {"stemmer_engine": f"nltk-{package_version('nltk', 'lexical')}"} if self.stemmer == "yes" else {}
        return stemmer | {"rouge_score": package_version("rouge-score", "lexical")}

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        return alphabet_problem(self.name, references)

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        groups = [[self._count(text) for text in group] for group in references]
        frequency = Counter(ngram for group in groups for counts in group for ngram in counts)
        documents = sum(map(len, groups))

        def idf(ngram: Words) -> float:
            return math.log(documents / max(frequency[ngram], 1))

        comparisons = []
        for hypothesis, group in report_progress(zip(hypotheses, groups, strict=True)):
            counts = self._count(hypothesis)
            others = [sum(group, Ngrams())] if self.multiref == "pool" else group
            rows = [[self.compare(counts, other, idf)] for other in others]
            comparisons.append(Comparison(np.array(rows)))
        result = self.joined(comparisons, rule=self.multiref)
        return replace(result, best_reference=None) if self.multiref == "pool" else result

    @abstractmethod
    def compare(self, output: Ngrams, reference: Ngrams, idf: Callable[[Words], float]) -> float:
        """The score of two counts."""

    def _count(self, text: str) -> Ngrams:
        words = self._words(text)
        return Counter(words[i : i + self.order] for i in range(len(words) - self.order + 1))

    def _words(self, text: str) -> Words:
        return tuple(rouge_words(self.stemmer == "yes").tokenize(text))


class JS(_Distribution):
    """Jensen-Shannon divergence of the n-grams of two texts; a distance."""

    name: ClassVar[str] = "js"
    title: ClassVar[str] = "JS"
    components: ClassVar[tuple[str, ...]] = ("js",)
    main: ClassVar[str] = "js"
    higher_is_better: ClassVar[bool] = False

    def describe_empty(self) -> str:
        return "scored ln 2, the worst score"

    def compare(self, output: Ngrams, reference: Ngrams, idf: Callable[[Words], float]) -> float:
        return divergence(output, reference)


class TFIDF(_Distribution):
    """Cosine of the n-gram counts of two texts; n-grams of few references weigh more."""

    name: ClassVar[str] = "tfidf"
    title: ClassVar[str] = "TF*IDF"
    components: ClassVar[tuple[str, ...]] = ("tfidf",)
    main: ClassVar[str] = "tfidf"
    whole_corpus: ClassVar[bool] = True

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        warn_of_zero_idf(self.name, sum(map(len, references)), "reference")
        result = super().score_texts(hypotheses, references)
        digest = digest_of_references([[self._words(text) for text in group] for group in references])
        return replace(result, run={"idf_refs": digest})

    def compare(self, output: Ngrams, reference: Ngrams, idf: Callable[[Words], float]) -> float:
        return weighted_cosine(output, reference, idf)
