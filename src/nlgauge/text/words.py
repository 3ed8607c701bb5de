r"""Words of a text, as a reader sees them and as the Penn Treebank has them; and lists of stop words.

`split_words` gives the same words whatever model reads the text.

`treebank_words` follows the rules of NLTK's word tokenizer for English, without the package: overlap of words in
published scores (BLEU-1, lexical factors) was counted on these. The rules, for a text of one sentence:

- Brackets, ``;@#$%&?!*``, long dashes, curly and angular quotes, two hyphens and two or more full stops are words.
- A comma or a colon is a word unless a digit follows. Only the last full stop of a text is one: "U.S." stays whole,
  and so does the end of a sentence within the text ("York.").
- A straight quote becomes two backticks where it opens (at the start, after a blank or a bracket), else two
  apostrophes.
- "don't", "it's" and "we'll" are two words each ("do", "n't"); so are "cannot", "gonna" and a few more.

`load_stopwords` takes a list by its name or its file:

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
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from nlgauge.errors import FileFormatError, InputError, MissingExtraError, RecipeError
from nlgauge.io.packages import require
from nlgauge.io.storage import short_digest
from nlgauge.io.tables import read_bytes, whole_text
from nlgauge.text.languages import language_name
from nlgauge.text.tokenizer import is_punctuation, is_unspaced

#: How a text is divided: at blanks and punctuation, or at blanks only (for text that was tokenised before).
WORD_RULES = ("words", "blanks")

#: Punctuation that belongs to a word between letters or digits, and to a number between digits.
_IN_WORDS = "'’-‐‑_"
_IN_NUMBERS = ".,:"


class WordSpan(NamedTuple):
    """A word and its place: first character, and the one after the last."""

    text: str
    start: int
    end: int


def split_words(text: str, rule: str = "words") -> tuple[WordSpan, ...]:
    """Words in order; every character that is not white space belongs to exactly one.

    Under `words` a punctuation mark is a word unless it stands inside of one ("don't", "post-war", "3.5"), and so is
    each character of a script without blanks, with the marks that belong to it. Under `blanks` a word is what stands
    between blanks.

    >>> [word.text for word in split_words("Don't go (3.5 km).")]
    ["Don't", 'go', '(', '3.5', 'km', ')', '.']
    >>> [word.text for word in split_words("Don't go (3.5 km).", "blanks")]
    ["Don't", 'go', '(3.5', 'km).']
    """
    if rule not in WORD_RULES:
        msg = f"words must be one of {', '.join(WORD_RULES)}, got {rule!r}"
        raise RecipeError(msg)
    words: list[WordSpan] = []
    for match in re.finditer(r"\S+", text):
        start = match.start()
        if rule == "words":
            inner = range(match.start() + 1, match.end())
            for place in inner:
                if _divided(text, place):
                    words.append(WordSpan(text[start:place], start, place))
                    start = place
        words.append(WordSpan(text[start : match.end()], start, match.end()))
    return tuple(words)


def _divided(text: str, place: int) -> bool:
    """Whether a word ends before the character at that place, which is not the first of the text."""
    before, here = text[place - 1], text[place]
    if unicodedata.category(here).startswith("M"):  # an accent or a vowel sign belongs to the letter before it
        return False
    if is_unspaced(before) or is_unspaced(here):
        return True
    if is_punctuation(here):
        return not _joins(text, place)
    return is_punctuation(before) and not _joins(text, place - 1)


def _joins(text: str, place: int) -> bool:
    """Whether a punctuation mark stands inside of a word ("don't") or of a number ("3.5")."""
    if not 0 < place < len(text) - 1:
        return False
    before, mark, after = text[place - 1], text[place], text[place + 1]
    if mark in _IN_NUMBERS:
        return before.isdigit() and after.isdigit()
    return mark in _IN_WORDS and before.isalnum() and after.isalnum()


_OPENING, _CLOSING = "``", "''"

#: The last full stop, with closing marks after it.
_LAST_STOP = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’ ]*\s*\Z)""")
_OPENS = re.compile(r"""\A"|(?<=[ (\[{<])(?:"|'')""")
_OPENING_APOSTROPHE = re.compile(r"(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_ALONE = re.compile(r"""\.{2,}|--|[;@#$%&?!*()\[\]{}<>‒–—―«»“”„‘’]|`+|''|"|[:,](?!\d)""")
#: What a chunk between blanks ends in, to be cut off, in this order.
_ENDINGS = (
    re.compile(r"(?<=[^'])('[sSmMdD]|')\Z"),
    re.compile(r"(?<=[^'])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T)\Z"),
)
_JOINED = re.compile(r"\b(can)(not)\b|\b(d)('ye)\b|\b(gim|lem)(me)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b", re.IGNORECASE)


def treebank_words(text: str) -> list[str]:
    """The words of a text.

    >>> treebank_words('"I can\\'t," he said in the U.S. yesterday.')
    ['``', 'I', 'ca', "n't", ',', "''", 'he', 'said', 'in', 'the', 'U.S.', 'yesterday', '.']
    """
    spaced = _OPENS.sub(f" {_OPENING} ", text)
    spaced = _OPENING_APOSTROPHE.sub("' ", spaced)
    spaced = _LAST_STOP.sub(" . ", spaced)
    spaced = _ALONE.sub(r" \g<0> ", spaced).replace('"', _CLOSING)
    return [word for chunk in spaced.split() for word in _cut(chunk)]


def _cut(chunk: str) -> list[str]:
    """A chunk between blanks as words: what is written together, apart."""
    if chunk in (_OPENING, _CLOSING):
        return [chunk]
    tail: list[str] = []
    for ending in _ENDINGS:
        if match := ending.search(chunk):
            tail.insert(0, match[0])
            chunk = chunk[: match.start()]
    joined = _JOINED.search(chunk)
    if joined is None:
        return [chunk, *tail]
    first, second = (part for part in joined.groups() if part is not None)
    before, after = chunk[: joined.start()], chunk[joined.end() :]
    return [word for word in (before, first, second, after) if word] + tail


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
