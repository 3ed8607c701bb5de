"""The frequent words of a language with a vector each: the mean over all places where a word stands.

What unsupervised alignment looks at. Words are told by the model's tokenizer, lower-cased, of letters only and not
too short; a word seen a few times has a vector of chance, so it takes four.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders import Encoder, encode_texts
from nlgauge.text import Tokens

__all__ = ["FrequentWords", "Vocabulary", "frequent_words", "vocabulary_of_texts"]

#: Texts whose vectors are held at once.
_PORTION = 256

#: Fewest letters: of scripts that write a word with one or two characters, one.
_FEWEST_LETTERS = 3


class Vocabulary(NamedTuple):
    """Words, most frequent first."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    """A row per word."""
    counts: tuple[int, ...]
    types: int
    """Words of the texts before the rare ones were left out."""


class FrequentWords(NamedTuple):
    """Words of texts by their number, before anything is encoded; most frequent first."""

    words: tuple[str, ...]
    counts: tuple[int, ...]
    types: int
    """Words of the texts before the rare ones were left out."""
    tokens: tuple[Tokens, ...]
    """Of each text."""


def frequent_words(
    encoder: Encoder, texts: Sequence[str], *, most: int = 3000, fewest_places: int = 4
) -> FrequentWords:
    """The `most` frequent words that stand in at least `fewest_places`."""
    tokens = tuple(encoder.tokenizer.encode(list(texts)))
    places = Counter(word for text, one in zip(texts, tokens, strict=True) for word, _, _ in _words(text, one))
    kept = sorted((word for word, count in places.items() if count >= fewest_places), key=lambda w: (-places[w], w))
    words = tuple(kept[:most])
    return FrequentWords(words, tuple(places[word] for word in words), len(places), tokens)


def vocabulary_of_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    layer: int,
    most: int = 3000,
    fewest_places: int = 4,
    found: FrequentWords | None = None,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> Vocabulary:
    """The frequent words with their vectors; `advance` is told how many texts are done.

    `found`: what `frequent_words` said of these texts, if it was asked already.
    """
    words, counts, types, tokens = found or frequent_words(encoder, texts, most=most, fewest_places=fewest_places)
    rows = {word: row for row, word in enumerate(words)}
    sums = np.zeros((len(rows), encoder.hidden_size))
    for start in range(0, len(texts), _PORTION):
        part = slice(start, start + _PORTION)
        encoded = encode_texts(encoder, tokens[part], (layer,), batch_tokens=batch_tokens)
        for text, one in zip(texts[part], encoded, strict=True):
            for word, first, after in _words(text, one.tokens):
                if word in rows:
                    sums[rows[word]] += one.layers[layer][first:after].mean(axis=0, dtype=np.float64)
        if advance is not None:
            advance(len(texts[part]))
    vectors = (sums / np.maximum(np.array(counts, dtype=np.float64), 1)[:, None]).astype(np.float32)
    return Vocabulary(words, vectors, counts, types)


def _words(text: str, tokens: Tokens) -> list[tuple[str, int, int]]:
    """Words that count, each with its first token and the one after its last."""
    found = []
    for first, size in zip(*tokens.word_pieces, strict=True):
        if tokens.is_special[first]:
            continue
        word = text[tokens.offsets[first][0] : tokens.offsets[first + size - 1][1]].casefold()
        if word.isalpha() and len(word) >= (_FEWEST_LETTERS if word[0] < "\u2e80" else 1):
            found.append((word, int(first), int(first + size)))
    return found
