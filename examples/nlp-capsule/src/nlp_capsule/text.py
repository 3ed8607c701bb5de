"""Texts as rows of numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError

__all__ = ["Vocabulary", "read_vectors", "split_english", "split_words"]

_PADDING, _UNKNOWN = "<PAD/>", "<UNK/>"
_WORD = re.compile(r"\w+|[^\w\s]")
#: Scripts without spaces between words: each character stands for itself.
_UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff])")
_CLITIC = re.compile(r"('s|'ve|n't|'re|'d|'ll)")


def split_words(text: str) -> list[str]:
    """Words and punctuation of any language, in lower case; Chinese by characters.

    >>> split_words("Er sagte: 你好!")
    ['er', 'sagte', ':', '你', '好', '!']
    """
    return _WORD.findall(_UNSPACED.sub(r" \1 ", text.lower()))


def split_english(text: str) -> list[str]:
    """As the released code splits EUR-Lex: no character but those of English words and some punctuation.

    >>> split_english("The Council's decision (No. 5) isn't in force!")
    ['the', 'council', "'s", 'decision', '(', 'no', '5', ')', 'is', "n't", 'in', 'force', '!']
    """
    cleaned = re.sub(r"[^A-Za-z0-9(),!?'`]", " ", text)
    cleaned = re.sub(r"([,!?()])", r" \1 ", _CLITIC.sub(r" \1", cleaned))
    return cleaned.lower().split()


@dataclass(frozen=True)
class Vocabulary:
    """The words a network knows; 0 is padding and 1 the unknown word.

    >>> words = Vocabulary.of(["the dog and the dog", "the end"], most=3)
    >>> words.encode(["the dog , the end"], length=6).tolist()
    [[2, 3, 1, 2, 1, 0]]
    """

    words: tuple[str, ...]
    split: Callable[[str], list[str]] = split_words

    @classmethod
    def of(
        cls, texts: Iterable[str], *, most: int = 30_000, split: Callable[[str], list[str]] = split_words
    ) -> Vocabulary:
        """The `most` frequent words of the texts; of equally frequent ones the earlier in the alphabet."""
        counts = Counter(word for text in texts for word in split(text))
        chosen = sorted(counts, key=lambda word: (-counts[word], word))[:most]
        return cls((_PADDING, _UNKNOWN, *chosen), split)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: Sequence[str], *, length: int) -> NDArray[np.int64]:
        """(texts, length): cut at the end, or filled up with padding there."""
        numbers = {word: number for number, word in enumerate(self.words)}
        rows = np.zeros((len(texts), length), dtype=np.int64)
        for row, text in zip(rows, texts, strict=True):
            ids = [numbers.get(word, 1) for word in self.split(text)[:length]]
            row[: len(ids)] = ids
        return rows


def read_vectors(path: Path, vocabulary: Vocabulary, *, seed: int = 0) -> NDArray[np.float32]:
    """Word vectors in GloVe's layout, `word 0.1 -0.2 ...` by line; words it lacks are uniform in (-.25, .25)."""
    indices = {word: number for number, word in enumerate(vocabulary.words)}
    table: NDArray[np.float32] | None = None
    with path.open(encoding="utf-8") as lines:
        for line_number, line in enumerate(lines, start=1):
            word, *rest = line.rstrip().split(" ")
            if table is None:
                chance = np.random.default_rng(seed)
                table = chance.uniform(-0.25, 0.25, size=(len(vocabulary), len(rest))).astype(np.float32)
                table[0] = 0
            if word not in indices:
                continue
            try:
                table[indices[word]] = np.array(rest, dtype=np.float32).reshape(table.shape[1])
            except ValueError as error:
                msg = f"{path}, line {line_number}: not a word and {table.shape[1]} numbers"
                raise FileFormatError(msg) from error
    if table is None:
        msg = f"{path} holds no vectors"
        raise InputError(msg)
    return table
