"""Lexical baselines through the packages of the field: BLEU and chrF (sacrebleu), ROUGE (rouge-score).

No number of their own: the packages compute, this file gives them the interface and the signature of the other
metrics, so that every table can have them. Scores are on the packages' scales (BLEU and chrF 0 to 100, ROUGE 0 to
1). BLEU and chrF of a system count over all its segments; their segment scores are sentence BLEU (with effective
order, as sacrebleu advises) and sentence chrF.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.recipes.metric import Finished, TextMetric, option

__all__ = ["BLEU", "ChrF", "Rouge1", "Rouge2", "RougeL"]


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"this metric needs the package {name.partition('.')[0]}: pip install 'nlgauge[meta]'"
        raise MissingExtraError(msg) from error


def _version(package: str) -> str:
    _package(package.replace("-", "_"))  # an error with the command to run where it is missing
    return version(package)


@dataclass(frozen=True, kw_only=True)
class _SacreBLEUMetric(TextMetric):
    """What BLEU and chrF share; several references count together, as each metric defines it."""

    higher_is_better: ClassVar[bool] = True

    @abstractmethod
    def _engine(self, *, sentences: bool) -> Any:
        """The package's object, for single sentences or for a whole corpus."""

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Finished:
        sentence, corpus = self._engine(sentences=True), self._engine(sentences=False)
        values = [
            sentence.sentence_score(hypothesis, list(group)).score
            for hypothesis, group in zip(hypotheses, references, strict=True)
        ]
        most = max(len(group) for group in references)
        # sacrebleu takes streams; where the number of references varies, None stands for a missing one.
        streams = [[group[at] if at < len(group) else None for group in references] for at in range(most)]
        whole = corpus.corpus_score(list(hypotheses), streams).score
        return Finished({self.main: np.array(values)}, corpus={self.main: float(whole)})

    @abstractmethod
    def _described(self) -> dict[str, str]:
        """The options, for the signature."""

    def describe_texts(self) -> dict[str, str]:
        return self._described() | {"sacrebleu": _version("sacrebleu")}


@dataclass(frozen=True, kw_only=True)
class BLEU(_SacreBLEUMetric):
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
        bleu = _package("sacrebleu.metrics").BLEU
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


@dataclass(frozen=True, kw_only=True)
class ChrF(_SacreBLEUMetric):
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
        return _package("sacrebleu.metrics").CHRF(char_order=self.chars, word_order=self.words, beta=self.beta)

    def _described(self) -> dict[str, str]:
        return {"chars": str(self.chars), "words": str(self.words), "beta": str(self.beta)}


@dataclass(frozen=True, kw_only=True)
class _Rouge(TextMetric):
    """Overlap of n-grams, or of the longest common subsequence; several references are averaged, or the best."""

    kind: ClassVar[str]
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    higher_is_better: ClassVar[bool] = True
    signature_fields: ClassVar[tuple[str, ...]] = ("stemmer", "multiref", "measure", "rouge_score")
    citation: ClassVar[str] = """\
@inproceedings{lin-2004-rouge,
  title     = {{ROUGE}: A Package for Automatic Evaluation of Summaries},
  author    = {Lin, Chin-Yew},
  booktitle = {Text Summarization Branches Out},
  year      = {2004},
  url       = {https://aclanthology.org/W04-1013}
}"""

    stemmer: str = option("yes", parse=str, help="yes (Porter's) or no")
    multiref: str = option("mean", parse=str, help="rule for several references: mean or best (by measure)")
    measure: str = option("f1", parse=str, help="what stands for the metric: f1, recall or precision")

    def __post_init__(self) -> None:
        for name, allowed in (
            ("stemmer", ("yes", "no")),
            ("multiref", ("mean", "best")),
            ("measure", self.components),
        ):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The measure that was chosen."""
        return self.measure

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Finished:
        scorer = _package("rouge_score.rouge_scorer").RougeScorer(
            [self.kind], tokenizer=_words(self.stemmer == "yes")
        )
        rows, best = [], []
        for hypothesis, group in zip(hypotheses, references, strict=True):
            found = [scorer.score(reference, hypothesis)[self.kind] for reference in group]
            table = np.array([[one.precision, one.recall, one.fmeasure] for one in found])
            best.append(int(table[:, self.components.index(self.measure)].argmax()))
            rows.append(table[best[-1]] if self.multiref == "best" else table.mean(axis=0))
        values = np.array(rows)
        segments = {name: values[:, column].copy() for column, name in enumerate(self.components)}
        return Finished(segments, np.array(best, dtype=np.int64))

    def describe_texts(self) -> dict[str, str]:
        return {
            "stemmer": self.stemmer,
            "multiref": self.multiref,
            "measure": self.measure,
            "rouge_score": _version("rouge-score"),
        }


class _Words:
    """The package's own tokenizer, which reads each text once however many pairs it is in."""

    def __init__(self, stem: bool) -> None:
        tokenizer = _package("rouge_score.tokenizers").DefaultTokenizer(stem)
        self.tokenize = lru_cache(maxsize=4096)(tokenizer.tokenize)


@cache
def _words(stem: bool) -> _Words:
    """One for all systems, which share their references."""
    return _Words(stem)


class Rouge1(_Rouge):
    """ROUGE-1: words."""

    name: ClassVar[str] = "rouge1"
    kind: ClassVar[str] = "rouge1"


class Rouge2(_Rouge):
    """ROUGE-2: pairs of words."""

    name: ClassVar[str] = "rouge2"
    kind: ClassVar[str] = "rouge2"


class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence of words."""

    name: ClassVar[str] = "rougel"
    kind: ClassVar[str] = "rougeL"
