"""Metrics that look at an annotated hypothesis by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.annotate import AnnotatedText
from nlgauge.engine.progress import ticked
from nlgauge.errors import TooLongError
from nlgauge.recipes.annotation import AnnotatedTextMetric
from nlgauge.recipes.results import SystemResult

__all__ = ["HypothesisMetric"]


@dataclass(frozen=True, kw_only=True)
class HypothesisMetric(AnnotatedTextMetric):
    """A metric of a hypothesis by itself; references are not read."""

    against: ClassVar[str] = "nothing"
    of_ties: ClassVar[bool] = False
    """Whether it is 0 where no two sentences share a focus."""

    @abstractmethod
    def measure(self, text: AnnotatedText) -> float | None:
        """The value of a text; None where it has nothing to measure."""

    def _measured(self, text: AnnotatedText) -> float | None:
        try:
            return self.measure(text)
        except TooLongError as error:
            error.document = text.text
            raise

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        values = [self._measured(text) for text in ticked(self.annotation.annotate(hypotheses))]
        return SystemResult(
            {self.main: np.array([0.0 if value is None else value for value in values])},
            no_noun=tuple(at for at, value in enumerate(values) if value is None),
            no_ties=tuple(at for at, value in enumerate(values) if self.of_ties and not value),
        )
