"""Base class of BLEU and chrF: sacrebleu computes, and the class adds the interface and the signature.

Scores are on the package's scale, 0 to 100. Those of a system count over all its segments; segment scores are
sentence BLEU (with effective order, as sacrebleu advises) and sentence chrF. The counts of the segments stay with the
score, so that it can be resampled.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.metric import SystemResult, TextMetric
from nlgauge.core.run_options import ticked
from nlgauge.io.packages import package_version

if TYPE_CHECKING:
    from nlgauge.stats.corpus_counts import CorpusCounts


@dataclass(frozen=True, kw_only=True)
class SacreBLEUMetric(TextMetric):
    """What BLEU and chrF share; several references count together, as each metric defines it."""

    derived_fields: ClassVar[tuple[str, ...]] = ("sacrebleu",)

    @abstractmethod
    def _engine(self, *, sentences: bool) -> Any:
        """The package's object, for single sentences or for a whole corpus."""

    @property
    @abstractmethod
    def _formula(self) -> str:
        """The formula of `CorpusCounts` that makes a corpus score of counts."""

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        from nlgauge.stats.corpus_counts import CorpusCounts

        sentence, corpus = self._engine(sentences=True), self._engine(sentences=False)
        values = [
            sentence.sentence_score(hypothesis, list(group)).score
            for hypothesis, group in ticked(zip(hypotheses, references, strict=True))
        ]
        most = max(len(group) for group in references)
        # sacrebleu takes streams; where the number of references varies, None stands for a missing one.
        streams = [[group[at] if at < len(group) else None for group in references] for at in range(most)]
        # The two halves of the package's corpus_score, because what is between them is kept.
        counts = corpus._extract_corpus_statistics(list(hypotheses), streams)
        statistics = CorpusCounts(self._formula, np.array(counts, dtype=np.float64))
        return SystemResult(
            {self.main: np.array(values)}, corpus=self.corpus_scores(statistics), statistics=statistics
        )

    def corpus_scores(self, statistics: CorpusCounts) -> dict[str, float]:
        # Counts are whole numbers, so that their sum does not depend on how they are grouped.
        totals = [int(total) for total in statistics.counts.sum(axis=0)]
        return {self.main: float(self._engine(sentences=False)._aggregate_and_compute([totals]).score)}

    def versions(self) -> dict[str, str]:
        return {"sacrebleu": package_version("sacrebleu", "lexical")}
