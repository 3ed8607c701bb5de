"""chrF and chrF++ (Popović 2015, 2017), through sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.core.kinds import Int
from nlgauge.core.options import option
from nlgauge.io.packages import require
from nlgauge.metrics.bleu import SacreBLEUMetric
from nlgauge.metrics.parts.citations import cite


@dataclass(frozen=True, kw_only=True)
class ChrF(SacreBLEUMetric):
    """Character n-gram F; with `words=2` it is chrF++."""

    name: ClassVar[str] = "chrf"
    components: ClassVar[tuple[str, ...]] = ("chrf",)
    main: ClassVar[str] = "chrf"
    citation: ClassVar[str] = cite("popovic-2015-chrf")

    chars: int = option(6, Int(1), help="longest character n-gram", short="nc")
    words: int = option(0, Int(0), help="longest word n-gram; 2 makes it chrF++", short="nw")
    beta: int = option(2, Int(1), help="weight of recall", short="b")

    @property
    def _formula(self) -> str:
        return f"chrf:{self.beta}"

    def _engine(self, *, sentences: bool) -> Any:
        return require("sacrebleu.metrics", "lexical").CHRF(
            char_order=self.chars, word_order=self.words, beta=self.beta
        )
