"""Words of a text as a reader sees them, with their places: whatever model reads the text, the words are the same."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from nlgauge.errors import RecipeError
from nlgauge.text.characters import is_punctuation, is_unspaced

__all__ = ["WORD_RULES", "WordSpan", "split_words"]

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
    found: list[WordSpan] = []
    for match in re.finditer(r"\S+", text):
        start = match.start()
        if rule == "words":
            inner = range(match.start() + 1, match.end())
            for at in inner:
                if _divided(text, at):
                    found.append(WordSpan(text[start:at], start, at))
                    start = at
        found.append(WordSpan(text[start : match.end()], start, match.end()))
    return tuple(found)


def _divided(text: str, at: int) -> bool:
    """Whether a word ends before the character at that place, which is not the first of the text."""
    before, here = text[at - 1], text[at]
    if unicodedata.category(here).startswith("M"):  # an accent or a vowel sign belongs to the letter before it
        return False
    if is_unspaced(before) or is_unspaced(here):
        return True
    if is_punctuation(here):
        return not _joins(text, at)
    return is_punctuation(before) and not _joins(text, at - 1)


def _joins(text: str, at: int) -> bool:
    """Whether a punctuation mark stands inside of a word ("don't") or of a number ("3.5")."""
    if not 0 < at < len(text) - 1:
        return False
    before, mark, after = text[at - 1], text[at], text[at + 1]
    if mark in _IN_NUMBERS:
        return before.isdigit() and after.isdigit()
    return mark in _IN_WORDS and before.isalnum() and after.isalnum()
