"""Options of an explanation, and how several references are joined. Neither changes a score.

Only one alignment is shown, that of the best reference. Where the score is a mean over references, a note says what
each gives by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from nlgauge.core.compare import Comparisons
from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Comparison, Metric, TextMetric
from nlgauge.core.prepare import Prepared
from nlgauge.errors import RecipeError
from nlgauge.studies.explain.explanation import ReferenceRule, SeveralReferences, Side
from nlgauge.studies.explain.word_level import check_pieces
from nlgauge.text.words import WORD_RULES


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


def reference_rule(metric: Metric) -> ReferenceRule:
    """How a metric makes one score of several references."""
    if isinstance(metric, TextMetric) and not hasattr(metric, "multiref"):
        return "together"
    rule = getattr(metric, "multiref", "mean")
    return "best" if rule.startswith("best") else "mean"


@dataclass(frozen=True, eq=False)
class ScoresByReference:
    """The main component of one system's segments against each reference alone."""

    prepared: Prepared
    corpus: Corpus
    comparisons: Comparisons | None
    """None where the score came with its alignments; metrics without a model need none."""

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return self.prepared.metrics[0].metric

    def of(self, index: int, shown: int) -> SeveralReferences | None:
        """Those of a segment; None where it has one reference."""
        references = self.corpus.references[index]
        if len(references) == 1:
            return None
        rule = reference_rule(self.metric)
        return SeveralReferences(rule, len(references), shown, self._scores(index) if rule != "best" else ())

    def _scores(self, index: int) -> tuple[float, ...]:
        metric = self.metric
        if isinstance(metric, TextMetric):
            (hypotheses,) = self.corpus.systems.values()
            references = self.corpus.references[index]
            found = metric.score_texts([hypotheses[index]] * len(references), [[text] for text in references])
            return tuple(found.segments[metric.main].tolist())
        # A score that is scaled over the corpus has no value against one reference.
        if self.comparisons is None or metric.whole_corpus:
            return ()
        return tuple(column[index] for column in self._columns[: len(self.corpus.references[index])])

    @cached_property
    def _columns(self) -> list[list[float]]:
        """For each reference the scores of all segments, as the metric finishes them: rescaled, in their order."""
        one = self.prepared.compared[0]
        (system,) = self.corpus.systems
        found = [self.comparisons.found[0][system][index] for index in range(len(self.corpus))]  # type: ignore[union-attr]  # see _scores
        most = max(len(comparison.values) for comparison in found)
        finished = [one.metric.finish({system: _only(found, row)}, one.state)[system] for row in range(most)]
        return [result.segments[one.metric.main].tolist() for result in finished]


def _only(found: Sequence[Comparison], row: int) -> list[Comparison]:
    """With one reference each: that of the row, or the last one there is."""
    rows = [min(row, len(one.values) - 1) for one in found]
    return [replace(one, values=one.values[[row]], alignments=None) for one, row in zip(found, rows, strict=True)]
