"""DS-Focus without an encoder: how often two texts mention what they both talk about.

    sum_(v in Omega) (c_v^hyp - c_v^ref)^2 / N         c_v: mentions of noun v

This is DS-Focus (`metrics/ds_focus.py`) of an encoder that gives every mention the same vector. It is no metric to
report but one to stand beside DS-Focus: what DS-Focus shows beyond it, the encoder adds. Profiles are those of
DS-Focus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.metric import SystemResult
from nlgauge.core.profiles import Profile, ProfiledTextMetric, profile_option
from nlgauge.core.run_options import ticked
from nlgauge.metrics.parts.disco_options import (
    CITATION,
    FOCUS_PROFILES,
    distance_option,
    measure_option,
    mentions_option,
    min_mentions_option,
    unmatched_option,
)
from nlgauge.metrics.parts.foci import FocusPair, FocusTable, find_mentions
from nlgauge.text.annotation import AnnotatedText


@dataclass(frozen=True, kw_only=True)
class FocusFrequency(ProfiledTextMetric, AnnotatedTextMetric):
    """DS-Focus without an encoder: squared differences of how often nouns are mentioned; a distance."""

    name: ClassVar[str] = "focus-frequency"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f")
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = CITATION
    profiles: ClassVar[Mapping[str, Profile]] = FOCUS_PROFILES

    profile: str = profile_option("released", FOCUS_PROFILES)
    mentions: str = mentions_option()
    distance: str = distance_option()
    unmatched: str = unmatched_option()
    min_mentions: int = min_mentions_option()
    measure: str = measure_option()

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The measure that was chosen."""
        return self.measure

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        texts = list(dict.fromkeys([*hypotheses, *(text for group in references for text in group)]))
        tables = {one.text: self._counts(one) for one in self.annotation.annotate(texts)}
        rows, best, without = [], [], []
        for at, (hypothesis, group) in enumerate(ticked(zip(hypotheses, references, strict=True))):
            pairs = [
                FocusPair.of(tables[hypothesis], tables[text], squared=self.distance == "squared") for text in group
            ]
            values = np.array([pair.values(unmatched=self.unmatched) for pair in pairs])
            rows.append(values.mean(axis=0))
            best.append(int(values[:, self.components.index(self.main)].argmin()))
            if not any(len(pair) for pair in pairs):
                without.append(at)
        table = np.array(rows)
        segments = {name: table[:, column].copy() for column, name in enumerate(self.components)}
        return SystemResult(segments, np.array(best, dtype=np.int64), no_focus=tuple(without))

    def _counts(self, text: AnnotatedText) -> FocusTable:
        mentions = find_mentions(text, self.mentions)
        return FocusTable.of_counts([one.lemma for one in mentions], least=self.min_mentions)
