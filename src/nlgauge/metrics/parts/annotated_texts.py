"""Metrics of texts that need sentences, lemmas and parts of speech, but no encoder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlgauge.annotate import AnnotatedText
from nlgauge.engine.progress import ticked
from nlgauge.recipes.annotation import AnnotatedTextMetric
from nlgauge.recipes.kinds import Choice
from nlgauge.recipes.options import option
from nlgauge.recipes.results import SystemResult

__all__ = ["CasedTextMetric", "HypothesisMetric", "lowercase_option"]


def lowercase_option(default: Any) -> Any:
    """The option of these metrics; the released evaluation has all texts in lower case."""
    return option(
        default, Choice("no", "yes"), help="put all texts in lower case before they are annotated", short="lc"
    )


@dataclass(frozen=True, kw_only=True)
class CasedTextMetric(AnnotatedTextMetric):
    """A metric of annotated texts, which may be put in lower case first."""

    lowercase: str = lowercase_option("yes")

    def annotated(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts, annotated as the recipe has it."""
        return self.annotation.annotate([text.lower() if self.lowercase == "yes" else text for text in texts])


@dataclass(frozen=True, kw_only=True)
class HypothesisMetric(CasedTextMetric):
    """A metric that looks at a hypothesis by itself; references are not read."""

    against: ClassVar[str] = "nothing"

    @abstractmethod
    def measure(self, text: AnnotatedText) -> float | None:
        """The value of a text; None where it has nothing to measure."""

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        values = [self.measure(text) for text in ticked(self.annotated(hypotheses))]
        return SystemResult(
            {self.main: np.array([0.0 if value is None else value for value in values])},
            no_noun=tuple(at for at, value in enumerate(values) if value is None),
        )
