"""ROUGE-WE: ROUGE in which words match if their vectors are similar.

What it computes
----------------

    P = matches / n-grams of the output,   R = matches / n-grams of the reference,   F = 2PR / (P + R)

An n-gram of the output matches the n-gram of the reference that is left and most similar, if its similarity is at
least `threshold`. Equal n-grams have the similarity 1, others the cosine of the sums of their word vectors. N-grams
with an unknown word match equal ones only. The n-grams of the output choose in their order, and a match uses up the
smaller of the two counts. Matches and n-grams of several references are added (`multiref=pool`).

`matches=cosine` counts a match by its similarity, and `compose=product` multiplies the word vectors of an n-gram.

Worked example
--------------

With the vectors a = (1, 0), dog = (0, 1), cat = (.6, .8) and lion = (.5, .5), "a lion" matches one word of "a cat"
as it is, and "lion" matches "cat", because their cosine is .99. "dog" and "cat" have .8, which is enough as well.

    >>> import pathlib, tempfile, nlgauge
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("a 1 0\\ndog 0 1\\ncat 0.6 0.8\\nlion 0.5 0.5\\n")
    >>> nlgauge.score(["a lion", "a tree"], ["a cat", "a cat"], f"rouge-we:vectors={path}").f1.tolist()
    [1.0, 0.5]

Profiles and deviations
-----------------------

There are no profiles. The rules are those of the program that published tables use (part of S3 and of SummEval).
In the paper, an n-gram is the product of its vectors, and similarities are added: `compose=product,matches=cosine`.
The paper's script adds the similarities of all pairs of n-grams, in an order that changes from run to run.

Relations
---------

- Without similar words, it is ROUGE-N without stemming.
- `bertscore` also lets each word choose the most similar one, but several words can choose the same.

Citation
--------

Ng, Abrecht: "Better Summarization Evaluation with Word Embeddings for ROUGE", EMNLP 2015.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.encoders.engines.static import WordVectors, load_word_vectors
from nlgauge.errors import RecipeError
from nlgauge.io.packages import package_version
from nlgauge.metrics.nist import Ngrams
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.foci import WordVectorFile
from nlgauge.metrics.parts.word_metric import Words
from nlgauge.metrics.rouge import Rouge1, alphabet_problem, rouge_words

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RougeWE(TextMetric):
    """Overlap of n-grams whose word vectors are similar."""

    name: ClassVar[str] = "rouge-we"
    title: ClassVar[str] = "ROUGE-WE"
    components: ClassVar[tuple[str, ...]] = Rouge1.components
    derived_fields: ClassVar[tuple[str, ...]] = ("rouge_score",)
    citation: ClassVar[str] = cite("ng-abrecht-2015-better")

    vectors: str = option(
        "none", WordVectorFile("none"), help="word vectors that find similar words (required)", required=True
    )
    order: int = option(1, Int(1), help="words per n-gram")
    threshold: float = option(0.8, Float(above=0, most=1), help="lowest similarity of a match")
    matches: str = option("count", Choice("count", "cosine"), help="what a match adds; cosine: its similarity")
    compose: str = option("sum", Choice("sum", "product"), help="how to join the word vectors of an n-gram")
    multiref: str = option(
        "pool",
        Choice("pool", "mean", "best"),
        help="how to combine several references; pool: add their matches and n-grams",
    )
    measure: str = Rouge1.same_option("measure")

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """ROUGE-WE-2 for pairs of words."""
        return f"{cls.title}-{recipe['order']}"

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The chosen measure."""
        return self.measure

    @property
    def unused(self) -> Mapping[str, str]:
        """The rule for several word vectors if there is one."""
        return dict(super().unused) | ({"compose": "has no effect with order=1"} if self.order == 1 else {})

    @property
    def word_vectors(self) -> WordVectors:
        """The word vectors of the file, which is read once."""
        if self.vectors == "none":
            msg = "rouge-we needs word vectors; set rouge-we:vectors=FILE"
            raise RecipeError(msg)
        return load_word_vectors(self.vectors)

    def versions(self) -> dict[str, str]:
        return {"rouge_score": package_version("rouge-score", "lexical"), "vectors": self.word_vectors.label}

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        return alphabet_problem(self.name, references)

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        table = self.word_vectors
        comparisons = []
        for hypothesis, group in report_progress(zip(hypotheses, references, strict=True)):
            output = self._count(hypothesis)
            counts = []
            for reference in group:
                target = self._count(reference)
                counts.append((self._overlap(output, target, table), output.total(), target.total()))
            if self.multiref == "pool":
                counts = [tuple(map(sum, zip(*counts, strict=True)))]  # type: ignore[list-item]  # three sums
            comparisons.append(Comparison(np.array([_measures(*row) for row in counts])))
        result = self.joined(comparisons, rule=self.multiref)
        return replace(result, best_reference=None) if self.multiref == "pool" else result

    def _count(self, text: str) -> Ngrams:
        words = rouge_words(False).tokenize(text)
        return Counter(tuple(words[i : i + self.order]) for i in range(len(words) - self.order + 1))

    def _overlap(self, output: Ngrams, target: Ngrams, table: WordVectors) -> float:
        """The matches; the n-grams of the output choose in the order of their first occurrence."""
        if not output or not target:
            return 0.0
        rows, columns = list(output), list(target)
        similarities = self._similarities(rows, columns, table)
        left = [target[ngram] for ngram in columns]
        matches = 0.0
        for row, similar in zip(rows, similarities, strict=True):
            best = int(similar.argmax())
            similarity = float(similar[best])
            if similarity < self.threshold:
                continue
            used = min(output[row], left[best])
            left[best] -= used
            if not left[best]:
                similarities[:, best] = -1.0
            matches += used * (similarity if self.matches == "cosine" else 1.0)
        return matches

    def _similarities(self, rows: Sequence[Words], columns: Sequence[Words], table: WordVectors) -> Matrix:
        units = [np.array([self._unit(ngram, table) for ngram in side]) for side in (rows, columns)]
        cosines: Matrix = np.clip(units[0] @ units[1].T, -1.0, 1.0)
        places = {ngram: i for i, ngram in enumerate(columns)}
        for i, ngram in enumerate(rows):
            if ngram in places:
                cosines[i, places[ngram]] = 1.0
        return cosines

    def _unit(self, ngram: Words, table: WordVectors) -> Matrix:
        """The unit vector of an n-gram; zeros if a word has no vector."""
        vectors = [table(word) for word in ngram]
        known = [vector.astype(np.float64) for vector in vectors if vector is not None]
        if len(known) < len(vectors):
            return np.zeros(table.width)
        joined: Matrix = np.prod(known, axis=0) if self.compose == "product" else np.sum(known, axis=0)
        length = float(np.linalg.norm(joined))
        return joined / length if length else joined


def _measures(matches: float, output: int, reference: int) -> tuple[float, float, float]:
    """Precision, recall and F1; 0 if a side has no n-grams."""
    precision, recall = (matches / count if count else 0.0 for count in (output, reference))
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0
