"""What preprocessing removed of a text, word by word, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nlgauge.explain.word_view import WordView
from nlgauge.recipes.metric import Metric
from nlgauge.text import Tokens
from nlgauge.text.characters import is_punctuation
from nlgauge.text.words import WordSpan

__all__ = ["TextFilter", "reasons_removed"]


@dataclass(frozen=True, eq=False)
class TextFilter:
    """What a recipe leaves out of a text, and the text's tokens before it did."""

    metric: Metric
    tokens: Tokens
    pieces: Sequence[str]
    """The tokens without marks of continued words, which is how stop words are looked up."""
    stopwords: Collection[str]
    limit: int

    @property
    def _first_only(self) -> bool:
        return getattr(self.metric, "subwords", "all") == "first"

    @cached_property
    def _lone_marks(self) -> NDArray[np.intp]:
        """Places of first pieces without text, before the rest of a word: SentencePiece spells some words so."""
        starts, sizes = self.tokens.word_pieces
        blank = np.array([not piece for piece in self.pieces], dtype=np.bool_)
        return starts[blank[starts] & (sizes > 1)]

    def why(self, word: WordSpan, *, has_point: bool) -> str:
        """Why a word does not count."""
        if self.tokens.cut and word.start >= int(self.tokens.offsets[:, 1].max()):
            return f"cut off at {self.limit} tokens"
        if word.text in self.stopwords or word.text.lower() in self.stopwords:
            return "stop word"
        starts = zip(self.pieces, self.tokens.offsets.tolist(), strict=True) if self.stopwords else ()
        for piece, (start, end) in starts:
            if start == word.start and end > start and piece in self.stopwords:  # "the" of "therapist", as published
                return f"its first piece, {piece!r}, is a stop word"
        if getattr(self.metric, "punctuation", "keep") != "keep" and all(map(is_punctuation, word.text)):
            return "punctuation"
        if hasattr(self.metric, "unmatched"):  # metrics of foci count mentions only (DS-Focus)
            return "a focus that the other text lacks" if has_point else "no mention of a focus"
        if has_point:
            return "weight 0 by idf"
        if self.tokens.left_out:
            return "not in the vocabulary"
        places = self.tokens.offsets
        inside = (places[:, 0] < word.end) & (places[:, 1] > word.start)
        if self._first_only and inside.any():
            behind_mark = np.isin(np.flatnonzero(inside), self._lone_marks + 1).any()
            what = "only the mark before it is kept" if behind_mark else "continues a word"
            return f"{what} (subwords=first)"
        return "no token of its own"

    def notes(self, whose: str) -> list[str]:
        """What happened to the text beside words that were removed."""
        found = []
        if self.tokens.cut:
            found.append(f"{whose}: {self.tokens.cut} tokens were cut off at the limit of {self.limit}")
        if self.tokens.windows is not None:
            count = len(self.tokens.windows.cut(len(self.tokens)))
            found.append(f"{whose}: {len(self.tokens)} tokens were read in {count} windows")
        later = int((~self.tokens.starts_word).sum()) if self._first_only else 0
        if later:
            found.append(f"{whose}: {later} later pieces of words were left out (subwords=first)")
        if self._first_only and len(self._lone_marks):
            words = f"{len(self._lone_marks)} word{'s' * (len(self._lone_marks) > 1)}"
            found.append(f"{whose}: of {words} only a mark of white space was kept; subwords=all keeps the text")
        if self.tokens.unknown:
            found.append(f"{whose}: {self.tokens.unknown} words or pieces are unknown to the model")
        return found


def reasons_removed(view: WordView, weights: NDArray[np.float64], filtered: TextFilter) -> Sequence[str]:
    """For each word why it does not count; empty where a point of it has weight."""
    weighted: set[int] = set()
    pointed: set[int] = set()
    for weight, shares in zip(weights.tolist(), view.shares, strict=True):
        pointed |= set(shares)
        weighted |= set(shares) if weight > 0 else set()
    return [
        "" if number in weighted else filtered.why(word, has_point=number in pointed)
        for number, word in enumerate(view.words)
    ]
