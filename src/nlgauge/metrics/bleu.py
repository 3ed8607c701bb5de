"""BLEU: precision of word n-grams times a penalty for short outputs; computed by sacrebleu.

What it computes
----------------

    BLEU = 100 BP (p_1 p_2 p_3 p_4)^(1/4)          p_n: share of the output's n-grams that the reference has
    BP   = min(1, e^(1 - r/c))                     c, r: words of the output and of the reference

For a system, counts are summed over all segments. The score of a segment is sentence BLEU with effective order. A
p_n of 0 is smoothed (`smooth`). `order=2` takes the root of p_1 p_2 (BLEU-2), and so on.

Worked example
--------------

Of the n-grams of "the cat sat on the mat", "the cat lay on the mat" has 5 of 6 words, 3 of 5 pairs, 1 of 4 triples
and none of 3 runs of four, which exponential smoothing counts as 1/2 of 3: (5/6 x 3/5 x 1/4 x 1/6)^(1/4) = .3799.

    >>> import nlgauge
    >>> score = nlgauge.score(["the cat sat on the mat"], ["the cat lay on the mat"], "bleu")
    >>> score.segments["bleu"].round(2).tolist()
    [37.99]

Profiles and deviations
-----------------------

There are no profiles: sacrebleu computes, with the tokenizer that it chooses for the language (`13a`, `zh`,
`ja-mecab`, `ko-mecab`). Tokenizer, smoothing and version are in the signature.

Relations
---------

- chrF counts characters instead of words. On WMT17 (segment-level Pearson, seven pairs to English) chrF has .574 and
  sentence BLEU .481; BERTScore has .666 with MiniLM and .738 with mpnet. See docs/findings.

Citation
--------

Papineni, Roukos, Ward, Zhu: "Bleu: a Method for Automatic Evaluation of Machine Translation", ACL 2002. Post: "A
Call for Clarity in Reporting BLEU Scores", WMT 2018.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Int
from nlgauge.core.metric import SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.io.packages import package_version
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.word_metric import (
    TokenizerOptions,
    case_option,
    make_bleu,
    tokenize_option,
    tokenizer_versions,
)

if TYPE_CHECKING:
    from nlgauge.stats.corpus_counts import CorpusCounts


@dataclass(frozen=True, kw_only=True)
class SacreBLEUMetric(TextMetric):
    """Base of BLEU, chrF and TER: sacrebleu computes the scores, this class adds the interface and the signature.

    Scores are on sacrebleu's scale, 0 to 100. System scores are computed from the counts of all segments; segment
    scores are those of single sentences (BLEU with effective order, as sacrebleu advises). The counts are kept with
    the score for resampling. Several references are combined as each metric defines it.
    """

    derived_fields: ClassVar[tuple[str, ...]] = ("sacrebleu",)

    @abstractmethod
    def _engine(self, *, sentences: bool) -> Any:
        """The sacrebleu metric, for single sentences or for a whole corpus."""

    @property
    @abstractmethod
    def _formula(self) -> str:
        """The formula of `CorpusCounts` that computes a corpus score from counts."""

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        from nlgauge.stats.corpus_counts import CorpusCounts

        engine = self._engine(sentences=True)
        # The two halves of sacrebleu's sentence_score, because the counts in between are kept.
        counts = [
            engine._extract_corpus_statistics([hypothesis], [[text] for text in group])[0]
            for hypothesis, group in report_progress(zip(hypotheses, references, strict=True))
        ]
        values = [engine._aggregate_and_compute([row]).score for row in counts]
        statistics = CorpusCounts(self._formula, np.array(counts, dtype=np.float64))
        return SystemResult(
            {self.main: np.array(values)}, corpus=self.corpus_scores(statistics), statistics=statistics
        )

    def corpus_scores(self, statistics: CorpusCounts) -> dict[str, float]:
        # Counts are integers, so their sum does not depend on grouping.
        totals = [int(total) for total in statistics.counts.sum(axis=0)]
        return {self.main: float(self._engine(sentences=False)._aggregate_and_compute([totals]).score)}

    def versions(self) -> dict[str, str]:
        return {"sacrebleu": package_version("sacrebleu", "lexical")}


@dataclass(frozen=True, kw_only=True)
class BLEU(TokenizerOptions, SacreBLEUMetric):
    """Corpus BLEU, and sentence BLEU for segments."""

    name: ClassVar[str] = "bleu"
    title: ClassVar[str] = "BLEU"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("bleu",)
    main: ClassVar[str] = "bleu"
    citation: ClassVar[str] = cite("post-2018-call")

    derived_fields: ClassVar[tuple[str, ...]] = ("tokenize_engine", "sacrebleu")

    # Named here, because a signature has the options of a metric before those of its bases.
    case: str = case_option()
    tokenize: str = tokenize_option()
    smooth: str = option("exp", Choice("exp", "floor", "add-k", "none"), help="smoothing method")
    order: int = option(4, Int(1, 4), optional=True, help="longest n-gram")

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """BLEU-2 for n-grams of one and two words."""
        return f"{cls.title}-{recipe['order']}" if "order" in recipe else cls.title

    @property
    def _formula(self) -> str:
        return f"bleu:{self.smooth}"

    def versions(self) -> dict[str, str]:
        return tokenizer_versions(self.tokenize) | super().versions()

    def _engine(self, *, sentences: bool) -> Any:
        return make_bleu(
            self.name,
            self.title,
            self.tokenize,
            lowercase=self.case == "lower",
            smooth_method=self.smooth,
            max_ngram_order=self.order,
            effective_order=sentences,
        )
