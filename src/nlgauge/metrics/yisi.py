"""YiSi-0 and YiSi-1: precision and recall of n-grams whose words are similar, weighted by idf.

What it computes
----------------

With the weights w of words e_i of the output and f_j of the reference, and a similarity s of two words,

    P = sum_a max_b sum_k w(e_(a+k)) s(e_(a+k), f_(b+k)) / sum_a sum_k w(e_(a+k))        k = 0 to n - 1
    R = the same with output and reference exchanged
    YiSi = P R / (alpha P + (1 - alpha) R)

    YiSi-0    s = 2 |longest common substring| / (|e| + |f|), in characters
    YiSi-1    s = cosine of the vectors of a model, at least 0

w(e) = log(1 + (N + 1) / (df(e) + 1)), where df of the N references contain e. If a text is shorter than n words, n is
the length of the shorter text. With several references, the best counts. The system score is the mean of segments.

Worked example
--------------

With n = 1 and equal weights, "a cat" (rows) and "the cats" (columns) have the similarities

             the   cats
        a    0     .40           P = (.40 + .857) / 2 = .629
        cat  .333  .857          R = (.333 + .857) / 2 = .595        YiSi = P R / (.5 P + .5 R) = .611

    >>> import nlgauge
    >>> score = nlgauge.score(["a cat"], ["the cats"], "yisi0:n=1,idf=none,tokenize=none")
    >>> {name: values.round(3).tolist() for name, values in score.segments.items()}
    {'yisi': [0.611], 'precision': [0.629], 'recall': [0.595]}

Profiles and deviations
-----------------------

There are no profiles. Semantic roles (YiSi-1_srl) are not available. The released program prints the same YiSi-0 for
its ten example sentences, to all six decimals, with `n=3,alpha=0.8,tokenize=none`. Differences from it:

- Characters are code points here; there they are bytes.
- Special tokens of a model do not count. Words that a file of vectors lacks are left out; there, they are similar to
  equal words only.

Relations
---------

- Without idf, YiSi-1 with n = 1 and alpha = .5 is the F of BERTScore without special tokens.
- `yisi1:against=source,idf=both` with an aligned model, such as `muse`, is YiSi-2.

Citation
--------

Lo: "YiSi - a Unified Semantic MT Quality Evaluation and Estimation Metric for Languages with Different Levels of
Available Resources", WMT 2019.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.metric import Comparison, Pair, SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import idf_option
from nlgauge.core.run_options import report_progress
from nlgauge.core.tokens import Selection, TextView
from nlgauge.core.vector_metric import State, VectorMetric, resolve_layer
from nlgauge.encoders.base import Encoder
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_metric import WordMetric, Words, digest_of_references
from nlgauge.vectors.cloud import Alignment, Cloud
from nlgauge.vectors.greedy import greedy_match
from nlgauge.vectors.transport import check_size

_COMPONENTS = ("yisi", "precision", "recall")


def common_substring(word: str, other: str) -> int:
    """Length of the longest common substring.

    >>> common_substring("restless", "nestled")
    5
    """
    best = 0
    for start in range(len(word)):
        while start + best < len(word) and word[start : start + best + 1] in other:
            best += 1
    return best


def lexical_similarity(word: str, other: str) -> float:
    """Similarity of two words by their longest common substring, 0 to 1.

    >>> lexical_similarity("cat", "cats").__round__(3)
    0.857
    """
    return 2 * common_substring(word, other) / (len(word) + len(other))


def ngram_match(similarity: NDArray[np.float64], weights: NDArray[np.float64], n: int) -> float:
    """Weighted mean of the best similarity of each n-gram of the rows with one of the columns."""
    rows, columns = (size - n + 1 for size in similarity.shape)
    weighted = weights[:, None] * similarity
    sums = np.sum([weighted[k : k + rows, k : k + columns] for k in range(n)], axis=0)
    total = np.sum([weights[k : k + rows] for k in range(n)])
    return float(sums.max(axis=1).sum() / total)


def yisi(
    similarity: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64], *, n: int, alpha: float
) -> tuple[float, float, float]:
    """YiSi, precision and recall, from the similarities and weights of the words of output (rows) and reference.

    >>> yisi(np.array([[1.0, 0.0]]), np.ones(1), np.ones(2), n=1, alpha=0.5)
    (0.6666666666666666, 1.0, 0.5)
    """
    n = min(n, *similarity.shape)
    p, r = ngram_match(similarity, x, n), ngram_match(similarity.T, y, n)
    return (p * r / (alpha * p + (1 - alpha) * r) if p and r else 0.0), p, r


def word_weights(groups: Iterable[Sequence[Words]]) -> Callable[[str], float]:
    """The weight of each word by the number of references with it; of an unknown word, that of its lower case."""
    documents = [words for group in groups for words in group]
    frequency = Counter(word for words in documents for word in set(words))

    def weight(word: str) -> float:
        count = frequency.get(word, frequency.get(word.lower(), 0))
        return math.log(1 + (len(documents) + 1) / (count + 1))

    return weight


@dataclass(frozen=True, kw_only=True)
class YiSi0(WordMetric):
    """Precision and recall of n-grams whose words have long common substrings, weighted by idf."""

    name: ClassVar[str] = "yisi0"
    title: ClassVar[str] = "YiSi-0"
    components: ClassVar[tuple[str, ...]] = _COMPONENTS
    main: ClassVar[str] = "yisi"
    citation: ClassVar[str] = cite("lo-2019-yisi")

    n: int = option(3, Int(1), help="words per n-gram")
    alpha: float = option(0.5, Float(0, most=1), help="weight of recall; the rest is that of precision")
    idf: str = option("refs", Choice("refs", "none"), help="weights of words; refs: by their idf in the references")
    case: str = WordMetric.same_option("case", default="mixed")

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # depends on `idf`
        """Whether a pair's score depends on the other references: unless all words weigh the same."""
        return self.idf == "refs"

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        split = self.split()
        groups = [[split(reference) for reference in group] for group in references]
        weight = word_weights(groups) if self.idf == "refs" else lambda word: 1.0
        comparisons = [
            Comparison(np.array([self._compare(split(hypothesis), words, weight) for words in group]))
            for hypothesis, group in report_progress(zip(hypotheses, groups, strict=True))
        ]
        run = {"idf_refs": digest_of_references(groups)} if self.idf == "refs" else {}
        return replace(self.joined(comparisons, rule="best"), run=run)

    def _compare(self, x: Words, y: Words, weight: Callable[[str], float]) -> tuple[float, float, float]:
        if not x or not y:
            return 0.0, 0.0, 0.0
        check_size(len(x), len(y), what="YiSi-0", instead="split the texts into segments")
        rows, columns = ({word: place for place, word in enumerate(dict.fromkeys(words))} for words in (x, y))
        table = np.array([[lexical_similarity(word, other) for other in columns] for word in rows])
        similarity = table[np.ix_([rows[word] for word in x], [columns[word] for word in y])]
        weights = (np.array([weight(word) for word in words]) for words in (x, y))
        return yisi(similarity, *weights, n=self.n, alpha=self.alpha)


