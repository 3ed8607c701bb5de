"""Which tokens of a text become points: sub-words, punctuation, stop words, special tokens."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import RecipeError
from nlgauge.text import Tokens

__all__ = ["PUNCTUATION", "SPECIALS", "SUBWORDS", "TokenFilter", "average_pieces"]

Number = TypeVar("Number", np.float32, np.float64)

SUBWORDS = ("first", "all", "average")
PUNCTUATION = ("keep", "drop-ascii", "drop-unicode")
SPECIALS = ("keep", "drop")

_ASCII = frozenset(string.punctuation)


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
        keep = np.ones(len(tokens), dtype=np.bool_)
        if self.punctuation == "drop-ascii":
            keep = np.array([text not in _ASCII for text in surfaces], dtype=np.bool_)
        elif self.punctuation == "drop-unicode":
            keep = np.array([not _is_punctuation(text) for text in surfaces], dtype=np.bool_)
        if self.stopwords:
            keep &= ~(starts & np.array([text in self.stopwords for text in surfaces], dtype=np.bool_))
        if self.subwords == "first":
            keep &= starts
        return keep | tokens.is_special if self.specials == "keep" else keep & ~tokens.is_special


def _is_punctuation(text: str) -> bool:
    return text in _ASCII or (len(text) == 1 and unicodedata.category(text).startswith("P"))


def average_pieces(values: NDArray[Number], tokens: Tokens) -> NDArray[Number]:
    """Vectors, or weights, of the tokens averaged over the pieces of each word, in the type they came in."""
    starts, sizes = tokens.word_pieces
    total = np.add.reduceat(values, starts, axis=0)
    counts = sizes.astype(values.dtype)
    return np.divide(total, counts[:, None] if values.ndim == 2 else counts, out=total)
