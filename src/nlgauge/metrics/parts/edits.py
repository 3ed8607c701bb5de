"""Levenshtein distance of sequences, with bit operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def positions_of(items: Sequence[T]) -> Mapping[T, int]:
    """For each item, an integer with the bits of its positions.

    >>> dict(positions_of("abba"))
    {'a': 9, 'b': 6}
    """
    positions: defaultdict[T, int] = defaultdict(int)
    for index, item in enumerate(items):
        positions[item] |= 1 << index
    return positions


def levenshtein(first: Sequence[T], second: Sequence[T]) -> int:
    """Insertions, deletions and substitutions between two sequences (Hyyrö 2003, "A Bit-Vector Algorithm").

    Neighbours in a column of the table differ by at most 1, so a column fits in two integers with one bit per item of
    `first`: where it rises and where it falls.

    >>> levenshtein("kitten", "sitting")
    3
    """
    distance = len(first)
    if not distance:
        return len(second)
    positions = positions_of(first)
    mask, last = (1 << distance) - 1, 1 << (distance - 1)
    rises, falls = mask, 0
    for item in second:
        matches = positions.get(item, 0)
        vertical = matches | falls
        horizontal = (((matches & rises) + rises) ^ rises) | matches
        up, down = falls | (~(horizontal | rises) & mask), rises & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = ((up << 1) | 1) & mask, (down << 1) & mask
        rises, falls = down | (~(vertical | up) & mask), up & vertical
    return distance
