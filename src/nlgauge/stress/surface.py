"""Perturbations that keep the meaning: a typo, other case. A metric should hardly fall."""

from __future__ import annotations

from nlgauge.stress.perturbation import Context, Perturbation, replaced
from nlgauge.text.words import split_words

__all__ = ["SURFACE", "mistyped", "recased"]

#: Letters of the shortest word that is mistyped: the first and the last stay, and two between them change places.
_SHORTEST = 4


def mistyped(text: str, context: Context) -> str | None:
    """With two neighbouring inner letters of one word exchanged.

    >>> from nlgauge.stress.perturbation import drawn
    >>> mistyped("The cat", Context(drawn(1, "", ""))), mistyped("late", Context(drawn(1, "", "")))
    (None, 'ltae')
    """
    places = [
        (word.start + at)
        for word in split_words(text)
        if len(word.text) >= _SHORTEST and word.text.isalpha()
        for at in range(1, len(word.text) - 2)
        if word.text[at] != word.text[at + 1]
    ]
    if not places:
        return None
    at = context.draw.choice(places)
    return replaced(text, at, at + 2, text[at + 1] + text[at])


def recased(text: str, context: Context) -> str | None:
    """All in lower case, or in capitals where it is that already; None where a text has no letters with case."""
    lower = text.lower()
    other = lower if lower != text else text.upper()
    return other if other != text else None


SURFACE = (
    Perturbation("typo", "two neighbouring letters exchanged", mistyped, keeps_meaning=True, english=False),
    Perturbation("casing", "all in lower case", recased, keeps_meaning=True, english=False),
)
