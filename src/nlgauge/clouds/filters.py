"""Which tokens of a text become points: sub-words, punctuation, stop words, special tokens."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import RecipeError
from nlgauge.text import Tokens

__all__ = ["PUNCTUATION", "SPECIALS", "SUBWORDS", "TokenFilter", "average_pieces"]

SUBWORDS = ("first", "all", "average")
PUNCTUATION = ("keep", "drop-ascii", "drop-unicode")
SPECIALS = ("keep", "drop")


@dataclass(frozen=True)
class TokenFilter:
    """What is kept. A stop word is a token that starts a word and is spelt like it (as published)."""

    subwords: str = "first"
    punctuation: str = "drop-ascii"
    stopwords: frozenset[str] = frozenset()
    specials: str = "keep"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("subwords", SUBWORDS),
            ("punctuation", PUNCTUATION),
            ("specials", SPECIALS),
        ):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)

    def kept(self, tokens: Tokens, surfaces: Sequence[str]) -> NDArray[np.bool_]:
        """Which tokens stay; special tokens do unless they are to be dropped (their idf, if any, weighs them)."""
        starts = tokens.starts_word
        keep = np.array([not self._is_punctuation(text) for text in surfaces], dtype=np.bool_)
        if self.stopwords:
            keep &= ~(starts & np.array([text in self.stopwords for text in surfaces], dtype=np.bool_))
        if self.subwords == "first":
            keep &= starts
        return keep | tokens.is_special if self.specials == "keep" else keep & ~tokens.is_special

    def _is_punctuation(self, text: str) -> bool:
        if len(text) != 1 or self.punctuation == "keep":
            return False
        if self.punctuation == "drop-ascii":
            return text in string.punctuation
        return text in string.punctuation or unicodedata.category(text).startswith("P")


def average_pieces(
    vectors: NDArray[np.float32], weights: NDArray[np.float64], tokens: Tokens
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]]:
    """Vectors and weights averaged over the pieces of each word, and the index of each word's first token."""
    starts = np.flatnonzero(tokens.starts_word)
    counts = np.diff(np.append(starts, len(tokens)))
    mean = np.add.reduceat(vectors, starts, axis=0) / counts[:, None].astype(np.float32)
    return mean.astype(np.float32), np.add.reduceat(weights, starts) / counts, starts
