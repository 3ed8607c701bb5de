"""Vectors of words by themselves, without a text around them: a file in the text format of GloVe or word2vec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.engines.static import read_vectors
from nlgauge.encoders.loaded import LoadedModels
from nlgauge.errors import FileFormatError
from nlgauge.files.digests import file_digest, short_digest

__all__ = ["WordVectors", "load_word_vectors"]

#: Files kept for the next call, by their digest.
_loaded: LoadedModels[WordVectors] = LoadedModels(1)


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


def load_word_vectors(path: str | Path) -> WordVectors:
    """Read a file of word vectors, which may be packed by gzip or bzip2."""
    file = Path(path)
    if not file.is_file():
        msg = f"there is no file of word vectors {str(path)!r}; give one in the text format of GloVe or word2vec"
        raise FileFormatError(msg)
    digest = file_digest(file)
    return _loaded.get(digest, lambda: WordVectors(*read_vectors(file), digest=digest))
