r"""English words as the Penn Treebank has them, by the rules of NLTK's word tokenizer.

Overlap of words in published scores (BLEU-1, lexical factors) was counted on these, so that they have to be had
without the package. The rules, for a text of one sentence:

- Brackets, ``;@#$%&?!*``, long dashes, curly and angular quotes, two hyphens and two or more full stops are words.
- A comma or a colon is a word unless a digit follows. Only the last full stop of a text is one: "U.S." stays whole,
  and so does the end of a sentence within the text ("York.").
- A straight quote becomes two backticks where it opens (at the start, after a blank or a bracket), else two
  apostrophes.
- "don't", "it's" and "we'll" are two words each ("do", "n't"); so are "cannot", "gonna" and a few more.
"""

from __future__ import annotations

import re

__all__ = ["treebank_words"]

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
    spaced = _ALONE.sub(_word_of_its_own, spaced)
    return [word for chunk in spaced.split() for word in _cut(chunk)]


def _word_of_its_own(match: re.Match[str]) -> str:
    found = _CLOSING if match[0] == '"' else match[0]
    return f" {found} "


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
