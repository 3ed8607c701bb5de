"""Which tokens of a text become points: sub-words, punctuation, stop words, special tokens."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders import EncodedText
from nlgauge.errors import RecipeError
from nlgauge.text import TextTokenizer, Tokens
from nlgauge.text.characters import is_punctuation

__all__ = ["PUNCTUATION", "SPECIALS", "SUBWORDS", "TokenFilter", "kept_tokens", "surfaces_of"]

SUBWORDS = ("first", "all", "average")
PUNCTUATION = ("keep", "drop-ascii", "drop-unicode")
SPECIALS = ("keep", "drop")

#: What a stop word is compared with, by what stands for a word.
_STOPS = {"first": "starts", "all": "pieces", "average": "words"}

_ASCII = frozenset(string.punctuation)


@dataclass(frozen=True)
class TokenFilter:
    """What is kept.

    What counts as a stop word depends on what stands for a word. Under `first` it is a first piece spelt like one (as
    in the released MoverScore, where the first piece of "therapist" may be "the"); under `all` it is any piece spelt
    like one, without its mark (the reproducibility study's code); under `average` it is a whole word. `stops` chooses
    otherwise.
    """

    subwords: str = "first"
    punctuation: str = "drop-ascii"
    stopwords: frozenset[str] = frozenset()
    specials: str = "keep"
    stops: str = ""
    """starts, pieces or words; empty: by `subwords`."""

    def __post_init__(self) -> None:
        for name, allowed in (
            ("subwords", SUBWORDS),
            ("punctuation", PUNCTUATION),
            ("specials", SPECIALS),
            ("stops", ("", *_STOPS.values())),
        ):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)

    def kept(self, tokens: Tokens, surfaces: Sequence[str], pieces: Sequence[str]) -> NDArray[np.bool_]:
        """Which tokens stay; special tokens do unless they are to be dropped (their idf, if any, weighs them).

        `surfaces` are tokens as a reader writes them, `pieces` the same without the marks of continued words.
        """
        starts = tokens.starts_word
        keep = np.ones(len(tokens), dtype=np.bool_)
        if self.punctuation == "drop-ascii":
            keep = np.array([text not in _ASCII for text in surfaces], dtype=np.bool_)
        elif self.punctuation == "drop-unicode":
            keep = np.array([not _is_punctuation(text) for text in surfaces], dtype=np.bool_)
        if self.stopwords:
            keep &= ~self._is_stopword(tokens, pieces)
        if self.subwords == "first":
            keep &= starts
        return keep | tokens.is_special if self.specials == "keep" else keep & ~tokens.is_special

    def _is_stopword(self, tokens: Tokens, pieces: Sequence[str]) -> NDArray[np.bool_]:
        rule = self.stops or _STOPS[self.subwords]
        if rule == "words":
            sizes = tokens.word_pieces[1]
            return np.repeat([word in self.stopwords for word in _joined(tokens, pieces)], sizes)
        found = np.array([text in self.stopwords for text in pieces], dtype=np.bool_)
        return found & tokens.starts_word if rule == "starts" else found


def _is_punctuation(text: str) -> bool:
    return len(text) == 1 and is_punctuation(text)


def surfaces_of(text: EncodedText, tokenizer: TextTokenizer) -> tuple[str, ...]:
    """The text's tokens as a reader writes them."""
    return text.derived("surfaces", lambda: tokenizer.surfaces(text.tokens))


def _pieces_of(text: EncodedText, tokenizer: TextTokenizer) -> tuple[str, ...]:
    return text.derived("pieces", lambda: tokenizer.pieces(text.tokens))


def _joined(tokens: Tokens, pieces: Sequence[str]) -> tuple[str, ...]:
    starts, sizes = tokens.word_pieces
    return tuple("".join(pieces[at : at + size]) for at, size in zip(starts, sizes, strict=True))


def kept_tokens(text: EncodedText, keep: TokenFilter, tokenizer: TextTokenizer) -> NDArray[np.intp]:
    """Places of the tokens that stay; where pieces are averaged, numbers of the words that do."""

    def make() -> NDArray[np.intp]:
        pieces = _pieces_of(text, tokenizer) if keep.stopwords else ()
        kept = keep.kept(text.tokens, surfaces_of(text, tokenizer), pieces)
        return np.flatnonzero(kept[text.tokens.starts_word] if keep.subwords == "average" else kept)

    return text.derived(("kept", keep), make)
