"""Metrics of texts that need sentences, lemmas and parts of speech, but no encoder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlgauge.annotate import AnnotatedText, Annotator, load_annotator
from nlgauge.engine.progress import ticked
from nlgauge.recipes.annotation import annotator_option, sentences_option
from nlgauge.recipes.kinds import Choice
from nlgauge.recipes.metric import TextMetric
from nlgauge.recipes.options import option
from nlgauge.recipes.results import SystemResult

__all__ = ["AnnotatedMetric", "HypothesisMetric", "lowercase_option"]


def lowercase_option(default: Any) -> Any:
    """The option of these metrics; the released evaluation has all texts in lower case."""
    return option(
        default, Choice("no", "yes"), help="put all texts in lower case before they are annotated", short="lc"
    )


@dataclass(frozen=True, kw_only=True)
class AnnotatedMetric(TextMetric):
    """A metric of annotated texts; a text without a noun is counted."""

    annotator: str = annotator_option()
    sentences: str = sentences_option()
    lowercase: str = lowercase_option("yes")

    @property
    def loaded_annotator(self) -> Annotator:
        """What annotates, which remembers the texts it has seen."""
        return load_annotator(self.annotator, sentences=self.sentences)

    def annotated(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts, annotated as the recipe has it."""
        return self.loaded_annotator.annotate([text.lower() if self.lowercase == "yes" else text for text in texts])

    def versions(self) -> dict[str, str]:
        """The annotator with its version and digest."""
        return {"annotator": self.loaded_annotator.label}


@dataclass(frozen=True, kw_only=True)
class HypothesisMetric(AnnotatedMetric):
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
