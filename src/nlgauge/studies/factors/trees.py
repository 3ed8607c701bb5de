"""SYN: similarity of the dependency trees of two texts, whatever their words.

    SYN = 1 - TED(x, y) / (|x| + |y|)        |x|: words of x

TED is the least number of words to insert or delete until the trees are the same; labels of words cost nothing, but
the order of words counts (Zhang and Shasha 1989, renaming at cost 0). Punctuation is taken out of the trees first:
words that depend on it go to its head. Sentences after the first depend on the root of the first.

Trees are lists of heads: the number of the word that each word depends on, from 1, and 0 for the root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nlgauge.errors import InputError
from nlgauge.text.annotation import AnnotatedText
from nlgauge.text.tokenizer import is_punctuation


def word_tree(text: AnnotatedText) -> tuple[int, ...]:
    """The tree of a text's words, without punctuation; empty where there is no word.

    >>> from nlgauge.text.annotation import AnnotatedSentence, AnnotatedWord
    >>> words = [("Cats", 2), ("sleep", 0), (".", 2)]
    >>> found = [AnnotatedWord(0, 0, form, form, "X", head=head) for form, head in words]
    >>> word_tree(AnnotatedText("Cats sleep.", (AnnotatedSentence(0, 11, tuple(found)),)))
    (2, 0)
    """
    forms: list[str] = []
    heads: list[int] = []
    for sentence in text.sentences:
        first = len(forms)
        for word in sentence.words:
            if word.head < 0:
                msg = f"the annotation of {text.text[:60]!r} has no trees; load the annotator with trees=True"
                raise InputError(msg)
            forms.append(word.form)
            heads.append(word.head + first if word.head else 0)
    kept = [at for at, form in enumerate(forms, start=1) if not all(map(is_punctuation, form))]
    numbers = {at: number for number, at in enumerate(kept, start=1)}
    found = [numbers.get(_governor(at, heads, numbers), 0) for at in kept]
    root = next((number for number, head in enumerate(found, start=1) if head == 0), 0)
    return tuple(root if head == 0 and number != root else head for number, head in enumerate(found, start=1))


def _governor(word: int, heads: Sequence[int], kept: dict[int, int]) -> int:
    """The next word above that is kept; 0 where there is none."""
    above = heads[word - 1]
    while above and above not in kept:
        above = heads[above - 1]
    return above


def syntactic_similarity(first: Sequence[int], second: Sequence[int]) -> float:
    """SYN of two trees; nan where one has no word.

    >>> syntactic_similarity([2, 0, 5, 5, 2, 2], [2, 0, 2, 2])
    0.8
    """
    if not first or not second:
        return math.nan
    return 1 - tree_edit_distance(first, second) / (len(first) + len(second))


def tree_edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Words to insert or delete until two trees are the same."""
    one, other = _leftmost(first), _leftmost(second)
    whole = [[0] * len(other) for _ in one]
    """Distances of the subtrees of all pairs of nodes."""
    for last in _key_roots(one):
        for other_last in _key_roots(other):
            _forests(one, other, last, other_last, whole)
    return whole[-1][-1]


def _forests(one: list[int], other: list[int], last: int, other_last: int, whole: list[list[int]]) -> None:
    """Distances of all prefixes of two subtrees; those of whole subtrees are kept.

    `at` and `to` are numbers of nodes in post-order, and rows and columns stand one further: 0 is the empty forest.
    """
    start, other_start = one[last], other[other_last]
    width = other_last - other_start + 2
    rows = [list(range(width))]
    for at in range(start, last + 1):
        above, row = rows[-1], [at - start + 1]
        before = rows[one[at] - start]
        is_tree = one[at] == start
        found = whole[at]
        for to in range(other_start, other_last + 1):
            column = to - other_start + 1
            least = min(above[column], row[-1]) + 1
            if is_tree and other[to] == other_start:
                least = min(least, above[column - 1])
                found[to] = least
            else:
                least = min(least, before[other[to] - other_start] + found[to])
            row.append(least)
        rows.append(row)


def _leftmost(heads: Sequence[int]) -> list[int]:
    """Of each node in post-order, the number of the leftmost leaf below it."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        children[head].append(word)
    if len(children[0]) != 1:
        msg = f"a tree has one root (head 0), got {len(children[0])} in {list(heads)!r}"
        raise InputError(msg)
    found: list[int] = []
    # (node, None) before its children are numbered; then (node, the number of its leftmost leaf).
    waiting: list[tuple[int, int | None]] = [(children[0][0], None)]
    while waiting:
        node, leaf = waiting.pop()
        if leaf is None:
            waiting.append((node, len(found)))
            waiting += [(child, None) for child in reversed(children[node])]
        else:
            found.append(leaf)
    if len(found) != len(heads):
        msg = f"the heads {list(heads)!r} are no tree: some words depend on themselves by way of others"
        raise InputError(msg)
    return found


def _key_roots(leftmost: Sequence[int]) -> list[int]:
    """Of all nodes with the same leftmost leaf the highest, in post-order."""
    highest = {leaf: node for node, leaf in enumerate(leftmost)}
    return sorted(highest.values())
