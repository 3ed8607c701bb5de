"""Lexical chains (Gong, Zhang, Zhou 2015), as released with DiscoScore.

    sum over words w of |H_w and R_w| / |R_w|

H_w and R_w are the sentences of hypothesis and reference that w stands in; a noun has a chain where it has several.
The sum is not divided by the number of chains: longer texts can have more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import option
from nlgauge.core.run_options import ticked
from nlgauge.core.score import Note
from nlgauge.metrics.cohesion import Foci, foci_of
from nlgauge.metrics.parts.citations import cite
from nlgauge.metrics.parts.foci import NO_NOUN, NO_TIES


@dataclass(frozen=True, kw_only=True)
class LexicalChain(AnnotatedTextMetric):
    """How far nouns that go through a reference go through the same sentences of the hypothesis."""

    name: ClassVar[str] = "lexical-chain"
    components: ClassVar[tuple[str, ...]] = ("overlap",)
    main: ClassVar[str] = "overlap"
    notes: ClassVar[tuple[Note, ...]] = (NO_NOUN, NO_TIES)
    citation: ClassVar[str] = cite("gong-etal-2015-document")

    multiref: str = option("best", Choice("best", "mean"), help="rule for several references", short="mr")

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        texts = list(dict.fromkeys([*hypotheses, *(text for group in references for text in group)]))
        nouns = {one.text: foci_of(one) for one in self.annotation.annotate(texts)}
        values, best = [], []
        for hypothesis, group in ticked(zip(hypotheses, references, strict=True)):
            row = np.array([_overlap(nouns[hypothesis], nouns[reference]) for reference in group])
            best.append(int(row.argmax()))
            values.append(float(row.max() if self.multiref == "best" else row.mean()))
        chains = {text: any(len(set(mentions)) > 1 for mentions in foci.values()) for text, foci in nouns.items()}
        return SystemResult(
            {self.main: np.array(values)},
            np.array(best, dtype=np.int64),
            notes={
                NO_NOUN.name: _lacking(nouns, hypotheses, references),
                NO_TIES.name: _lacking(chains, hypotheses, references),
            },
        )


def _lacking(
    found: Mapping[str, object], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[int, ...]:
    """Segments in which the hypothesis, or every reference, has nothing of what was found in the texts."""
    return tuple(
        at
        for at, (text, group) in enumerate(zip(hypotheses, references, strict=True))
        if not found[text] or not any(found[other] for other in group)
    )


def _overlap(hypothesis: Foci, reference: Foci) -> float:
    shared = [(set(hypothesis[word]), set(reference[word])) for word in hypothesis if word in reference]
    return sum(len(ours & theirs) / len(theirs) for ours, theirs in shared if min(len(ours), len(theirs)) > 1)
