"""Lexical chains: do the nouns that connect sentences occur in the same sentences of both texts?

What it computes
----------------

    sum over words w of |H_w and R_w| / |R_w|

H_w and R_w are the numbers of the sentences of hypothesis and reference that contain the noun w. The sum is over
nouns that form a chain in both texts, that is, occur in several sentences of each. It is not divided by the number of
chains, so longer texts can score higher.

Worked example
--------------

The cat is in sentences 1 and 2 of the hypothesis and in 1 and 3 of the reference, so 1 of 2 agrees. The dog is in one
sentence of each, and so in no chain.

    >>> from nlgauge.testing import toy_scores
    >>> toy_scores("lexical-chain", "cat:N ran . | cat:N dog:N .", "cat:N ran . | dog:N ran . | cat:N .", tagged=True)
    {'overlap': [0.5]}

Profiles and deviations
-----------------------

There are no profiles. It is computed as released with DiscoScore.

Relations
---------

- `entity-graph` connects the sentences that share a noun in the hypothesis only.
- On SummEval it has Kendall's tau -.17 with human scores (average over aspects, systems; in print .19 as an absolute
  value): summaries with more chains are rated worse. See docs/findings.

Citation
--------

Gong, Zhang, Zhou: "Document-Level Machine Translation Evaluation with Gist Consistency and Text Cohesion", DiscoMT
2015.
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
from nlgauge.core.run_options import report_progress
from nlgauge.core.score import Note
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.foci import NO_NOUN, NO_TIES, Foci, find_foci


@dataclass(frozen=True, kw_only=True)
class LexicalChain(AnnotatedTextMetric):
    """Overlap of the lexical chains (repeated nouns) of hypothesis and reference."""

    name: ClassVar[str] = "lexical-chain"
    title: ClassVar[str] = "Lexical Chain"
    components: ClassVar[tuple[str, ...]] = ("overlap",)
    main: ClassVar[str] = "overlap"
    notes: ClassVar[tuple[Note, ...]] = (NO_NOUN, NO_TIES)
    citation: ClassVar[str] = cite("gong-etal-2015-document")

    multiref: str = option("best", Choice("best", "mean"), help="how to combine several references")

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        texts = list(dict.fromkeys([*hypotheses, *(text for group in references for text in group)]))
        nouns = {annotated.text: find_foci(annotated) for annotated in self.annotation.annotate(texts)}
        values, best = [], []
        for hypothesis, group in report_progress(zip(hypotheses, references, strict=True)):
            row = np.array([_overlap(nouns[hypothesis], nouns[reference]) for reference in group])
            best.append(int(row.argmax()))
            values.append(float(row.max() if self.multiref == "best" else row.mean()))
        chains = {text: any(len(set(mentions)) > 1 for mentions in foci.values()) for text, foci in nouns.items()}
        return SystemResult(
            {self.main: np.array(values)},
            np.array(best, dtype=np.int64),
            notes={
                NO_NOUN.name: _find_lacking(nouns, hypotheses, references),
                NO_TIES.name: _find_lacking(chains, hypotheses, references),
            },
        )


def _find_lacking(
    values: Mapping[str, object], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[int, ...]:
    """Segments in which the value of the hypothesis, or of every reference, is empty or False."""
    return tuple(
        i
        for i, (text, group) in enumerate(zip(hypotheses, references, strict=True))
        if not values[text] or not any(values[other] for other in group)
    )


def _overlap(hypothesis: Foci, reference: Foci) -> float:
    """sum over words w of |H_w and R_w| / |R_w|, for words in several sentences of each text."""
    h = {w: set(numbers) for w, numbers in hypothesis.items()}
    r = {w: set(numbers) for w, numbers in reference.items()}
    return sum(len(h[w] & r[w]) / len(r[w]) for w in h if w in r and min(len(h[w]), len(r[w])) > 1)
