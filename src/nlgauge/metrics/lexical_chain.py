"""Lexical chains (Gong, Zhang, Zhou 2015), as released with DiscoScore, and the sentinel beside DS-Focus.

    lexical-chain     sum over words w of |H_w and R_w| / |R_w|

H_w and R_w are the sentences of hypothesis and reference that w stands in; a word has a chain where it has several.
Of several references the best counts. The sum is not divided by the number of chains: longer texts can have more.

    focus-frequency   (1/N) sum over common nouns u of (h_u - r_u)^2

h_u and r_u are the mentions of u, N the number of nouns of the hypothesis. It is DS-Focus without an encoder (every
token the same unit vector): what DS-Focus gets from counting nouns. Lower is better. No common noun gives 0, the best
value, as in the released DS-Focus (D6.4). Of several references the mean counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.annotate import AnnotatedText
from nlgauge.engine.progress import ticked
from nlgauge.metrics.parts.annotated_texts import CasedTextMetric
from nlgauge.metrics.parts.cohesion import Foci, foci_of, frequency_distance
from nlgauge.metrics.parts.mentions import MENTIONS, find_mentions
from nlgauge.recipes.kinds import Choice
from nlgauge.recipes.options import option
from nlgauge.recipes.results import SystemResult

__all__ = ["FocusFrequency", "LexicalChain"]


@dataclass(frozen=True, kw_only=True)
class _SharedNouns(CasedTextMetric):
    """Nouns of a hypothesis beside those of its references."""

    multiref: str = option("mean", Choice("mean", "best"), help="rule for several references", short="mr")

    def foci(self, text: AnnotatedText) -> Foci:
        """The nouns of a text, with the sentences of their mentions."""
        return foci_of(text)

    @abstractmethod
    def compared(self, hypothesis: Foci, reference: Foci) -> float:
        """The value of a pair."""

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        texts = list(dict.fromkeys([*hypotheses, *(text for group in references for text in group)]))
        found = {text: self.foci(one) for text, one in zip(texts, self.annotated(texts), strict=True)}
        values, best = [], []
        for hypothesis, group in ticked(zip(hypotheses, references, strict=True)):
            row = np.array([self.compared(found[hypothesis], found[reference]) for reference in group])
            best.append(int(row.argmax() if self.higher_is_better else row.argmin()))
            values.append(float(row[best[-1]] if self.multiref == "best" else row.mean()))
        no_noun = tuple(at for at, text in enumerate(hypotheses) if not found[text])
        return SystemResult({self.main: np.array(values)}, np.array(best, dtype=np.int64), no_noun=no_noun)


@dataclass(frozen=True, kw_only=True)
class LexicalChain(_SharedNouns):
    """How far words that go through a reference go through the same sentences of the hypothesis."""

    name: ClassVar[str] = "lexical-chain"
    components: ClassVar[tuple[str, ...]] = ("overlap",)
    main: ClassVar[str] = "overlap"
    citation: ClassVar[str] = """\
@inproceedings{gong-etal-2015-document,
  title     = {Document-Level Machine Translation Evaluation with Gist Consistency and Text Cohesion},
  author    = {Gong, Zhengxian and Zhang, Min and Zhou, Guodong},
  booktitle = {Proceedings of the Second Workshop on Discourse in Machine Translation},
  year      = {2015},
  url       = {https://aclanthology.org/W15-2504}
}"""

    multiref: str = option("best", Choice("mean", "best"), help="rule for several references", short="mr")

    def compared(self, hypothesis: Foci, reference: Foci) -> float:
        chains = [(set(hypothesis[word]), set(reference[word])) for word in hypothesis if word in reference]
        return sum(len(ours & theirs) / len(theirs) for ours, theirs in chains if min(len(ours), len(theirs)) > 1)


@dataclass(frozen=True, kw_only=True)
class FocusFrequency(_SharedNouns):
    """DS-Focus without an encoder: how far counts of common nouns differ. A sentinel, not a metric to use."""

    name: ClassVar[str] = "focus-frequency"
    components: ClassVar[tuple[str, ...]] = ("distance",)
    main: ClassVar[str] = "distance"
    higher_is_better: ClassVar[bool] = False

    mentions: str = option(
        "surface",
        Choice(*MENTIONS),
        help="what mentions a noun: its lemma, or only a word spelt as the lemma, as in the released DS-Focus (D6.2)",
        short="mn",
    )

    def foci(self, text: AnnotatedText) -> Foci:
        found: dict[str, list[int]] = {}
        for one in find_mentions(text, self.mentions):
            found.setdefault(one.lemma, []).append(one.sentence)
        return found

    def compared(self, hypothesis: Foci, reference: Foci) -> float:
        return frequency_distance(hypothesis, reference)
