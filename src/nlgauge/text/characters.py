"""What a character is: a punctuation mark, or of a script that has no blanks between words."""

from __future__ import annotations

import string
import unicodedata
from functools import lru_cache

__all__ = ["UNSPACED_LANGUAGES", "base_language", "is_punctuation", "is_unspaced"]

#: Languages without blanks between words, by their code without a region.
UNSPACED_LANGUAGES = ("ja", "th", "zh")

_NAMES = ("CJK", "HIRAGANA", "KATAKANA", "THAI")


def is_punctuation(char: str) -> bool:
    """Whether it is of Unicode's category P, or of ASCII's punctuation, which has symbols such as $ and + too.

    >>> [is_punctuation(char) for char in "«$€a"]
    [True, True, False, False]
    """
    return char in string.punctuation or unicodedata.category(char).startswith("P")


@lru_cache(maxsize=4096)
def is_unspaced(char: str) -> bool:
    """Whether it belongs to a script without blanks: Chinese, Japanese, Thai; Korean has them.

    >>> [is_unspaced(char) for char in "語ไa한"]
    [True, True, False, False]
    """
    return unicodedata.name(char, "").startswith(_NAMES)


def base_language(lang: str) -> str:
    """A language's code without its region.

    >>> base_language("zh_TW")
    'zh'
    """
    return lang.lower().replace("_", "-").partition("-")[0]
