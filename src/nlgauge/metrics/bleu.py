"""BLEU (Papineni et al. 2002), through sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.metrics.parts.packages import package
from nlgauge.metrics.parts.sacrebleu_metric import SacreBLEUMetric
from nlgauge.recipes.metric import option

__all__ = ["BLEU"]


@dataclass(frozen=True, kw_only=True)
class BLEU(SacreBLEUMetric):
    """Corpus BLEU, and sentence BLEU for segments."""

    name: ClassVar[str] = "bleu"
    components: ClassVar[tuple[str, ...]] = ("bleu",)
    main: ClassVar[str] = "bleu"
    signature_fields: ClassVar[tuple[str, ...]] = ("case", "tokenize", "smooth", "sacrebleu")
    citation: ClassVar[str] = """\
@inproceedings{post-2018-call,
  title     = {A Call for Clarity in Reporting {BLEU} Scores},
  author    = {Post, Matt},
  booktitle = {Proceedings of the Third Conference on Machine Translation: Research Papers},
  year      = {2018},
  url       = {https://aclanthology.org/W18-6319}
}"""

    case: str = option("mixed", parse=str, help="mixed, or lower: compare in lower case")
    tokenize: str = option("13a", parse=str, help="a tokenizer of sacrebleu: 13a, intl, char, none, zh, ...")
    smooth: str = option("exp", parse=str, help="exp, floor, add-k or none")

    def __post_init__(self) -> None:
        for name, allowed in (("case", ("mixed", "lower")), ("smooth", ("exp", "floor", "add-k", "none"))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)

    def _engine(self, *, sentences: bool) -> Any:
        bleu = package("sacrebleu.metrics").BLEU
        if self.tokenize not in bleu.TOKENIZERS:
            msg = f"tokenize must be one of {', '.join(bleu.TOKENIZERS)}, got {self.tokenize!r}"
            raise RecipeError(msg)
        try:
            return bleu(
                lowercase=self.case == "lower",
                tokenize=self.tokenize,
                smooth_method=self.smooth,
                effective_order=sentences,
                force=True,  # no word about tokenised texts: data sets are as they are
            )
        except (RuntimeError, ImportError) as error:  # tokenizers of some languages are packages of their own
            msg = f"tokenizer {self.tokenize!r} of sacrebleu cannot be used here: {' '.join(str(error).split())}"
            raise MissingExtraError(msg) from error

    def _described(self) -> dict[str, str]:
        return {"case": self.case, "tokenize": self.tokenize, "smooth": self.smooth}
