r"""Words of a text: as a reader sees them, with their places, and as the Penn Treebank has them.

`split_words` gives the same words whatever model reads the text.

`treebank_words` follows the rules of NLTK's word tokenizer for English, without the package: overlap of words in
published scores (BLEU-1, lexical factors) was counted on these. The rules, for a text of one sentence:

- Brackets, ``;@#$%&?!*``, long dashes, curly and angular quotes, two hyphens and two or more full stops are words.
- A comma or a colon is a word unless a digit follows. Only the last full stop of a text is one: "U.S." stays whole,
  and so does the end of a sentence within the text ("York.").
- A straight quote becomes two backticks where it opens (at the start, after a blank or a bracket), else two
  apostrophes.
- "don't", "it's" and "we'll" are two words each ("do", "n't"); so are "cannot", "gonna" and a few more.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from nlgauge.errors import RecipeError
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
