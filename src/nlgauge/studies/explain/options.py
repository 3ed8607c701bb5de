"""Options of an explanation, and how several references are joined. Neither changes a score.

Only one alignment is shown, that of the best reference. Where the score is a mean over references, a note says what
each gives by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.compare import Comparisons
from nlgauge.core.corpus import Corpus
from nlgauge.core.kinds import Choice, Flag, Float, Int, Text
from nlgauge.core.metric import Comparison, Metric, TextMetric
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.prepare import Prepared
from nlgauge.errors import RecipeError
from nlgauge.studies.explain.explanation import ReferenceRule, SeveralReferences, Side
from nlgauge.studies.explain.word_level import PIECES
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


Options = TypeVar("Options", bound=OptionSet)


def split_options(options: Mapping[str, Any], of: type[Options], **defaults: Any) -> tuple[Options, dict[str, Any]]:
    """The options of one set, and the others: those of recipe and run."""
    own = {name: value for name, value in options.items() if name in of.options()}
    return of(**(defaults | own)), {name: value for name, value in options.items() if name not in own}


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
