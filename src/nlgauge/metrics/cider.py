"""CIDEr: cosine of the n-grams of an output and its references, weighted by idf over the references of the corpus.

What it computes
----------------

    CIDEr   = 10 mean over n and references of cos(f_n idf, g_n idf)                       n = 1 to 4 words
    CIDEr-D = 10 mean of exp(-d^2 / 2 sigma^2) sum min(f, g) g idf^2 / (|f idf| |g idf|)

    idf = ln(N / df)

f and g count the n-grams of output and reference. df of the N segments have the n-gram in a reference; df of others
is 1. d is the difference of their lengths. Words are lower-case and without punctuation. The score of a system is the
mean over segments.

Worked example
--------------

Two segments with the references "a cat" and "a dog": idf of "a" is ln(2/2) = 0, of "cat" ln 2. The output "a cat sat"
of the first has the vectors (0, ln 2, ln 2) for words and (ln 2, ln 2) for pairs, so both cosines are 1/sqrt 2, and
those of longer n-grams 0. Of 10 (2/sqrt 2)/4 = 3.536, a penalty of exp(-1/72) leaves 3.487.

    >>> import nlgauge
    >>> nlgauge.score(["a cat sat", "rain"], ["a cat", "a dog"], "cider").segments["cider"].round(3).tolist()
    [3.487, 0.0]

Profiles and deviations
-----------------------

There are no profiles. The default is CIDEr-D as in pycocoevalcap, whose scores captioning papers report as CIDEr. The
paper's CIDEr is `variant=plain,stemmer=yes`. pycocoevalcap splits words with Stanford's tokenizer (Java). Here they
are those of Moses; `tokenize=none` takes the words of a text as they are.

Relations
---------

- `tfidf` is the cosine of single words, without a penalty. Its idf counts references, not segments.

Citation
--------

Vedantam, Zitnick, Parikh: "CIDEr: Consensus-based Image Description Evaluation", CVPR 2015.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.metric import Comparison, SystemResult
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.metrics.nist import Ngrams, count_ngrams
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_matches import porter_stemmer, stemmer_version
from nlgauge.metrics.parts.word_metric import WordMetric, Words, digest_of_references, warn_of_zero_idf
from nlgauge.text.tokenizer import is_punctuation

_SCALE = 10.0


def segment_idf(groups: Iterable[Iterable[Ngrams]]) -> Callable[[Words], float]:
    """The function from an n-gram to its idf over segments.

    >>> idf = segment_idf([[Counter("ab"), Counter("a")], [Counter("ac")]])
    >>> idf("a"), round(idf("b"), 3), round(idf("x"), 3)
    (0.0, 0.693, 0.693)
    """
    frequency: Ngrams = Counter()
    segments = 0
    for group in groups:
        frequency.update({ngram for counts in group for ngram in counts})
        segments += 1
    return lambda ngram: math.log(segments / max(frequency[ngram], 1))


@dataclass(frozen=True)
class _Vector:
    """Counts of n-grams times idf, with the length of the vector of each order."""

    counts: Ngrams
    weights: Mapping[Words, float]
    norms: NDArray[np.float64]
    words: int

    @classmethod
    def of(cls, words: Words, order: int, idf: Callable[[Words], float]) -> _Vector:
        counts = count_ngrams(words, order)
        weights = {ngram: idf(ngram) for ngram in counts}
        squares = np.zeros(order)
        for ngram, count in counts.items():
            squares[len(ngram) - 1] += (count * weights[ngram]) ** 2
        return cls(counts, weights, np.sqrt(squares), len(words))


@dataclass(frozen=True, kw_only=True)
class CIDEr(WordMetric):
    """Cosine of n-grams weighted by idf, for captions with several references."""

    name: ClassVar[str] = "cider"
    title: ClassVar[str] = "CIDEr"
    table_decimals: ClassVar[int] = 3
    components: ClassVar[tuple[str, ...]] = ("cider",)
    main: ClassVar[str] = "cider"
    whole_corpus: ClassVar[bool] = True
    derived_fields: ClassVar[tuple[str, ...]] = (*WordMetric.derived_fields, "stemmer_engine")
    citation: ClassVar[str] = cite("vedantam-etal-2015-cider")

    variant: str = option("d", Choice("d", "plain"), help="d: CIDEr-D, with clipped counts and a penalty for length")
    order: int = option(4, Int(1), help="longest n-gram")
    sigma: float = option(6.0, Float(above=0), help="difference of lengths at which the penalty is .61")
    stemmer: str = option("no", Choice("yes", "no"), help="whether to stem words (Porter stemmer)")
    punctuation: str = option("drop", Choice("drop", "keep"), help="punctuation marks; drop: remove them")

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """CIDEr-D or CIDEr."""
        return cls.title if recipe.get("variant") == "plain" else f"{cls.title}-D"

    @property
    def unused(self) -> Mapping[str, str]:
        """The width of a penalty that is not applied."""
        reason = "has no effect with variant=plain"
        return dict(super().unused) | ({"sigma": reason} if self.variant == "plain" else {})

    def versions(self) -> dict[str, str]:
        return super().versions() | (stemmer_version() if self.stemmer == "yes" else {})

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        warn_of_zero_idf(self.name, len(references), "segment")
        groups = [[self._words(text) for text in group] for group in references]
        idf = segment_idf([count_ngrams(words, self.order) for words in group] for group in groups)
        comparisons = []
        for hypothesis, group in report_progress(zip(hypotheses, groups, strict=True)):
            output = _Vector.of(self._words(hypothesis), self.order, idf)
            rows = [[self._compare(output, _Vector.of(words, self.order, idf))] for words in group]
            comparisons.append(Comparison(np.array(rows)))
        result = self.joined(comparisons)
        return SystemResult(result.segments, result.best_reference, run={"idf_refs": digest_of_references(groups)})

    def _words(self, text: str) -> Words:
        words = self.split()(text)
        if self.punctuation == "drop":
            words = tuple(word for word in words if not all(map(is_punctuation, word)))
        return tuple(map(porter_stemmer(), words)) if self.stemmer == "yes" else words

    def _compare(self, output: _Vector, reference: _Vector) -> float:
        products = np.zeros(self.order)
        clip = self.variant == "d"
        for ngram, count in output.counts.items():
            other = reference.counts.get(ngram)
            if other:
                smaller = min(count, other) if clip else count
                products[len(ngram) - 1] += smaller * other * output.weights[ngram] ** 2
        norms = output.norms * reference.norms
        cosines = np.divide(products, norms, out=np.zeros(self.order), where=norms > 0)
        penalty = math.exp(-((output.words - reference.words) ** 2) / (2 * self.sigma**2)) if clip else 1.0
        return _SCALE * penalty * float(cosines.mean())
