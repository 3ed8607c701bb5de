"""Options of an explanation, none of which changes a score, and how a metric joins several references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice, Flag, Float, Int, Text
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.errors import RecipeError
from nlgauge.studies.explain.explanation import PIECES, ReferenceRule, Side
from nlgauge.text.words import WORD_RULES


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(OptionSet):
    """What is computed, and how words are made."""

    called: ClassVar[str] = "options of an explanation"

    words: str = option(
        "words",
        Choice(*WORD_RULES),
        help="words end at blanks and punctuation (words), or at blanks only",
        hidden=True,
    )
    pieces: str = option(
        "max",
        Choice(*PIECES),
        help="score of a word of several pieces: that of the worst matched piece (max), the mean, or the first",
        hidden=True,
    )
    shapley: bool | None = option(None, Flag(), help="Shapley values", unset="where the score is no sum over words")
    leave_one_out: bool = option(False, Flag(), help="what the score loses without each word")
    side: Side = option(
        "hypothesis",
        Choice("hypothesis", "reference"),
        help="text whose words are left out; the reference may be the source",
    )
    component: str | None = option(
        None, Text("a component"), help="component to explain", unset="the main one", hidden=True
    )
    samples: int = option(
        25, Int(2), help="orders of words to sample, for texts of more than ten words", hidden=True, limit=1000
    )
    seed: int = seed_option()
    beside: bool = option(False, Flag(), help="the other kind of alignment too, greedy or transport")
    matrix: bool = option(False, Flag(), help="similarity, or cost, of each word to each word", hidden=True)

    def component_of(self, metric: Metric) -> str:
        """The component that words are left out for."""
        if self.component is None:
            return metric.main
        if self.component not in metric.components:
            msg = f"{metric.name} has no component {self.component!r}; it has {', '.join(metric.components)}"
            raise RecipeError(msg)
        return self.component


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(OptionSet):
    """Whose words are added up, by which contributions, and how intervals are made."""

    called: ClassVar[str] = "options of a summary of explanations"

    method: str = option(
        "linear",
        Choice("linear", "leave-one-out", "shapley"),
        help="contributions of words: summands of the score, or what any score loses without them",
    )
    side: Side = option(
        "hypothesis",
        Choice("hypothesis", "reference"),
        help="text whose words count; the reference may be the source",
    )
    annotator: str = AnnotatedTextMetric.same_option("annotator")
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(1), help="bootstrap resamples of texts", hidden=True, limit=10_000)
    seed: int = seed_option()


def reference_rule(metric: Metric) -> ReferenceRule:
    """How a metric makes one score of several references."""
    if isinstance(metric, TextMetric) and not hasattr(metric, "multiref"):
        return "together"
    rule = getattr(metric, "multiref", "mean")
    return "best" if rule.startswith("best") else "mean"
