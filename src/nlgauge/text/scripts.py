"""Which scripts a text is written in, to tell a text that a model cannot have learnt from one that it may have.

Letters and their marks are counted by script; digits, punctuation, symbols and emoji belong to none. A script is
what the first word of a character's Unicode name says, for the scripts that living languages are written in.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

__all__ = ["count_scripts", "foreign_script", "script_of"]

#: Scripts by the first word of their characters' names, where that is not the script's own name.
_NAMES = {"CJK": "Han", "OL": "Ol Chiki", "CANADIAN": "Canadian Aboriginal", "NKO": "N'Ko", "ORIYA": "Odia"}

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
    return _NAMES.get(name, name.capitalize()) if name in _SCRIPTS else ""


def count_scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has.

    >>> count_scripts("π is 3.14")
    Counter({'Latin': 2, 'Greek': 1})
    """
    found: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if script := script_of(char):
            found[script] += count
    return Counter(dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))))


def foreign_script(text: str, covered: Collection[str]) -> str:
    """The script of most letters that are of none of the covered ones; empty unless they are the majority.

    >>> foreign_script("Мы идём в парк.", {"Latin"}), foreign_script("The π of Архимед, explained.", {"Latin"})
    ('Cyrillic', '')
    """
    if text.isascii():
        return "" if "Latin" in covered or not any(map(str.isalpha, text)) else "Latin"
    found = count_scripts(text)
    foreign = {script: count for script, count in found.items() if script not in covered}
    return next(iter(foreign), "") if sum(foreign.values()) * 2 > sum(found.values()) else ""
