"""Vectors of words by themselves, without a text around them.

WordVectors     a file in the text format of GloVe or word2vec (Dep2Vec is one)
InputVectors    layer 0 of an encoder, where there is no such file
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import Encoder, encode_texts
from nlgauge.encoders.loaded import LoadedModels
from nlgauge.errors import FileFormatError
from nlgauge.files.digests import file_digest, short_digest

__all__ = ["InputVectors", "WordVectors", "load_word_vectors"]

#: Files kept for the next call, by their digest.
_loaded: LoadedModels[WordVectors] = LoadedModels(1)

#: Words that are remembered before all are forgotten; at a width of 768 they take 150 MB.
_MOST_WORDS = 50_000

#: Tokens of words that are encoded together.
_BATCH_TOKENS = 4096


class WordVectors:
    """A table from words to vectors.

    Words are looked up as they are, then in lower case: Dep2Vec and most GloVe files hold lower case only.
    """

    def __init__(self, words: list[str], vectors: NDArray[np.float32], *, digest: str) -> None:
        self._rows = {word: row for row, word in enumerate(words)}
        self._vectors = vectors
        self.label = f"file[{short_digest(digest)}]"
        """As a signature has it: a file is known by its digest, wherever it lies."""

    def __len__(self) -> int:
        return len(self._rows)

    def __call__(self, word: str) -> NDArray[np.float32] | None:
        """The word's vector, or None."""
        row = self._rows.get(word, self._rows.get(word.lower()))
        return None if row is None else self._vectors[row]


class InputVectors:
    """What an encoder's layer 0 makes of a word by itself: the mean over its pieces."""

    label = "layer-0"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32] | None] = {}

    def __call__(self, word: str) -> NDArray[np.float32] | None:
        """The word's vector; None for one without a token."""
        if word not in self._known:
            self.add([word])
        return self._known[word]

    def add(self, words: Iterable[str]) -> None:
        """Encode many words at once, which is faster than one by one."""
        new = list(dict.fromkeys(word for word in words if word not in self._known))
        if not new:
            return
        if len(self._known) + len(new) > _MOST_WORDS:
            self._known = {}
        tokens = self._encoder.tokenizer.encode(new)
        for word, one in zip(new, encode_texts(self._encoder, tokens, (0,), batch_tokens=_BATCH_TOKENS), strict=True):
            pieces = one.layers[0][~one.tokens.is_special] if not one.tokens.empty else one.layers[0]
            self._known[word] = pieces.mean(axis=0) if len(pieces) else None


def load_word_vectors(path: str | Path) -> WordVectors:
    """Read a file of word vectors, which may be packed by gzip or bzip2."""
    file = Path(path)
    if not file.is_file():
        msg = f"there is no file of word vectors {str(path)!r}; give one in the text format of GloVe or word2vec"
        raise FileFormatError(msg)
    # Here, so that a command that reads no such file does without its reader.
    from nlgauge.encoders.engines.static import read_vectors

    digest = file_digest(file)
    return _loaded.get(digest, lambda: WordVectors(*read_vectors(file), digest=digest))
