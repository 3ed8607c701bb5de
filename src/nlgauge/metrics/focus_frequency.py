"""Focus frequency: DS-Focus without an encoder.

What it computes
----------------

It compares how often two texts mention the nouns that they share:

    sum_(v in Omega) (c_v^hyp - c_v^ref)^2 / N         c_v: mentions of noun v

Omega are the nouns of both texts, N is the number of nouns of the hypothesis. It is a distance.

Worked example
--------------

The hypothesis mentions the cat twice and the dog once, the reference each once: ((2 - 1)^2 + (1 - 1)^2) / 2.

    >>> from nlgauge.testing import toy_scores
    >>> toy_scores("focus-frequency", "cat:N ran . | cat:N dog:N ran .", "cat:N ran . | dog:N ran .", tagged=True)
    {'precision': [0.5], 'recall': [0.5], 'f': [0.5]}

Profiles and deviations
-----------------------

The profiles are those of DS-Focus.

Relations
---------

- It is DS-Focus (`metrics/ds_focus.py`) with an encoder that gives every mention the same vector. It is a baseline:
  the difference between the two is what the encoder adds.
- On SummEval it has Kendall's tau .51 (average over aspects, systems), DS-Focus .54 with MiniLM and .60 with mpnet.
  See docs/findings.

Citation
--------

Zhao, Strube, Eger: "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023, who count
foci in their section on what DS-Focus measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.metric import Comparison, Profile, SystemResult, profile_option
from nlgauge.core.run_options import report_progress
from nlgauge.core.score import Note
from nlgauge.metrics.ds_focus import FOCUS_PROFILES, DSFocus, compare_foci, sum_mentions
from nlgauge.metrics.parts.foci import NO_FOCUS, FocusTable, describe_no_focus, find_mentions
from nlgauge.text.annotation import AnnotatedText


@dataclass(frozen=True, kw_only=True)
class FocusFrequency(AnnotatedTextMetric):
    """DS-Focus without an encoder: squared differences of noun counts; a distance."""

    name: ClassVar[str] = "focus-frequency"
    title: ClassVar[str] = "Focus Frequency"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f")
    higher_is_better: ClassVar[bool] = False
    notes: ClassVar[tuple[Note, ...]] = (NO_FOCUS,)
    citation: ClassVar[str] = DSFocus.citation
    profiles: ClassVar[Mapping[str, Profile]] = FOCUS_PROFILES

    profile: str = profile_option("released", FOCUS_PROFILES)
    mentions: str = DSFocus.same_option("mentions")
    distance: str = DSFocus.same_option("distance")
    unmatched: str = DSFocus.same_option("unmatched")
    min_mentions: int = DSFocus.same_option("min_mentions")
    measure: str = DSFocus.same_option("measure")

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The chosen measure."""
        return self.measure

    def describe_empty(self) -> str:
        return ""  # a note has it: a text without foci

    def describe_note(self, note: Note) -> str:
        """Add how foci without a counterpart are treated."""
        return describe_no_focus(self.unmatched)

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        texts = list(dict.fromkeys([*hypotheses, *(text for group in references for text in group)]))
        c = {text.text: self._count_mentions(text) for text in self.annotation.annotate(texts)}
        flags = {"squared": self.distance == "squared", "origin": self.unmatched == "origin"}
        comparisons, unmatched = [], []
        for number, (hypothesis, group) in enumerate(report_progress(zip(hypotheses, references, strict=True))):
            # sum_(v in Omega) (c_v^hyp - c_v^ref)^2 / N, and the size of Omega
            values = np.array([compare_foci(c[hypothesis], c[reference], **flags) for reference in group])
            comparisons.append(Comparison(values[:, :3]))
            if not values[:, 3].any():
                unmatched.append(number)
        return replace(self.joined(comparisons), notes={NO_FOCUS.name: tuple(unmatched)})

    def _count_mentions(self, text: AnnotatedText) -> FocusTable:
        """c_v: foci whose mentions all have the vector (1)."""
        mentions = find_mentions(text, self.mentions)
        z = np.ones((len(mentions), 1), dtype=np.float32)
        entities = {mention.lemma: (mention.lemma,) for mention in mentions}
        return sum_mentions(mentions, z, entities, least=self.min_mentions)
