"""chrF: an F score of character n-grams; computed by sacrebleu.

What it computes
----------------

    chrF = 100 (1 + b^2) P R / (b^2 P + R)         P, R: averages over n-grams of 1 to 6 characters, b = 2

Spaces are ignored. Orders longer than a text are left out. With `words=2`, word n-grams of one and two words count as
further orders: chrF++ (`words=1`: chrF+). With `beta=1` and `beta=3` it is chrF1 and chrF3.

Worked example
--------------

"ab" and "ac" share 1 of 2 characters and 0 of 1 pairs, so P = R = (1/2 + 0) / 2 = .25.

    >>> import nlgauge
    >>> nlgauge.score(["ab"], ["ac"], "chrf").segments["chrf"].tolist()
    [25.0]

Profiles and deviations
-----------------------

There are no profiles: sacrebleu computes, and its version is in the signature.

Relations
---------

- BLEU counts word n-grams and no recall. On WMT17 (segment-level Pearson, seven pairs to English) chrF has .574 and
  sentence BLEU .481; BERTScore has .666 with MiniLM and .738 with mpnet. See docs/findings.

Citation
--------

Popović: "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015; "chrF++: words helping character
n-grams", WMT 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.core.kinds import Int
from nlgauge.core.options import option
from nlgauge.io.packages import require
from nlgauge.metrics.bleu import SacreBLEUMetric
from nlgauge.metrics.parts import cite


@dataclass(frozen=True, kw_only=True)
class ChrF(SacreBLEUMetric):
    """F-score of character n-grams; `words=2` gives chrF++."""

    name: ClassVar[str] = "chrf"
    title: ClassVar[str] = "chrF"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("chrf",)
    main: ClassVar[str] = "chrf"
    citation: ClassVar[str] = cite("popovic-2015-chrf")

    chars: int = option(6, Int(1), help="longest character n-gram")
    words: int = option(0, Int(0), help="longest word n-gram; 1: chrF+, 2: chrF++")
    beta: int = option(2, Int(1), help="weight of recall relative to precision")

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """With the weight of recall if it is not 2 (chrF1, chrF3), and a plus per word n-gram (chrF+, chrF++)."""
        beta, words = recipe.get("beta", "2"), recipe.get("words", "0")
        return cls.title + ("" if beta == "2" else beta) + {"1": "+", "2": "++"}.get(words, "")

    @property
    def _formula(self) -> str:
        return f"chrf:{self.beta}"

    def _engine(self, *, sentences: bool) -> Any:
        return require("sacrebleu.metrics", "lexical").CHRF(
            char_order=self.chars, word_order=self.words, beta=self.beta
        )
