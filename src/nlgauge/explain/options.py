"""What an explanation shall hold; no part of a recipe, and it moves no score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from nlgauge.errors import RecipeError
from nlgauge.explain.explanation import Side
from nlgauge.explain.word_view import check_pieces
from nlgauge.recipes.metric import Metric
from nlgauge.text.words import WORD_RULES

__all__ = ["ExplainOptions", "split_options"]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """What is computed, and how words are made."""

    words: str = "words"
    """words: at blanks and punctuation; blanks: at blanks only."""
    pieces: str = "max"
    """What stands for a word of several pieces: max (the worst matched), mean, or first."""
    shapley: bool | None = None
    """Shapley values; None: where the score is no sum over words."""
    leave_one_out: bool = False
    """What the score loses without each word."""
    side: Side = "hypothesis"
    """Whose words are left out for the two above."""
    component: str | None = None
    """The number that the two above explain; None: the metric's main component."""
    samples: int = 25
    """Orders of words that Shapley values are sampled over, for texts of more than ten words."""
    seed: int = 12345
    beside: bool = False
    """The other kind of alignment too: transport beside greedy matches, or greedy matches beside transport."""

    def __post_init__(self) -> None:
        if self.words not in WORD_RULES:
            msg = f"words must be one of {', '.join(WORD_RULES)}, got {self.words!r}"
            raise RecipeError(msg)
        check_pieces(self.pieces)
        if self.side not in ("hypothesis", "reference"):
            msg = f"side must be hypothesis or reference (which may be the source), got {self.side!r}"
            raise RecipeError(msg)
        if not isinstance(self.samples, int) or self.samples < 2:
            msg = f"samples must be a whole number of orders, at least 2, got {self.samples!r}"
            raise RecipeError(msg)
        if not isinstance(self.seed, int) or self.seed < 0:
            msg = f"seed must be a whole number, at least 0, got {self.seed!r}"
            raise RecipeError(msg)

    def component_of(self, metric: Metric) -> str:
        """The component that words are left out for."""
        if self.component is None:
            return metric.main
        if self.component not in metric.components:
            msg = f"{metric.name} has no component {self.component!r}; it has {', '.join(metric.components)}"
            raise RecipeError(msg)
        return self.component


def split_options(given: Mapping[str, Any], **defaults: Any) -> tuple[ExplainOptions, dict[str, Any]]:
    """The options of an explanation, and the others: those of recipe and run."""
    names = {entry.name for entry in fields(ExplainOptions)}
    own = {name: value for name, value in given.items() if name in names}
    return ExplainOptions(**(defaults | own)), {name: value for name, value in given.items() if name not in names}
