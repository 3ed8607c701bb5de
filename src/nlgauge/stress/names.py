"""Perturbations of names: two of a text change places, or one gives way to a name of another text.

A name is a run of capitalised words that does not begin a sentence; days, months and the like are none. An annotator
that knows names (PROPN) takes the place of the rule. Texts in lower case have no names by the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nlgauge.annotate import AnnotatedText
from nlgauge.stress.perturbation import Context, Perturbation, put_in, replaced
from nlgauge.text.words import split_words

__all__ = ["NAMES", "Name", "find_names", "names_of", "with_another_name", "with_names_exchanged"]

_NO_NAMES = frozenset(
    (
        "i", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february",
        "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "mr",
        "mrs", "ms", "dr", "sir", "the", "a", "an", "he", "she", "it", "they", "we", "you", "this", "that", "these",
        "those",
    )
)  # fmt: skip
_ENDS = ".!?:\"“”'’"


class Name(NamedTuple):
    """A name and its place."""

    text: str
    start: int
    end: int


def find_names(text: str, annotated: AnnotatedText | None = None) -> list[Name]:
    """The names of a text, neighbouring words joined.

    >>> [name.text for name in find_names("In Paris, Anna Berg met Bob on Monday.")]
    ['Paris', 'Anna Berg', 'Bob']
    """
    places = _by_rule(text) if annotated is None else _by_tags(annotated)
    joined: list[Name] = []
    for start, end in places:
        if joined and text[joined[-1].end : start] == " ":
            joined[-1] = Name(text[joined[-1].start : end], joined[-1].start, end)
        else:
            joined.append(Name(text[start:end], start, end))
    return joined


def _by_rule(text: str) -> list[tuple[int, int]]:
    found = []
    begins = True
    for word in split_words(text):
        if not any(char.isalnum() for char in word.text):
            begins = begins or word.text in _ENDS
            continue
        capital = word.text[:1].isupper() and (len(word.text) == 1 or not word.text.isupper())
        if capital and not begins and word.text.lower() not in _NO_NAMES and word.text[:1].isalpha():
            found.append((word.start, word.end))
        begins = False
    return found


def _by_tags(annotated: AnnotatedText) -> list[tuple[int, int]]:
    return [(word.start, word.end) for _, word in annotated.nouns() if word.upos == "PROPN"]


def names_of(texts: Iterable[str], annotated: Sequence[AnnotatedText] | None = None) -> tuple[str, ...]:
    """All names of the texts, each once and sorted."""
    listed = list(texts)
    marked: Sequence[AnnotatedText | None] = annotated if annotated is not None else [None] * len(listed)
    return tuple(
        sorted({name.text for text, one in zip(listed, marked, strict=True) for name in find_names(text, one)})
    )


def with_names_exchanged(text: str, context: Context) -> str | None:
    """With two different names in each other's place."""
    names = find_names(text, context.annotated)
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :] if a.text != b.text]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def with_another_name(text: str, context: Context) -> str | None:
    """With one name exchanged for a name of another text."""
    names = find_names(text, context.annotated)
    own = {name.text for name in names}
    others = [name for name in context.names if name not in own]
    if not names or not others:
        return None
    name = context.draw.choice(names)
    return replaced(text, name.start, name.end, context.draw.choice(others))


NAMES = (
    Perturbation("name-swap", "two names in each other's place", with_names_exchanged),
    Perturbation("entity", "one name exchanged for a name of another text", with_another_name),
)
