"""Language codes, detection of scripts and languages, and the languages of models.

A text in a script that a model was not trained on cannot be scored well. Letters and their marks are counted by
script; digits, punctuation, symbols and emoji belong to none. The script is the first word of a character's Unicode
name, for the scripts of living languages.

The language of a corpus is detected by frequent function words. It is used for one warning: texts of another language
under an English model. So detection is conservative: it uses all texts of a call, and returns a language only if many
words belong to it and few to any other language. The lists contain the most frequent articles, prepositions,
conjunctions, pronouns and auxiliaries of a language, without words that also exist in English. Words in two lists do
not count.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path

from nlgauge.errors import LanguageWarning, RecipeError
from nlgauge.io.store.catalog import find_card
from nlgauge.io.toml_records import read_entries

_TABLES = read_entries(Path(__file__).with_name("languages.toml"))

#: ISO 639-1, and ISO 639-3 for further languages of machine translation and summarisation.
LANGUAGE_CODES = frozenset(_TABLES["codes"].split())

#: Two-letter codes by three-letter code (ISO 639-2 and 639-3).
_TWO_LETTERS: dict[str, str] = dict(re.findall(r"(\w+)=(\w+)", _TABLES["two_letters"]))

_SUBTAGS = re.compile(r"(-[a-z0-9]{2,8})*", flags=re.ASCII)


def language_code(text: str) -> str:
    """Normalise a language code: lower case, two letters if possible, `-` before a region.

    >>> [language_code(text) for text in ("EN", "deu", "zh_TW")]
    ['en', 'de', 'zh-tw']
    """
    first, dash, rest = text.strip().lower().replace("_", "-").partition("-")
    primary = _TWO_LETTERS.get(first, first)
    if primary not in LANGUAGE_CODES or not _SUBTAGS.fullmatch(dash + rest):
        msg = f"lang must be an ISO 639 code such as en, de or zh-TW, got {text!r}"
        raise RecipeError(msg)
    return primary + dash + rest


def long_codes(language: str) -> tuple[str, ...]:
    """The three-letter codes of a language, most of which have one.

    >>> long_codes("fr"), long_codes("est"), long_codes("fil")
    (('fra', 'fre'), ('est', 'ekk'), ('fil',))
    """
    base = language_code(language).partition("-")[0]
    return tuple(three for three, two in _TWO_LETTERS.items() if two == base) or (base,)


#: Scripts by the first word of their characters' names, if the two differ.
_SCRIPT_NAMES = {"CJK": "Han", "OL": "Ol Chiki", "CANADIAN": "Canadian Aboriginal", "NKO": "N'Ko", "ORIYA": "Odia"}

#: Words before the script's name, as in FULLWIDTH LATIN CAPITAL LETTER A.
_PREFIXES = frozenset({"FULLWIDTH", "HALFWIDTH", "SUPERSCRIPT", "SUBSCRIPT", "MODIFIER", "LETTER", "SMALL"})

_SCRIPTS = frozenset(
    """ADLAM ARABIC ARMENIAN BALINESE BENGALI BOPOMOFO CANADIAN CHEROKEE CJK CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN
    GREEK GUJARATI GURMUKHI HANGUL HEBREW HIRAGANA JAVANESE KANNADA KATAKANA KHMER LAO LATIN MALAYALAM MONGOLIAN
    MYANMAR NKO OL ORIYA SINHALA SUNDANESE SYRIAC TAMIL TELUGU THAANA THAI TIBETAN TIFINAGH VAI YI""".split()  # noqa: SIM905 - easier to read than quotes
)


@lru_cache(maxsize=16384)
def script_of(char: str) -> str:
    """The script of a letter or of its mark; empty for other characters and for historic scripts.

    >>> [script_of(char) for char in "aяก한語!😀"]
    ['Latin', 'Cyrillic', 'Thai', 'Hangul', 'Han', '', '']
    """
    if unicodedata.category(char)[0] not in "LM":
        return ""
    words = unicodedata.name(char, "").replace("-", " ").split()
    name = next((word for word in words if word not in _PREFIXES), "")
    return _SCRIPT_NAMES.get(name, name.capitalize()) if name in _SCRIPTS else ""


def count_scripts(text: str) -> Counter[str]:
    """Count the letters of each script in a text.

    >>> count_scripts("π is 3.14")
    Counter({'Latin': 2, 'Greek': 1})
    """
    counts: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if script := script_of(char):
            counts[script] += count
    return Counter(dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))))


def foreign_script(text: str, covered: Collection[str]) -> str:
    """The most frequent script that is not covered; empty unless most letters are in scripts that are not covered.

    >>> foreign_script("Мы идём в парк.", {"Latin"}), foreign_script("The π of Архимед, explained.", {"Latin"})
    ('Cyrillic', '')
    """
    if text.isascii():
        return "" if "Latin" in covered or not any(map(str.isalpha, text)) else "Latin"
    counts = count_scripts(text)
    foreign = {script: count for script, count in counts.items() if script not in covered}
    return next(iter(foreign), "") if sum(foreign.values()) * 2 > sum(counts.values()) else ""


#: English names of all languages that can be detected.
LANGUAGE_NAMES: dict[str, str] = _TABLES["names"]

#: The lists contain no single letters, which are words in several languages.
_LISTS = {language: set(words.split()) for language, words in _TABLES["words"].items()}
_SHARED = {word for word, count in Counter(chain.from_iterable(_LISTS.values())).items() if count > 1}
_LANGUAGE_OF_WORD = {word: language for language, words in _LISTS.items() for word in words - _SHARED}

_WORD = re.compile(r"[^\W\d_]+")

#: Characters used for detection; more do not improve it.
_MOST_CHARACTERS = 200_000

#: Least number of a language's function words, and their least share of all words.
_FEWEST, _LEAST_SHARE = 8, 0.04

#: Least ratio of its function words to those of the next language.
_AHEAD = 3


def language_name(code: str) -> str:
    """The English name of a language, or its code; a region (`pt-BR`) does not count.

    >>> language_name("zh-TW"), language_name("xx")
    ('Chinese', 'xx')
    """
    name: str = (LANGUAGE_NAMES | _TABLES["other_names"]).get(code.partition("-")[0], code)
    return name


def language_of_texts(texts: Iterable[str]) -> str:
    """The code of the language of all texts together; empty if that is not clear.

    >>> language_of_texts(["Ein Mann und eine Frau sitzen auf der Bank, und das Kind ist bei ihnen."] * 2)
    'de'
    >>> language_of_texts(["Ein Mann"]), language_of_texts(["A man and a woman sit on the bank."] * 5)
    ('', 'en')
    """
    counts: Counter[str] = Counter()
    words = characters = 0
    for text in texts:
        split = _WORD.findall(text.lower())
        words += len(split)
        counts.update(filter(None, map(_LANGUAGE_OF_WORD.get, split)))
        characters += len(text)
        if characters > _MOST_CHARACTERS:
            break
    (first, most), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    is_clear = most >= _FEWEST and most >= _LEAST_SHARE * words and most >= _AHEAD * second
    return first if is_clear else ""


#: The multilingual model that works offline (extra `multilingual`).
MULTILINGUAL = "muse"


def single_language(model: str) -> str:
    """The language of a monolingual model; empty for multilingual and unknown models."""
    card = find_card(model)
    languages = ("en",) if model in _TABLES["english_only"] else () if card is None else card.languages
    return languages[0] if len(languages) == 1 else ""


def warn_if_unsupported(model: str, language: str, *, read: bool = False, stacklevel: int = 2) -> None:
    """Warn if a model was not trained on a language; regions (`pt-BR`) do not count.

    Set `read` if the model reads texts of this language; only then is a monolingual model checked. `stacklevel` is
    that of `warnings.warn`, seen from the caller.
    """
    card = find_card(model)
    if card is not None and len(card.languages) > 1 and not card.knows_language(language):
        msg = (
            f"model {card.name!r} was not trained on language {language!r}, so its scores are unreliable; "
            f"it was trained on: {', '.join(card.languages)}"
        )
        warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
    elif read and (trained := single_language(model)) and language.partition("-")[0] != trained:
        what = f"the language is set to {language_name(language)}"
        warn_of_other_language(model, what, language, stacklevel=stacklevel + 1)


def warn_of_other_language(model: str, what: str, language: str, *, stacklevel: int = 2) -> None:
    """Warn about texts that are not in the language of a monolingual model; `what` begins the message."""
    multilingual = find_card(MULTILINGUAL)
    covered = multilingual is not None and multilingual.knows_language(language)
    offer = (
        f"a multilingual model, such as model='{MULTILINGUAL}'" if covered else "a model of that language (model=)"
    )
    trained = language_name(single_language(model))
    msg = f"{what}, but model {model!r} was trained on {trained} only, so scores are unreliable; use {offer}"
    warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
