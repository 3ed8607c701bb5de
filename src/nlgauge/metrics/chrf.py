"""chrF and chrF++ (Popović 2015, 2017), through sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.packages import package
from nlgauge.metrics.parts.sacrebleu_metric import SacreBLEUMetric
from nlgauge.recipes.metric import option

__all__ = ["ChrF"]


@dataclass(frozen=True, kw_only=True)
class ChrF(SacreBLEUMetric):
    """Character n-gram F; with `words=2` it is chrF++."""

    name: ClassVar[str] = "chrf"
    components: ClassVar[tuple[str, ...]] = ("chrf",)
    main: ClassVar[str] = "chrf"
    signature_fields: ClassVar[tuple[str, ...]] = ("chars", "words", "beta", "sacrebleu")
    citation: ClassVar[str] = """\
@inproceedings{popovic-2015-chrf,
  title     = {chr{F}: character n-gram {F}-score for automatic {MT} evaluation},
  author    = {Popovi{\\'c}, Maja},
  booktitle = {Proceedings of the Tenth Workshop on Statistical Machine Translation},
  year      = {2015},
  url       = {https://aclanthology.org/W15-3049}
}"""

    chars: int = option(6, parse=int, help="longest character n-gram")
    words: int = option(0, parse=int, help="longest word n-gram; 2 makes it chrF++")
    beta: int = option(2, parse=int, help="weight of recall")

    def __post_init__(self) -> None:
        for name, least in (("chars", 1), ("words", 0), ("beta", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                msg = f"{name} is a whole number, at least {least}, got {value!r}"
                raise RecipeError(msg)

    def _engine(self, *, sentences: bool) -> Any:
        return package("sacrebleu.metrics").CHRF(char_order=self.chars, word_order=self.words, beta=self.beta)

    def _described(self) -> dict[str, str]:
        return {"chars": str(self.chars), "words": str(self.words), "beta": str(self.beta)}
