"""Where a text mentions its foci, and which of a model's tokens those mentions and its sentences are."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.annotate import AnnotatedText
from nlgauge.text import Tokens

__all__ = ["MENTIONS", "Mention", "TokenPlaces", "find_mentions", "sums_of_runs"]

#: How a mention is known: by the lemma that the annotator gave to a noun, or by its spelling (D6.2).
MENTIONS = ("lemma", "surface")


class Mention(NamedTuple):
    """A noun where it stands in a text."""

    lemma: str
    """In lower case."""
    sentence: int
    start: int
    end: int
    """Its characters: first, and the one after the last."""


def find_mentions(text: AnnotatedText, rule: str) -> list[Mention]:
    """The mentions of a text's nouns, in order.

    `surface` is the released code's rule: what stands between blanks is a mention if it is spelt as the lemma of one
    of the text's nouns. Plurals and words with a comma behind them are lost, verbs spelt as a noun are found.
    """
    if rule == "lemma":
        return [
            Mention(word.lemma.lower(), sentence, word.start, word.end)
            for sentence, word in text.nouns()
            if word.end > word.start
        ]
    lemmas = {word.lemma.lower() for _, word in text.nouns()}
    starts = [sentence.start for sentence in text.sentences]
    return [
        Mention(spelt, max(bisect_right(starts, found.start()) - 1, 0), found.start(), found.end())
        for found in re.finditer(r"\S+", text.text)
        if (spelt := found[0].lower()) in lemmas
    ]


@dataclass(frozen=True, eq=False)
class TokenPlaces:
    """The tokens of a text that stand somewhere in it, in order; special ones do not."""

    rows: NDArray[np.intp]
    """Their rows among all tokens."""
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, tokens: Tokens) -> TokenPlaces:
        """Found by their places in the text."""
        places = tokens.offsets
        rows = np.flatnonzero(~tokens.is_special & (places[:, 1] > places[:, 0]))
        return cls(rows, places[rows, 0], places[rows, 1])

    def of_mentions(self, mentions: Sequence[Mention]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For each mention its first token and the one after its last, counted in `rows`.

        Both are the same where a mention has no token: it was cut off, or a table of word vectors lacks it.
        """
        spans = np.array([(one.start, one.end) for one in mentions], dtype=np.int32).reshape(-1, 2)
        first = np.searchsorted(self.ends, spans[:, 0], side="right")
        stop = np.searchsorted(self.starts, spans[:, 1], side="left")
        return first, np.maximum(first, stop)

    def of_sentences(self, text: AnnotatedText) -> NDArray[np.intp]:
        """The number of each token's sentence: the last one that starts before it ends."""
        starts = np.array([sentence.start for sentence in text.sentences], dtype=np.int32)
        return np.maximum(np.searchsorted(starts, self.ends - 1, side="right") - 1, 0)


def sums_of_runs(
    vectors: NDArray[np.float32], first: NDArray[np.intp], stop: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Sums of the rows of each run; no run is empty.

    >>> sums_of_runs(np.eye(3, dtype=np.float32), np.array([0, 1]), np.array([2, 3])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    if not len(first):
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    sizes = stop - first
    begins = np.cumsum(sizes) - sizes
    rows = np.arange(int(sizes.sum())) - np.repeat(begins - first, sizes)
    found: NDArray[np.float32] = np.add.reduceat(vectors[rows], begins, axis=0)
    return found
