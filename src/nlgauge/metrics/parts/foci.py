"""What a text keeps talking about, and which of its sentences that ties together (Zhao, Strube, Eger, "DiscoScore:
Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023).

A *focus* is a noun, known by its lemma, or an entity: nouns whose word vectors are close. Sentences that share one
are adjacent, the nearer they stand the more:

    A_ij = 1 / (j - i)   unweighted        A_ij = a / (j - i)   weighted, a foci shared        for i < j, else 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.annotate import AnnotatedText
from nlgauge.clouds.cloud import unit_rows
from nlgauge.transport.size import check_size

__all__ = ["adjacency", "focus_sentences", "merge_entities", "noun_sentences"]

#: Rows of the matrix of cosines that are looked at together, so that a long text needs no square of its words.
_BLOCK = 512


def noun_sentences(text: AnnotatedText) -> dict[str, tuple[int, ...]]:
    """Numbers of the sentences in which each noun is mentioned, by its lemma in lower case; one for each mention.

    Lemmas are in order of their first mention.
    """
    found: dict[str, list[int]] = {}
    for sentence, word in text.nouns():
        found.setdefault(word.lemma.lower(), []).append(sentence)
    return {lemma: tuple(numbers) for lemma, numbers in found.items()}


def merge_entities(
    lemmas: Iterable[str], vectors: Callable[[str], NDArray[np.float32] | None], threshold: float
) -> dict[str, tuple[str, ...]]:
    """The entity of each lemma: all lemmas that a chain of cosines above the threshold leads to, sorted.

    A lemma without a vector is an entity of its own. Entities are tuples, since the released code's "-" between
    members can be a letter of one of them ("well-being").

    >>> known = {"car": np.float32([1, 0]), "bus": np.float32([1, 0.1]), "sky": np.float32([0, 1])}
    >>> merge_entities(["car", "sky", "bus", "it"], known.get, 0.8)
    {'car': ('bus', 'car'), 'sky': ('sky',), 'bus': ('bus', 'car'), 'it': ('it',)}
    """
    names = list(dict.fromkeys(lemmas))
    entities: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    table = {name: vector for name in names if (vector := vectors(name)) is not None}
    if len(table) < 2:
        return entities
    known, unit = list(table), unit_rows(np.stack(list(table.values())))
    close = [unit[start : start + _BLOCK] @ unit.T > threshold for start in range(0, len(known), _BLOCK)]
    members: dict[int, list[str]] = {}
    for name, label in zip(known, _components(close).tolist(), strict=True):
        members.setdefault(label, []).append(name)
    for group in members.values():
        entities |= dict.fromkeys(group, tuple(sorted(group)))
    return entities


def _components(close: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """For each point the lowest number that a chain of close ones leads to; `close` has rows of points in blocks."""
    size = close[0].shape[1]
    labels = np.arange(size, dtype=np.int32)
    while True:
        lowest = np.concatenate([np.where(block, labels, size).min(axis=1) for block in close]).astype(np.int32)
        lowest = np.minimum(labels, lowest)
        lowest = lowest[lowest]  # a point's label is a point that may have found a lower one
        if np.array_equal(lowest, labels):
            return labels
        labels = lowest


def focus_sentences(
    nouns: Mapping[str, Sequence[int]], entities: Mapping[str, tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Sentences of each entity's mentions, in order: those of all its members.

    >>> focus_sentences({"car": (0, 2), "bus": (1,)}, {"car": ("bus", "car"), "bus": ("bus", "car")})
    {('bus', 'car'): (0, 1, 2)}
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for lemma, numbers in nouns.items():
        found.setdefault(entities[lemma], []).extend(numbers)
    return {entity: tuple(sorted(numbers)) for entity, numbers in found.items()}


def adjacency(foci_sentences: Mapping[Any, Sequence[int]], sentences: int, *, weighted: bool) -> NDArray[np.float64]:
    """How sentences are tied together by their foci: above the diagonal, 0 below and on it.

    >>> adjacency({"cat": (0, 0, 2), "mat": (0, 1, 2)}, 3, weighted=False)
    array([[0. , 1. , 0.5],
           [0. , 0. , 1. ],
           [0. , 0. , 0. ]])
    >>> adjacency({"cat": (0, 0, 2), "mat": (0, 1, 2)}, 3, weighted=True)[0]
    array([0., 1., 1.])
    """
    check_size(sentences, sentences, what="a graph of sentences", instead="split the document")
    shared: NDArray[np.float64] = np.zeros((sentences, sentences))
    for numbers in foci_sentences.values():
        places = sorted(set(numbers))
        if len(places) > 1:
            shared[np.ix_(places, places)] += 1
    shared = np.triu(shared, k=1)
    if not weighted:
        shared = np.minimum(shared, 1)
    number = np.arange(sentences)
    apart = np.maximum(number[None, :] - number[:, None], 1)
    shared /= apart
    return shared
