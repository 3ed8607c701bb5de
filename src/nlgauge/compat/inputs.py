"""Texts as callers of other packages give them: lists, columns, arrays or generators, under the names used there."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from nlgauge.corpus.checks import checked_list, checked_texts
from nlgauge.errors import InputError

__all__ = ["check_lengths", "reference_groups", "texts_of"]


def texts_of(values: Any, name: str) -> list[str]:
    """A list of texts; one text, None or a text that is none is an error that says `name`.

    >>> texts_of((text for text in ("a", "b")), "preds")
    ['a', 'b']
    """
    return checked_texts(values, name)


def reference_groups(values: Any, name: str) -> list[list[str]]:
    """The references of each segment, from a text or a list of texts per segment.

    >>> reference_groups(["a", ("b", "c")], "refs")
    [['a'], ['b', 'c']]
    """
    groups = []
    for index, group in enumerate(checked_list(values, name, "a list with a text, or a list of texts, per segment")):
        if group is None or isinstance(group, float):  # the nan of a missing value
            msg = f"{name}[{index}]: expected a text or a list of texts, got {group!r}; use '' for an empty text"
            raise InputError(msg)
        texts = [group] if isinstance(group, str) else checked_texts(group, f"{name}[{index}]")
        if not texts:
            msg = f"{name}[{index}]: the list is empty; a segment needs at least one reference"
            raise InputError(msg)
        groups.append(texts)
    return groups


def check_lengths(first: str, texts: Sized, second: str, others: list[Any]) -> None:
    """Refuse lists that do not go together; references by stream instead of by segment are a common slip."""
    if len(texts) == len(others):
        return
    msg = f"{first} and {second} must go together, got {len(texts)} and {len(others)}"
    groups = bool(others) and all(isinstance(one, list | tuple) for one in others)
    if groups and len(texts) == 1 and all(len(one) == 1 for one in others):
        msg += f"; several {second} of one segment are a list in the list: [[...]]"
    elif groups and all(len(one) == len(texts) for one in others):
        msg += f"; each entry of {second} holds {len(texts)} texts: give the references of one segment after another"
    raise InputError(msg)
