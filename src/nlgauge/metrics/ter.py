"""TER: edits and shifts of blocks that turn an output into the reference, per word; computed by sacrebleu.

What it computes
----------------

    TER = 100 (insertions + deletions + substitutions + shifts) / words of the reference        lower is better

A shift moves a block of adjacent words. Shifts are found one after the other, as long as they lower the number of
edits. A system's TER is that of the sums over segments. Of several references, the one with the fewest edits counts,
over the mean number of words of all references.

Worked example
--------------

One shift turns "on the mat the cat sat" into "the cat sat on the mat", which has 6 words.

    >>> import nlgauge
    >>> nlgauge.score(["on the mat the cat sat"], ["the cat sat on the mat"], "ter").segments["ter"].round(4).tolist()
    [16.6667]

Profiles and deviations
-----------------------

There are no profiles: sacrebleu computes, with its options. By default it splits at spaces and ignores case, as the
released Tercom does. `normalized=yes` separates punctuation from words.

Relations
---------

- WER has no shifts. CDER has free blocks of the output in place of shifts.

Citation
--------

Snover, Dorr, Schwartz, Micciulla, Makhoul: "A Study of Translation Edit Rate with Targeted Human Annotation",
AMTA 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nlgauge.core.kinds import Choice
from nlgauge.core.options import option
from nlgauge.io.packages import require
from nlgauge.metrics.bleu import SacreBLEUMetric
from nlgauge.metrics.parts import cite

if TYPE_CHECKING:
    from nlgauge.stats.corpus_counts import CorpusCounts


@dataclass(frozen=True, kw_only=True)
class TER(SacreBLEUMetric):
    """Translation edit rate: edits of words and shifts of blocks."""

    name: ClassVar[str] = "ter"
    title: ClassVar[str] = "TER"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("ter",)
    main: ClassVar[str] = "ter"
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = cite("snover-etal-2006-study")

    case: str = option("lower", Choice("lower", "mixed"), help="lower: ignore case")
    normalized: str = option("no", Choice("yes", "no"), help="whether to separate punctuation from words")
    punctuation: str = option("yes", Choice("yes", "no"), help="whether punctuation counts")
    asian: str = option("no", Choice("yes", "no"), help="whether to split Chinese and Japanese into characters")

    @property
    def unused(self) -> Mapping[str, str]:
        """`asian` changes the other two steps."""
        if self.normalized == "yes" or self.punctuation == "no":
            return {}
        return {"asian": "has no effect without normalized=yes or punctuation=no"}

    def describe_empty(self) -> str:
        return "scored 100"

    @property
    def _formula(self) -> str:
        return "rate"

    def corpus_scores(self, statistics: CorpusCounts) -> dict[str, float]:
        return {self.main: statistics.whole}  # mean lengths of several references may be fractions

    def _engine(self, *, sentences: bool) -> Any:
        return require("sacrebleu.metrics", "lexical").TER(
            normalized=self.normalized == "yes",
            no_punct=self.punctuation == "no",
            asian_support=self.asian == "yes",
            case_sensitive=self.case == "mixed",
        )
