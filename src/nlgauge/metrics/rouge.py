"""ROUGE-1, -2, -L, -W and -SU: overlap of words, of pairs of words, or the longest common subsequence.

What it computes
----------------

    P = overlap / units of the hypothesis,   R = overlap / units of the reference,   F = 2PR / (P + R)

A unit is a word (`rouge1`), a pair of adjacent words (`rouge2`) or a word in its order (`rougel`, where the overlap
is the length of the longest common subsequence). `rougesu` counts words and pairs of words with at most `gap` words
between them. Words are stemmed unless `stemmer=no`. Several references are averaged, or the best counts (`multiref`).

`rougew` weights runs of adjacent words: a run of k words counts k^w (w: `weight`). WLCS is the largest sum of a
common subsequence, up to the greedy choice of its table (Lin 2004, section 4), and h and r are the numbers of words:

    P = (WLCS / h^w)^(1/w),   R = (WLCS / r^w)^(1/w)

Worked example
--------------

"a cat sat here" and "a dog sat right here" share 3 words, in the same order: P = 3/4, R = 3/5. They share no pair.

    >>> import nlgauge
    >>> metrics = ["rouge1", "rouge2", "rougel"]
    >>> scores = nlgauge.score_systems({"": ["a cat sat here"]}, ["a dog sat right here"], metrics)
    >>> [score.f1.round(4).tolist() for score in scores]
    [[0.6667], [0.0], [0.6667]]

For `rougew`, the runs "a", "sat" and "here" count 1 each: P = (3 / 4^1.2)^(1/1.2) = .6245. For `rougesu`, the output
has 4 words and 6 pairs. The reference, which has 5 words and 10 pairs, has 3 of each: P = 6/10, R = 6/15.

    >>> scores = nlgauge.score_systems({"": ["a cat sat here"]}, ["a dog sat right here"], ["rougew", "rougesu"])
    >>> [score.precision.round(4).tolist() for score in scores]
    [[0.6245], [0.6]]

Profiles and deviations
-----------------------

There are no profiles. The package rouge-score tokenises, stems and counts; its version is in the signature. The
longest common subsequence is computed here, with the same result, because the package needs a table of all pairs of
words. `rougew` and `rougesu` follow Lin 2004. The script ROUGE-1.5.5 differs: it weights the lengths of ROUGE-W twice
and leaves out the last word of ROUGE-SU.

Relations
---------

- On SummEval (Kendall's tau, average over aspects, systems) ROUGE-L has .64 as F and .19 as recall, a larger
  difference than between most metrics. BERTScore has .33 with MiniLM and .48 with mpnet. See docs/findings.

Citation
--------

Lin: "ROUGE: A Package for Automatic Evaluation of Summaries", Text Summarization Branches Out 2004.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.io.packages import package_version, require
from nlgauge.metrics.parts import cite
from nlgauge.text.languages import foreign_script

#: From a reference and a hypothesis to precision, recall and F1.
PairFunction = Callable[[str, str], tuple[float, float, float]]


#: Number of references whose script is checked.
_MOST_TEXTS = 1000


def alphabet_problem(metric: str, references: Sequence[Sequence[str]]) -> str:
    """A warning if most letters of the references are not Latin: rouge-score's words have the letters a to z.

    >>> alphabet_problem("rouge1", [["Мы идём."]])[:56]
    'references are in Cyrillic script, but rouge1 reads only'
    """
    script = foreign_script("\n".join(text for group in references[:_MOST_TEXTS] for text in group), {"Latin"})
    if not script:
        return ""
    return (
        f"references are in {script} script, but {metric} reads only the letters a to z and digits, so its scores "
        "are meaningless; use chrf or bertscore"
    )


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


def weighted_subsequence(first: Sequence[str], second: Sequence[str], weight: float) -> float:
    """Weight of the longest common subsequence in which a run of k adjacent words counts k ** weight.

    >>> weighted_subsequence("abcdefg", "abcdhik", 2), weighted_subsequence("abcdefg", "ahbkcid", 2)
    (16.0, 4.0)
    """
    gains = [(k + 1) ** weight - k**weight for k in range(min(len(first), len(second)))]
    row, runs = [0.0] * (len(second) + 1), [0] * (len(second) + 1)
    for word in first:
        above, above_runs = row, runs
        row, runs = [0.0], [0]
        for j, other in enumerate(second):
            if word == other:
                row.append(above[j] + gains[above_runs[j]])
                runs.append(above_runs[j] + 1)
            else:
                row.append(max(above[j + 1], row[j]))
                runs.append(0)
    return row[-1]


def skip_pairs(words: Sequence[str], gap: int) -> Counter[tuple[str, ...]]:
    """Count words and pairs of words in their order, with at most `gap` words between them.

    >>> sorted(skip_pairs("abc", 0))
    [('a',), ('a', 'b'), ('b',), ('b', 'c'), ('c',)]
    """
    units = Counter[tuple[str, ...]]((word,) for word in words)
    units.update((word, other) for i, word in enumerate(words) for other in words[i + 1 : i + gap + 2])
    return units


@dataclass(frozen=True, kw_only=True)
class _Rouge(TextMetric):
    """Overlap of n-grams or of the longest common subsequence; `multiref` averages references or takes the best."""

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

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        return alphabet_problem(self.name, references)

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        words = rouge_words(self.stemmer == "yes")
        compare = self.pair_function(words)
        comparisons = [
            Comparison(np.array([compare(reference, hypothesis) for reference in group]))
            for hypothesis, group in report_progress(zip(hypotheses, references, strict=True))
        ]
        return self.joined(comparisons, rule=self.multiref)

    def pair_function(self, words: RougeWords) -> PairFunction:
        """The function from a reference and a hypothesis to precision, recall and F1."""
        f_measure = require("rouge_score.scoring", "lexical").fmeasure

        def compare(reference: str, hypothesis: str) -> tuple[float, float, float]:
            target, output = words.tokenize(reference), words.tokenize(hypothesis)
            if not target or not output:
                return 0.0, 0.0, 0.0
            precision, recall = self.overlap(target, output)
            return precision, recall, f_measure(precision, recall)

        return compare

    def overlap(self, reference: Sequence[str], output: Sequence[str]) -> tuple[float, float]:
        """Precision and recall of two texts that have words."""
        raise NotImplementedError

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


def _ngram_function(kind: str, words: RougeWords) -> PairFunction:
    """The function of rouge-score for n-grams of words."""
    scorer = require("rouge_score.rouge_scorer", "lexical").RougeScorer([kind], tokenizer=words)

    def compare(reference: str, hypothesis: str) -> tuple[float, float, float]:
        score = scorer.score(reference, hypothesis)[kind]
        return score.precision, score.recall, score.fmeasure

    return compare


class Rouge1(_Rouge):
    """ROUGE-1: overlap of words."""

    name: ClassVar[str] = "rouge1"
    title: ClassVar[str] = "ROUGE-1"

    def pair_function(self, words: RougeWords) -> PairFunction:
        return _ngram_function("rouge1", words)


class Rouge2(_Rouge):
    """ROUGE-2: overlap of word pairs."""

    name: ClassVar[str] = "rouge2"
    title: ClassVar[str] = "ROUGE-2"

    def pair_function(self, words: RougeWords) -> PairFunction:
        return _ngram_function("rouge2", words)


class RougeL(_Rouge):
    """ROUGE-L: longest common subsequence of words."""

    name: ClassVar[str] = "rougel"
    title: ClassVar[str] = "ROUGE-L"

    def overlap(self, reference: Sequence[str], output: Sequence[str]) -> tuple[float, float]:
        """As in rouge-score, but without its table, which takes quadratic time and memory."""
        length = common_subsequence(reference, output)
        return length / len(output), length / len(reference)


@dataclass(frozen=True, kw_only=True)
class RougeW(_Rouge):
    """ROUGE-W: longest common subsequence, in which adjacent words count more."""

    name: ClassVar[str] = "rougew"
    title: ClassVar[str] = "ROUGE-W"

    weight: float = option(1.2, Float(1), help="exponent of the length of a run of adjacent words")

    def overlap(self, reference: Sequence[str], output: Sequence[str]) -> tuple[float, float]:
        total = weighted_subsequence(reference, output, self.weight)
        precision, recall = ((total / len(side) ** self.weight) ** (1 / self.weight) for side in (output, reference))
        return precision, recall


@dataclass(frozen=True, kw_only=True)
class RougeSU(_Rouge):
    """ROUGE-SU: overlap of words and of pairs of words with words between them."""

    name: ClassVar[str] = "rougesu"
    title: ClassVar[str] = "ROUGE-SU"

    gap: int = option(4, Int(0), help="number of words that can be between the words of a pair")

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """ROUGE-SU4."""
        return f"{cls.title}{recipe.get('gap', '')}"

    def overlap(self, reference: Sequence[str], output: Sequence[str]) -> tuple[float, float]:
        target, units = skip_pairs(reference, self.gap), skip_pairs(output, self.gap)
        common = (target & units).total()
        return common / units.total(), common / target.total()
