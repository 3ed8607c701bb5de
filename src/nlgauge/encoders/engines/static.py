"""Static word vectors: a file in the text format of GloVe or word2vec, or layer 0 of an encoder.

    the 0.418 0.24968 ...          GloVe: a word and its numbers
    3000000 300                    word2vec: a first line with the number of words and their width

`WordVectors` and `InputVectors` look up single words, from a file (Dep2Vec is one) or from an encoder.
`StaticEncoder` is a file as an encoder with one layer, 0. With it, transport metrics are the word mover's distance of
Kusner et al. (2015), as in the rows `+ W2V` of MoverScore's tables. Texts are split at white space and punctuation,
and lower-cased if the file has no capital letters. Words without a vector, or with a zero vector, are removed and
counted.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from nlgauge.encoders.base import Encoder, encode_texts
from nlgauge.encoders.load import LoadedModels
from nlgauge.errors import FileFormatError
from nlgauge.io.storage import file_digest, short_digest, text_digest
from nlgauge.text.tokenizer import TextTokenizer, Tokens
from nlgauge.text.windows import NO_LIMIT

_UNKNOWN = "[UNK]"

#: Loaded files, by their digest.
_loaded: LoadedModels[WordVectors] = LoadedModels(1)

#: Size of the cache of words before it is cleared; at a width of 768 it takes 150 MB.
_MOST_WORDS = 50_000

#: Tokens per batch of words.
_BATCH_TOKENS = 4096


class WordVectors:
    """A table from words to vectors.

    Words are looked up unchanged, then in lower case: Dep2Vec and most GloVe files contain lower case only.
    """

    def __init__(self, words: list[str], vectors: NDArray[np.float32], *, digest: str) -> None:
        self._rows = {word: row for row, word in enumerate(words)}
        self._vectors = vectors
        self.label = f"file[{short_digest(digest)}]"
        """Name for signatures: the file's digest, not its path."""

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def width(self) -> int:
        """Numbers per vector."""
        return int(self._vectors.shape[1])

    def __call__(self, word: str) -> NDArray[np.float32] | None:
        """The word's vector; None for an unknown word."""
        row = self._rows.get(word, self._rows.get(word.lower()))
        return None if row is None else self._vectors[row]


class InputVectors:
    """Vectors of single words from an encoder's layer 0: the mean over the word's pieces."""

    label = "layer-0"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._cache: dict[str, NDArray[np.float32] | None] = {}

    def __call__(self, word: str) -> NDArray[np.float32] | None:
        """The word's vector; None for a word without tokens."""
        if word not in self._cache:
            self.add([word])
        return self._cache[word]

    def add(self, words: Iterable[str]) -> None:
        """Encode many words at once, which is faster than one by one."""
        new = list(dict.fromkeys(word for word in words if word not in self._cache))
        if not new:
            return
        if len(self._cache) + len(new) > _MOST_WORDS:
            self._cache = {}
        tokens = self._encoder.tokenizer.encode(new)
        encoded = encode_texts(self._encoder, tokens, (0,), batch_tokens=_BATCH_TOKENS)
        for word, text in zip(new, encoded, strict=True):
            pieces = text.layers[0][~text.tokens.is_special] if not text.tokens.empty else text.layers[0]
            self._cache[word] = pieces.mean(axis=0) if len(pieces) else None


def load_word_vectors(path: str | Path) -> WordVectors:
    """Read a file of word vectors, which can be compressed with gzip or bzip2."""
    file = Path(path)
    if not file.is_file():
        msg = f"no such file of word vectors: {str(path)!r}; give one in the text format of GloVe or word2vec"
        raise FileFormatError(msg)
    digest = file_digest(file)
    return _loaded.get(digest, lambda: WordVectors(*read_vectors(file), digest=digest))


class WordTokenizer(TextTokenizer):
    """Splits texts into words of a fixed vocabulary; other words are removed and counted."""

    def __init__(self, words: list[str]) -> None:
        vocabulary = {word: number for number, word in enumerate(words)}
        self._outside = vocabulary.setdefault(_UNKNOWN, len(words))
        backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=_UNKNOWN))
        backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        if not any(word != word.lower() for word in words):
            backend.normalizer = tokenizers.normalizers.Lowercase()
        super().__init__(backend, limit=NO_LIMIT, digest=text_digest("\n".join(words)))

    def _tokens(self, encoding: tokenizers.Encoding, text: str, *, whole: bool = False) -> Tokens:
        tokens = super()._tokens(encoding, text, whole=whole)
        inside = tokens.ids != self._outside
        return replace(tokens.take(np.flatnonzero(inside)), left_out=int((~inside).sum()), unknown_token=None)

    def _counted_ids(self, ids: Sequence[int]) -> Sequence[int]:
        return [token for token in ids if token != self._outside]


class StaticEncoder:
    """A file of word vectors as an encoder."""

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
        """Vectors of words, for texts of one length; layer 0 is the only one."""
        return [self._vectors[ids] for _ in layers]


def read_vectors(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Read words and their vectors; of equal words the first counts, as in gensim."""
    words: dict[str, None] = {}
    rows: list[NDArray[np.float32]] = []
    width = 0
    for number, line in enumerate(_lines(path), 1):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            width = int(fields[1])
            continue
        width = width or len(fields) - 1
        # A word may contain spaces (". . ." in GloVe's largest file), so numbers are counted from the end.
        word, numbers = " ".join(fields[:-width]), fields[-width:]
        try:
            row = np.array(numbers, dtype=np.float32)
        except ValueError as error:
            problem = f"line {number} is not a word and {width} numbers ({error})"
            msg = f"{path.name} is not a file of word vectors: {problem}"
            raise FileFormatError(msg) from error
        if not word or len(row) != width or not np.isfinite(row).all():
            msg = f"{path.name}, line {number}: expected a word and {width} finite numbers, got {len(fields)} fields"
            raise FileFormatError(msg)
        if word not in words and row.any():  # a zero vector has no direction, so the word counts as unknown
            words[word] = None
            rows.append(row)
    if not rows:
        msg = f"{path.name} contains no word vectors; expected lines with a word and its numbers, separated by spaces"
        raise FileFormatError(msg)
    return list(words), np.stack(rows)


def _lines(path: Path) -> Iterator[str]:
    packed: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    opened = packed.get(path.suffix, open)
    try:
        # Some words in published files are not valid UTF-8; no text can contain them.
        with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n") as file:
            yield from file
    except OSError as error:
        msg = f"cannot read word vectors {path.name!r}: {error}"
        raise FileFormatError(msg) from error
