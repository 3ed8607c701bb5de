"""Several references: how one score was made of them, and what each gives by itself.

Only one alignment is shown, that of the best reference, so a score that is a mean is not the number behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nlgauge.corpus.texts import Corpus
from nlgauge.engine.comparisons import Comparisons
from nlgauge.engine.prepare import Prepared
from nlgauge.explain.explanation import ReferenceRule, SeveralReferences
from nlgauge.recipes.metric import Metric, TextMetric
from nlgauge.recipes.results import Comparison

__all__ = ["ScoresByReference", "reference_rule"]


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
