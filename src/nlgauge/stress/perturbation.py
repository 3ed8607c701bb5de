"""What a perturbation is: a change of a text that is known to keep its meaning, or known not to.

Each is drawn from a seed and the text alone, so that the texts beside it change nothing (an entity that is put in
comes from the other texts; which one is drawn in the same way). A text that a perturbation cannot change is left
out, and counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from nlgauge.annotate import AnnotatedText

__all__ = ["Change", "Context", "Perturbation", "Place", "drawn", "other_order", "put_in", "replaced", "with_case_of"]


class Context(NamedTuple):
    """What a change may look at beside the text."""

    draw: random.Random
    names: tuple[str, ...] = ()
    """Names in all texts, each once and sorted."""
    annotated: AnnotatedText | None = None
    """Where an annotator was given."""


#: The changed text, or None where nothing can be changed.
Change: TypeAlias = Callable[[str, Context], str | None]


class Perturbation(NamedTuple):
    """One way to change a text."""

    name: str
    what: str
    change: Change
    keeps_meaning: bool = False
    """Whether a metric should hardly fall."""
    english: bool = True
    """Whether its rules, or its list of words, are English."""
    needs_annotator: bool = False


def drawn(seed: int, name: str, text: str) -> random.Random:
    """The draw of a text: the same wherever it stands."""
    return random.Random(f"{seed} {name} {text}")


def replaced(text: str, start: int, end: int, new: str) -> str:
    """The text with a part of it exchanged."""
    return text[:start] + new + text[end:]


class Place(Protocol):
    """What stands somewhere in a text: a word, a name."""

    @property
    def start(self) -> int:
        """Its first character."""

    @property
    def end(self) -> int:
        """The character after its last."""


def put_in(text: str, places: Sequence[Place], new: Sequence[str]) -> str:
    """The text with other words in these places, which come in order."""
    made, at = "", 0
    for place, word in zip(places, new, strict=True):
        made += text[at : place.start] + word
        at = place.end
    return made + text[at:]


def other_order(words: Sequence[str], draw: random.Random) -> list[str] | None:
    """The words in an order that reads differently; None where there is none.

    >>> other_order(["a", "a"], random.Random(1)), other_order(["a", "b"], random.Random(1))
    (None, ['b', 'a'])
    """
    if len(set(words)) < 2:
        return None
    found = list(words)
    while found == list(words):
        draw.shuffle(found)
    return found


def with_case_of(word: str, like: str) -> str:
    """A word written as another is: capital, capitals or small.

    >>> with_case_of("cold", "Hot"), with_case_of("cold", "HOT")
    ('Cold', 'COLD')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
