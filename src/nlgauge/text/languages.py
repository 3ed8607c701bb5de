"""Languages: their codes, the script and the language of texts, and the languages of known models.

Scripts separate a text that a model cannot have learnt from one that it may have. Letters and their marks are counted
by script; digits, punctuation, symbols and emoji belong to none. A script is the first word of a character's Unicode
name, for the scripts that living languages are written in.

The language of a corpus is found by its most frequent function words. It serves one warning: texts of another
language under a model of English only. So it decides slowly: it looks at all texts of a call together, needs a number
of words, and names a language only where its words are many and those of every other language, English first, are
few. Otherwise it names none. The lists have the most frequent articles, prepositions, conjunctions, pronouns and
auxiliaries of a language, without those that are also words of English; words of two lists do not count.
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

#: ISO 639-1, and languages of machine translation and summarisation that only ISO 639-3 has.
LANGUAGE_CODES = frozenset(_TABLES["codes"].split())

#: Three letters (ISO 639-2 and 639-3) for languages that have two.
_TWO_LETTERS: dict[str, str] = dict(re.findall(r"(\w+)=(\w+)", _TABLES["two_letters"]))

_SUBTAGS = re.compile(r"(-[a-z0-9]{2,8})*", flags=re.ASCII)


def language_code(text: str) -> str:
    """The spelling that tables have of a code: lower case, two letters where there are, `-` before a region.

    >>> [language_code(text) for text in ("EN", "deu", "zh_TW")]
    ['en', 'de', 'zh-tw']
    """
    first, dash, rest = text.strip().lower().replace("_", "-").partition("-")
    primary = _TWO_LETTERS.get(first, first)
    if primary not in LANGUAGE_CODES or not _SUBTAGS.fullmatch(dash + rest):
        fix = "give an ISO 639 code such as en, de or zh-TW"
        msg = f"lang must be the code of a language, got {text!r}; {fix}"
        raise RecipeError(msg)
    return primary + dash + rest


#: Scripts by the first word of their characters' names, where that is not the script's own name.
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
    """The script of a letter or of a mark on one; empty for any other character, and for scripts of the past.

    >>> [script_of(char) for char in "aяก한語!😀"]
    ['Latin', 'Cyrillic', 'Thai', 'Hangul', 'Han', '', '']
    """
    if unicodedata.category(char)[0] not in "LM":
        return ""
    words = unicodedata.name(char, "").replace("-", " ").split()
    name = next((word for word in words if word not in _PREFIXES), "")
    return _SCRIPT_NAMES.get(name, name.capitalize()) if name in _SCRIPTS else ""


def count_scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has.

    >>> count_scripts("π is 3.14")
    Counter({'Latin': 2, 'Greek': 1})
    """
    counts: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if script := script_of(char):
            counts[script] += count
    return Counter(dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))))


def foreign_script(text: str, covered: Collection[str]) -> str:
    """The script of most letters that are of none of the covered ones; empty unless they are the majority.

    >>> foreign_script("Мы идём в парк.", {"Latin"}), foreign_script("The π of Архимед, explained.", {"Latin"})
    ('Cyrillic', '')
    """
    if text.isascii():
        return "" if "Latin" in covered or not any(map(str.isalpha, text)) else "Latin"
    counts = count_scripts(text)
    foreign = {script: count for script, count in counts.items() if script not in covered}
    return next(iter(foreign), "") if sum(foreign.values()) * 2 > sum(counts.values()) else ""


#: Names in English of all languages that can be detected.
LANGUAGE_NAMES: dict[str, str] = _TABLES["names"]

#: The lists have no single letters, which are words of several languages.
_LISTS = {language: set(words.split()) for language, words in _TABLES["words"].items()}
_SHARED = {word for word, count in Counter(chain.from_iterable(_LISTS.values())).items() if count > 1}
_LANGUAGE_OF_WORD = {word: language for language, words in _LISTS.items() for word in words - _SHARED}

_WORD = re.compile(r"[^\W\d_]+")

#: Characters that are looked at, from the first texts on: more of them tell no more.
_MOST_CHARACTERS = 200_000

#: Function words that a language needs to be named, and their share in all words.
_FEWEST, _LEAST_SHARE = 8, 0.04

#: How many times as many function words it has as the language with the next most.
_AHEAD = 3


def language_name(code: str) -> str:
    """The English name of a language, or its code; a region (`pt-BR`) does not count.

    >>> language_name("zh-TW"), language_name("xx")
    ('Chinese', 'xx')
    """
    name: str = (LANGUAGE_NAMES | _TABLES["other_names"]).get(code.partition("-")[0], code)
    return name


def language_of_texts(texts: Iterable[str]) -> str:
    """The code of the language that the texts are in, taken together; empty where that is not plain.

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
    sure = most >= _FEWEST and most >= _LEAST_SHARE * words and most >= _AHEAD * second
    return first if sure else ""


#: Model for texts of several languages that needs no network (extra `multilingual`).
MULTILINGUAL = "muse"


def one_language_of(model: str) -> str:
    """The only language that a model was trained on; empty where there are several, or nothing is known of it."""
    card = find_card(model)
    languages = ("en",) if model in _TABLES["english_only"] else () if card is None else card.languages
    return languages[0] if len(languages) == 1 else ""


def warn_if_unsupported(model: str, language: str, *, read: bool = False, stacklevel: int = 2) -> None:
    """Warn of a language that a known model was not trained on; regions (`pt-BR`) do not count.

    `read` says that the model reads texts of this language. Where it may not, as with the language of sources that
    stand next to the texts, a model of one language is not judged. `stacklevel` is what the caller would give to
    `warnings.warn`.
    """
    card = find_card(model)
    if card is not None and len(card.languages) > 1 and not card.knows_language(language):
        msg = (
            f"model {card.name!r} was not trained on language {language!r}, so its vectors mean little there; "
            f"it knows: {', '.join(card.languages)}"
        )
        warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
    elif read and (own := one_language_of(model)) and language.partition("-")[0] != own:
        what = f"texts are in {language_name(language)}"
        warn_of_other_language(model, what, language, stacklevel=stacklevel + 1)


def warn_of_other_language(model: str, what: str, language: str, *, stacklevel: int = 2) -> None:
    """Warn of texts in another language than the only one of a model; `what` says so of the texts."""
    multilingual = find_card(MULTILINGUAL)
    known = multilingual is not None and multilingual.knows_language(language)
    offer = f"a multilingual model, such as model='{MULTILINGUAL}'" if known else "a model of that language (model=)"
    own = language_name(one_language_of(model))
    msg = f"{what}, but model {model!r} was trained on {own} only; use {offer}"
    warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
