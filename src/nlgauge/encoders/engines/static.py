"""Static word vectors as an encoder: a file in the text format of GloVe or word2vec.

    the 0.418 0.24968 ...          GloVe: a word and its numbers
    3000000 300                    word2vec: a first line with the number of words and their width

It has one layer, 0, and no context: what a metric of the family does with such vectors is the word mover's
distance of Kusner et al. (2015), the rows `+ W2V` of MoverScore's tables. Texts are split at white space and
punctuation, and lower-cased if the file holds no capital letter. Words without a vector, or with a zero vector, are
left out and counted.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError
from nlgauge.files.digests import file_digest, text_digest
from nlgauge.text import TextTokenizer, Tokens
from nlgauge.text.windows import NO_LIMIT

__all__ = ["StaticEncoder", "WordTokenizer"]

_UNKNOWN = "[UNK]"


class WordTokenizer(TextTokenizer):
    """Words of a fixed vocabulary; others are left out and counted."""

    def __init__(self, words: list[str]) -> None:
        vocabulary = {word: number for number, word in enumerate(words)}
        self._outside = vocabulary.setdefault(_UNKNOWN, len(words))
        backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=_UNKNOWN))
        backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        if not any(word != word.lower() for word in words):
            backend.normalizer = tokenizers.normalizers.Lowercase()
        super().__init__(backend, limit=NO_LIMIT, digest=text_digest("\n".join(words)))

    def _tokens(self, encoding: tokenizers.Encoding, text: str, *, whole: bool = False) -> Tokens:
        found = super()._tokens(encoding, text, whole=whole)
        known = found.ids != self._outside
        return replace(found.take(np.flatnonzero(known)), left_out=int((~known).sum()), unknown_token=None)

    def _known(self, ids: Sequence[int]) -> Sequence[int]:
        return [token for token in ids if token != self._outside]


class StaticEncoder:
    """A table from words to vectors behind the protocol of an encoder."""

    layers = 0
    engine = "static"
    config_digest = ""
    cacheable = False

    def __init__(self, path: Path) -> None:
        self.model = path.name
        self.weights_digest = self.digest = file_digest(path)
        words, self._vectors = read_vectors(path)
        self.hidden_size = self._vectors.shape[1]
        self._words = words

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """Splits texts into words of the table."""
        return WordTokenizer(self._words)

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """The words' vectors, for texts of one length; there is no layer but 0."""
        return [self._vectors[ids] for _ in layers]


def read_vectors(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Words and their vectors; the first of two equal words counts, as gensim has it."""
    words: dict[str, None] = {}
    rows: list[NDArray[np.float32]] = []
    width = 0
    for number, line in enumerate(_lines(path), 1):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            width = int(fields[1])
            continue
        width = width or len(fields) - 1
        # A word may hold spaces (". . ." in GloVe's largest file), so the numbers are counted from the end.
        word, numbers = " ".join(fields[:-width]), fields[-width:]
        try:
            row = np.array(numbers, dtype=np.float32)
        except ValueError as error:
            msg = f"{path.name}, line {number}: expected a word and {width} numbers: {error}"
            raise FileFormatError(msg) from error
        if not word or len(row) != width or not np.isfinite(row).all():
            msg = f"{path.name}, line {number}: expected a word and {width} finite numbers, got {len(fields)} fields"
            raise FileFormatError(msg)
        if word not in words and row.any():  # a zero vector has no direction: the word counts as unknown
            words[word] = None
            rows.append(row)
    if not rows:
        msg = f"{path.name} holds no word vector; expected lines of a word and its numbers, with spaces between"
        raise FileFormatError(msg)
    return list(words), np.stack(rows)


def _lines(path: Path) -> Iterator[str]:
    packed: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    opened = packed.get(path.suffix, open)
    try:
        # Some words of the published files are no valid UTF-8; nobody can write them in a text either.
        with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n") as file:
            yield from file
    except OSError as error:
        msg = f"word vectors {path.name!r} cannot be read: {error}"
        raise FileFormatError(msg) from error
