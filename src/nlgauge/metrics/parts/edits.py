"""Levenshtein distance of sequences, with bit operations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

#: Most bits of an integer with several texts; more do not fit in a processor's cache.
_MOST_BITS = 1 << 16

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


def levenshtein_of_all(texts: Sequence[str], target: str) -> list[int]:
    """Levenshtein distances of texts of one length to a target; all columns share two integers.

    >>> levenshtein_of_all(["kitten", "sitten", "gnitti"], "sitting")
    [3, 2, 4]
    """
    if not texts or not texts[0]:
        return [len(target)] * len(texts)
    together = max(1, _MOST_BITS // (len(texts[0]) + 1))
    blocks = (texts[start : start + together] for start in range(0, len(texts), together))
    return [distance for block in blocks for distance in _distances(block, target)]


def _distances(texts: Sequence[str], target: str) -> list[int]:
    length = len(texts[0])
    # The last bit of each text is a guard, which takes the carry of its sum.
    letters = np.zeros((len(texts), length + 1), dtype=np.int64)
    letters[:, :length] = [list(map(ord, text)) for text in texts]
    is_letter = np.ones_like(letters, dtype=np.bool_)
    is_letter[:, length] = False
    positions = {letter: _bits((letters == ord(letter)) & is_letter) for letter in set(target)}
    mask = rises = _bits(is_letter)
    firsts, falls = mask & ~(mask << 1), 0
    for letter in target:
        matches = positions[letter]
        vertical = matches | falls
        horizontal = (((matches & rises) + rises) ^ rises) | matches
        up, down = falls | (((horizontal | rises) & mask) ^ mask), rises & horizontal
        up, down = ((up << 1) | firsts) & mask, (down << 1) & mask
        rises, falls = down | (((vertical | up) & mask) ^ mask), up & vertical
    # The first row of the table has the number of letters of the target.
    return [
        len(target) + up - down
        for up, down in zip(_counts(rises, letters.shape), _counts(falls, letters.shape), strict=True)
    ]


def _bits(flags: NDArray[np.bool_]) -> int:
    """An integer with a bit per flag."""
    return int.from_bytes(np.packbits(flags, axis=None, bitorder="little").tobytes(), "little")


def _counts(bits: int, shape: tuple[int, ...]) -> list[int]:
    """Number of bits that are set in each row of a table of flags."""
    size = math.prod(shape)
    packed = np.frombuffer(bits.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
    counts: list[int] = (
        np.unpackbits(packed, count=size, bitorder="little").reshape(shape).sum(axis=1, dtype=int).tolist()
    )
    return counts
