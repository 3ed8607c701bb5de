"""Perturbations that turn the meaning round with a word: negation, antonyms, numbers. English rules."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import pairwise

from nlgauge.errors import FileFormatError
from nlgauge.stress.perturbation import Context, Perturbation, replaced, with_case_of
from nlgauge.text.words import WordSpan, split_words

__all__ = ["MEANING", "antonyms", "negated", "renumbered", "reversed_word"]

#: After the first of these, "not" makes the sentence say the contrary. "may" is left out: "may not" forbids.
_AUXILIARIES = frozenset(
    "is are was were am can could will would should must has have had does do did".split()  # noqa: SIM905
)
_CONTRACTED = {
    "isn't": "is", "aren't": "are", "wasn't": "was", "weren't": "were", "can't": "can", "couldn't": "could",
    "won't": "will", "wouldn't": "would", "shouldn't": "should", "mustn't": "must", "hasn't": "has",
    "haven't": "have", "hadn't": "had", "doesn't": "does", "don't": "do", "didn't": "did", "cannot": "can",
}  # fmt: skip

_NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "twenty",
    "thirty", "forty", "fifty", "hundred", "thousand", "million", "billion",
)  # fmt: skip


def negated(text: str, context: Context) -> str | None:
    """With a negation more, or less: what is negated already is said without it.

    >>> from nlgauge.stress.perturbation import drawn
    >>> context = Context(drawn(1, "", ""))
    >>> negated("The ferry was late.", context), negated("It didn't rain.", context)
    ('The ferry was not late.', 'It did rain.')
    """
    words = split_words(text)
    for word in words:
        plain = word.text.lower().replace("’", "'")
        if plain in _CONTRACTED:
            return replaced(text, word.start, word.end, with_case_of(_CONTRACTED[plain], word.text))
    for before, word in pairwise(words):
        if word.text.lower() in ("not", "n't") and before.text.lower() in _AUXILIARIES:
            return replaced(text, before.end, word.end, "")
    for word in words:
        if word.text.lower() in _AUXILIARIES and word is not words[-1]:
            return replaced(text, word.end, word.end, " NOT" if text.isupper() else " not")
    return None


def reversed_word(text: str, context: Context) -> str | None:
    """With one word exchanged for its antonym.

    >>> from nlgauge.stress.perturbation import drawn
    >>> reversed_word("A hot summer.", Context(drawn(1, "", "")))
    'A cold summer.'
    """
    known = antonyms()
    found = [word for word in split_words(text) if word.text.lower() in known]
    if not found:
        return None
    word = context.draw.choice(found)
    return replaced(text, word.start, word.end, with_case_of(known[word.text.lower()], word.text))


def renumbered(text: str, context: Context) -> str | None:
    """With one number exchanged for another of as many digits, or a number word for another."""
    found = [word for word in split_words(text) if _is_number(word)]
    if not found:
        return None
    word = context.draw.choice(found)
    lower = word.text.lower()
    if lower in _NUMBER_WORDS:
        other = context.draw.choice([one for one in _NUMBER_WORDS if one != lower])
        return replaced(text, word.start, word.end, with_case_of(other, word.text))
    digits = [at for at, char in enumerate(word.text) if char in "0123456789"]
    at = context.draw.choice(digits)
    # A number of several digits does not begin with 0.
    allowed = "123456789" if at == digits[0] and len(digits) > 1 else "0123456789"
    other = context.draw.choice([digit for digit in allowed if digit != word.text[at]])
    return replaced(text, word.start + at, word.start + at + 1, other)


def _is_number(word: WordSpan) -> bool:
    return bool(re.fullmatch(r"[0-9][0-9.,:]*", word.text)) or word.text.lower() in _NUMBER_WORDS


@cache
def antonyms() -> dict[str, str]:
    """Words and their antonyms, both ways; where a word stands twice, its first line counts."""
    name = "antonyms.tsv"
    text = (files("nlgauge.stress") / "lists" / name).read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 2:
            msg = f"{name}, line {number}: expected two words, got {line!r}"
            raise FileFormatError(msg)
        for one, other in (parts, parts[::-1]):
            found.setdefault(one, other)
    return found


MEANING = (
    Perturbation("negation", "one negation more, or less", negated),
    Perturbation("antonym", "one word exchanged for its antonym", reversed_word),
    Perturbation("number", "one number exchanged for another", renumbered, english=False),
)
