"""Stop words by name or from a file.

    none            no words
    spacy-LANG      the list of spaCy's language package (326 words for English)
    iso-LANG        the list of the package stopwordsiso
    nltk-LANG       the list of NLTK, where its corpus is installed
    PATH            a file with a word per line

Lists change between versions of their packages, so a signature carries the digest of the words themselves.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from nlgauge.errors import FileFormatError, InputError, MissingExtraError, RecipeError
from nlgauge.io.lines import read_bytes, whole_text
from nlgauge.io.packages import require
from nlgauge.io.storage import short_digest
from nlgauge.text.languages import language_name

#: The start of a JSON list or object of texts.
_JSON = re.compile(r"\s*(\[|\{)\s*\"")

#: A comma between two fields; a comma by itself, or in a number such as 1,000, may be on a list of words.
_COMMA_IN_LINE = re.compile(r"[^\W\d],[ \t]*\w|\w,[ \t]*[^\W\d]|[\"'],")


@dataclass(frozen=True)
class StopWords:
    """A list of words and where it comes from."""

    name: str
    words: frozenset[str]

    @cached_property
    def digest(self) -> str:
        """sha256 of the sorted words, one per line."""
        return hashlib.sha256("\n".join(sorted(self.words)).encode()).hexdigest()

    @property
    def label(self) -> str:
        """The list's name and the digest of its words, as a signature has it."""
        return f"{self.name}[{short_digest(self.digest)}]" if self.words else "none"


def load_stopwords(name: str) -> StopWords:
    """The list of that name, or of that file.

    >>> len(load_stopwords("none").words)
    0
    """
    if name == "none":
        return StopWords("none", frozenset())
    source, dash, language = name.partition("-")
    if dash and source in _SOURCES and not Path(name).is_file():
        return _by_name(name, source, language)
    try:
        text = whole_text(read_bytes(name), name)
    except InputError as error:
        lists = ", ".join(f"{source}-LANG" for source in _SOURCES)
        msg = f"stop-word file {name!r} cannot be read: {error}; lists by name are: {lists}"
        raise InputError(msg) from error
    return StopWords("file", frozenset(_words_of_file(text, name)))


def _words_of_file(text: str, name: str) -> list[str]:
    """The words, at least one; a table or JSON is refused, because its words would carry commas and brackets."""
    words = text.split()
    if not words:
        msg = f"stop-word file {name!r} holds no words; write a word per line, or leave stopwords= out"
        raise FileFormatError(msg)
    kind = _is_table(text, name)
    if kind:
        msg = f"stop-word file {name!r} is {kind}, not a list of words; write a word per line"
        raise FileFormatError(msg)
    return words


def _is_table(text: str, name: str) -> str:
    """What a file is instead of a list of words, by its name or its content; empty for a list."""
    suffix = name.lower().removesuffix(".gz").rpartition(".")[2]
    if suffix in {"json", "jsonl"} or _JSON.match(text):
        return "JSON"
    if suffix == "tsv" or "\t" in text.strip():
        return "a table with tabs"
    return "a table with commas" if suffix == "csv" or _COMMA_IN_LINE.search(text) else ""


@lru_cache(maxsize=64)  # recipes of one run then hold one and the same set, which compares at once
def _by_name(name: str, source: str, language: str) -> StopWords:
    return StopWords(name, frozenset(_SOURCES[source](language)))


def _spacy(language: str) -> Iterable[str]:
    require("spacy", "spacy")
    try:
        words: Iterable[str] = importlib.import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS
    except ImportError as error:
        msg = _no_list("spacy", language)
        raise RecipeError(msg) from error
    return words


def _stopwordsiso(language: str) -> Iterable[str]:
    package = require("stopwordsiso", "lexical")
    if not package.has_lang(language):
        msg = _no_list("iso", language)
        raise RecipeError(msg)
    words: Iterable[str] = package.stopwords(language)
    return words


def _nltk(language: str) -> Iterable[str]:
    corpus = require("nltk.corpus", "lexical")
    name = language_name(language).split()[0].lower()  # NLTK names a language in English
    try:
        words: Iterable[str] = corpus.stopwords.words(name)
    except LookupError as error:
        msg = "NLTK's stop words are not on this machine; run: python -m nltk.downloader stopwords"
        raise MissingExtraError(msg) from error
    except OSError as error:
        msg = _no_list("nltk", language)
        raise RecipeError(msg) from error
    return words


_SOURCES: dict[str, Callable[[str], Iterable[str]]] = {"spacy": _spacy, "iso": _stopwordsiso, "nltk": _nltk}


def _no_list(source: str, language: str) -> str:
    return f"{source} has no stop words for language {language!r}; languages are two-letter codes, such as 'en'"
