"""Batches of texts of one length, within a budget of tokens.

Texts of equal length need no padding, so no attention mask exists that could let one text touch another:
a text's vectors are the same bits in every batch. Nothing is computed for padding either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["equal_length_batches"]


def equal_length_batches(lengths: Sequence[int], *, budget: int) -> Iterator[list[int]]:
    """Indices of texts, grouped by length (longest first, so that memory peaks early).

    A text longer than the budget is a batch of its own.

    >>> list(equal_length_batches([3, 2, 3, 3], budget=6))
    [[0, 2], [3], [1]]
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    for length in sorted(groups, reverse=True):
        size = max(1, budget // max(1, length))
        members = groups[length]
        for start in range(0, len(members), size):
            yield members[start : start + size]
