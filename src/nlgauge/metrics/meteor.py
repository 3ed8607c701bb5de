"""METEOR: words that match by spelling, stem or meaning, with recall weighted more, and a penalty for word order.

What it computes
----------------

    METEOR = F (1 - gamma (c / m)^beta),    F = P R / (alpha P + (1 - alpha) R),    P = m / h,  R = m / r

m of the h words of the output match words of the reference, which has r. Equal words match first, then words of the
same stem, then synonyms of WordNet. A chunk is a run of matches that are adjacent in both texts; c is the number of
chunks. Of several references, the best counts (`multiref`). The score of a system is the mean over segments.

Worked example
--------------

"the cat sat" and "on the mat sat the cat" have m = 3 matches in 2 chunks, so P = 1, R = 1/2 and
F = .5 / (.9 + .05) = .526. The penalty is .5 (2/3)^3 = .148.

    >>> import nlgauge
    >>> score = nlgauge.score(["the cat sat"], ["on the mat sat the cat"], "meteor:synonyms=none")
    >>> score.segments["meteor"].round(3).tolist()
    [0.448]

Profiles and deviations
-----------------------

There are no profiles. Defaults are those of NLTK, whose scores these are to the last digit. NLTK looks up synonyms of
stems ("automobil"), most of which WordNet does not have; `lookup=words` uses the words. METEOR 1.5 also has
paraphrases, a list of function words and weights of its stages, and tuned parameters (for English:
`alpha=.85,beta=.2,gamma=.6`).

Relations
---------

- The part `wmdo` of `sentsim` penalises word order by the same chunks.
- WordNet is English. With `synonyms=none`, METEOR needs no data; its stemmer is for English too (`stemmer=none`).

Citation
--------

Lavie, Agarwal: "METEOR: An Automatic Metric for MT Evaluation with High Levels of Correlation with Human Judgments",
WMT 2007.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Float
from nlgauge.core.metric import Comparison, SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import Loaded
from nlgauge.core.run_options import report_progress
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_matches import (
    SynonymSource,
    WordMatcher,
    chunks,
    lookup_option,
    porter_stemmer,
    stemmer_version,
    synonyms_option,
)
from nlgauge.metrics.parts.word_metric import WordMetric, Words


@dataclass(frozen=True, kw_only=True)
class METEOR(WordMetric):
    """Matches of words, stems and synonyms, with a penalty for word order."""

    name: ClassVar[str] = "meteor"
    title: ClassVar[str] = "METEOR"
    components: ClassVar[tuple[str, ...]] = ("meteor",)
    main: ClassVar[str] = "meteor"
    derived_fields: ClassVar[tuple[str, ...]] = (*WordMetric.derived_fields, "stemmer_engine")
    citation: ClassVar[str] = cite("lavie-agarwal-2007-meteor")

    synonyms: str = synonyms_option()
    lookup: str = lookup_option()
    stemmer: str = option("porter", Choice("porter", "none"), help="stemmer of words that are not equal")
    alpha: float = option(0.9, Float(0, most=1), help="weight of recall")
    beta: float = option(3.0, Float(0), help="exponent of the penalty")
    gamma: float = option(0.5, Float(0, most=1), help="largest penalty")
    multiref: str = option("best", Choice("best", "mean"), help="how to combine several references")

    @property
    def unused(self) -> Mapping[str, str]:
        """The form that is looked up, if there is only one."""
        if self.synonyms != "none" and self.stemmer != "none":
            return super().unused
        return dict(super().unused) | {"lookup": "needs stemmer=porter and synonyms other than none"}

    def versions(self) -> dict[str, str]:
        return super().versions() | (stemmer_version() if self.stemmer == "porter" else {})

    def describe_texts(self) -> dict[str, str]:
        return self.own_fields(self.versions() | {"synonyms": self._synonyms.label})

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        split = self.split()
        matcher = WordMatcher(
            porter_stemmer() if self.stemmer == "porter" else None,
            self._synonyms.content,
            look_up_stems=self.lookup == "stems",
        )
        comparisons = []
        for hypothesis, group in report_progress(zip(hypotheses, references, strict=True)):
            output = split(hypothesis)
            rows = [[self._compare(output, split(reference), matcher)] for reference in group]
            comparisons.append(Comparison(np.array(rows)))
        return self.joined(comparisons, rule=self.multiref)

    @property
    def _synonyms(self) -> Loaded:
        kind: Any = self.options()["synonyms"].kind
        assert isinstance(kind, SynonymSource)
        return kind.load(self.synonyms)

    def _compare(self, output: Words, reference: Words, matcher: WordMatcher) -> float:
        links = matcher.links(output, reference)
        matches = len(links)
        if not matches:
            return 0.0
        precision, recall = matches / len(output), matches / len(reference)
        mean: float = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        penalty: float = self.gamma * (chunks(links) / matches) ** self.beta
        return (1 - penalty) * mean