@dataclass(frozen=True, kw_only=True)
class YiSi1(VectorMetric[Cloud]):
    """Precision and recall of n-grams whose tokens have similar vectors, weighted by idf."""

    name: ClassVar[str] = "yisi1"
    title: ClassVar[str] = "YiSi-1"
    components: ClassVar[tuple[str, ...]] = _COMPONENTS
    main: ClassVar[str] = "yisi"
    published_idf: ClassVar[str] = "refs"
    citation: ClassVar[str] = YiSi0.citation

    layer: int | None = option(None, Int(0, word="default"), help="model layer; default: tuned per model")
    n: int = option(1, Int(1), help="tokens per n-gram")
    alpha: float = YiSi0.same_option("alpha")
    idf: str = idf_option("refs")
    multiref: str = option("best", Choice("best", "mean"), help="how to combine several references")

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return (resolve_layer(self.layer, encoder),)

    def represent(self, text: TextView, state: State) -> Cloud | None:
        rows = np.flatnonzero(~text.tokens.is_special)
        if not len(rows):
            return None
        # log(1 + (N + 1) / (df + 1)), from idf = log((N + 1) / (df + 1)), which the other metrics use
        weights = np.ones(len(rows)) if text.idf is None else np.logaddexp(0, text.idf.weights[text.tokens.ids[rows]])
        return text.cloud(text.unit(state.layers[0])[rows], Selection(rows, weights, False))

    def compare(self, x: Cloud, y: Cloud, state: State, *, align: bool) -> Pair:
        check_size(len(x), len(y), what="YiSi-1", instead="split the texts into segments")
        cosines = x.points @ y.points.T
        values = yisi(np.maximum(cosines, 0).astype(np.float64), x.weights, y.weights, n=self.n, alpha=self.alpha)
        match = greedy_match(cosines, x.weights, y.weights) if align and self.n == 1 else None
        return Pair(values, Alignment.of(x, y, match) if match is not None else None)
