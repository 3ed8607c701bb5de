"""CharacTER: character edits after shifts of words that make an output the reference, per character of the output.

What it computes
----------------

    CharacTER = 100 (edits of characters + cost of shifts) / characters of the output        lower is better

Runs of output words are shifted to where similar words are in the reference. Two words are similar if the edit
distance of their characters is at most `similar` of the longer one. A shift costs the mean length of its words. The
shift that lowers the sum most is made first, until no shift lowers it. Then the edits are the Levenshtein distance of
the characters, with spaces.

The score of a system is the mean over segments. Of several references, the lowest counts. An empty output scores 100.
Two texts of more than 500 words are refused, because the search takes minutes.

Worked example
--------------

"sat a cat" becomes "a cat sat" by one shift of "a cat", whose words have 2 characters on average, out of 9.

    >>> import nlgauge
    >>> nlgauge.score(["sat a cat"], ["a cat sat"], "character").segments["character"].round(1).tolist()
    [22.2]

Profiles and deviations
-----------------------

There are no profiles. This is a reading of the paper's description, and `similar` is a choice of this implementation.
So scores can differ from those of the released program, mostly where many words are shifted.

Relations
---------

- TER counts words and per word of the reference.

Citation
--------

Wang, Peter, Rosendahl, Ney: "CharacTer: Translation Edit Rate on Character Level", WMT 2016.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Float
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.errors import TooLongError
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.edits import levenshtein, levenshtein_of_all

Words = tuple[str, ...]

#: Most pairs of words; time grows with about the fourth power of the words.
_MOST_PAIRS = 500 * 500


@lru_cache(maxsize=1 << 16)
def are_similar(first: str, second: str, share: float) -> bool:
    """Whether the edit distance of two words is at most a share of the longer one.

    >>> are_similar("matches", "matched", 0.2), are_similar("cat", "mat", 0.2)
    (True, False)
    """
    most = share * max(len(first), len(second))
    if first == second or most < 1:
        return first == second
    return abs(len(first) - len(second)) <= most and levenshtein(first, second) <= most


def shifts(output: Words, similar: Mapping[str, Sequence[bool]]) -> Iterator[tuple[Words, float]]:
    """The outputs after one shift of a run of words that are similar to words of the reference, with its cost.

    `similar` says for each word of the output to which words of the reference it is similar.

    >>> list(shifts(("b", "a"), {"a": [True, False], "b": [False, True]}))
    [(('a', 'b'), 1.0), (('a', 'b'), 1.0)]
    """
    rows = [similar[word] for word in output]
    for i, row in enumerate(rows):
        for j, matches in enumerate(row):
            # A run starts where the words before it are not similar, and does not stay where it is.
            if i == j or not matches or (i > 0 and j > 0 and rows[i - 1][j - 1]):
                continue
            length = 1
            while i + length < len(output) and j + length < len(row) and rows[i + length][j + length]:
                length += 1
            run, rest = output[i : i + length], output[:i] + output[i + length :]
            yield rest[:j] + run + rest[j:], sum(map(len, run)) / length


def character_edits(output: Words, reference: Words, share: float) -> float:
    """Edits of characters and costs of shifts from an output to the reference.

    >>> character_edits(("sat", "a", "cat"), ("a", "cat", "sat"), 0.2)
    2.0
    """
    target = " ".join(reference)
    text = " ".join(output)
    similar = {word: [are_similar(word, other, share) for other in reference] for word in set(output)}
    # No order of the words has fewer edits than the letters without regard to order.
    least = max(len(text), len(target)) - sum((Counter(text) & Counter(target)).values())
    edits, spent = levenshtein(text, target), 0.0
    while True:
        # A shift has to lower the sum of edits and its own cost.
        tried = [(shifted, cost) for shifted, cost in shifts(output, similar) if least + cost < edits]
        texts = list(dict.fromkeys(" ".join(shifted) for shifted, _ in tried))
        edits_of = dict(zip(texts, levenshtein_of_all(texts, target), strict=True))
        totals = [edits_of[" ".join(shifted)] + cost for shifted, cost in tried]
        if min(totals, default=edits) >= edits:
            return edits + spent
        output, cost = tried[totals.index(min(totals))]
        edits, spent = edits_of[" ".join(output)], spent + cost


@dataclass(frozen=True, kw_only=True)
class CharacTER(TextMetric):
    """Character edits after shifts of words, per character of the output."""

    name: ClassVar[str] = "character"
    title: ClassVar[str] = "CharacTER"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("character",)
    main: ClassVar[str] = "character"
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = cite("wang-etal-2016-character")

    case: str = option("mixed", Choice("mixed", "lower"), help="lower: ignore case")
    similar: float = option(
        0.2,
        Float(0, 1),
        help="edits per character, at most, between words that a shift may put in place of each other",
    )

    def describe_empty(self) -> str:
        return "scored 100"

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        comparisons = []
        for number, (hypothesis, group) in enumerate(
            report_progress(zip(hypotheses, references, strict=True)), start=1
        ):
            rates = [[self._rate(hypothesis, reference, f"segment {number}")] for reference in group]
            comparisons.append(Comparison(np.array(rates)))
        return self.joined(comparisons, rule="best")

    def _rate(self, hypothesis: str, reference: str, where: str) -> float:
        output, target = (
            tuple((text.lower() if self.case == "lower" else text).split()) for text in (hypothesis, reference)
        )
        if not output:
            return 100.0 if target else 0.0
        if len(output) * len(target) > _MOST_PAIRS:
            msg = (
                f"{where} of {self.name} has {len(output)} and {len(target)} words, whose search takes minutes; "
                "split the texts into sentences, or use the metric 'eed'"
            )
            raise TooLongError(msg)
        return 100 * character_edits(output, target, self.similar) / len(" ".join(output))
