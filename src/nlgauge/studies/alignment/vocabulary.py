"""Frequent words of a text with a vector each, for alignment without parallel text.

Words come from the tokenizer. Scripts without blanks (Chinese, Japanese, Thai) are split at every piece, often a
single character that is no word. If such a text has blanks between its words, these are the words instead.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import Encoder, encode_texts
from nlgauge.text.tokenizer import Tokens, is_unspaced

#: Number of texts whose vectors are in memory at once.
_WORD_PORTION = 256

#: Minimum number of letters; one for scripts that write a word with one or two characters.
_FEWEST_LETTERS = 3


class Vocabulary(NamedTuple):
    """Frequent words of a text, most frequent first."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    """A row per word; None before texts are encoded."""
    counts: tuple[int, ...]
    types: int
    """Number of different words, including rare ones."""


def frequent_words(encoder: Encoder, texts: Sequence[str], *, most: int = 3000, fewest_places: int = 4) -> Vocabulary:
    """Find the `most` frequent words with at least `fewest_places` occurrences, without vectors."""
    tokens, joined = encoder.tokenizer.encode(list(texts)), is_segmented(texts)
    counts = Counter(
        word for text, own in zip(texts, tokens, strict=True) for word, _, _ in _words(text, own, joined=joined)
    )
    ranked_words = sorted(
        (word for word, count in counts.items() if count >= fewest_places), key=lambda w: (-counts[w], w)
    )
    words, none = tuple(ranked_words[:most]), np.empty((0, encoder.hidden_size), dtype=np.float32)
    return Vocabulary(words, none, tuple(counts[word] for word in words), len(counts))


def vocabulary_of_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    layer: int,
    frequent: Vocabulary | None = None,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> Vocabulary:
    """Find the frequent words with their vectors; `advance` receives the number of finished texts.

    `frequent`: the `frequent_words` of these texts, if already counted.
    """
    counted = frequent or frequent_words(encoder, texts)
    rows = {word: row for row, word in enumerate(counted.words)}
    sums, joined = np.zeros((len(rows), encoder.hidden_size)), is_segmented(texts)
    for start in range(0, len(texts), _WORD_PORTION):
        part = list(texts[start : start + _WORD_PORTION])
        encoded = encode_texts(encoder, encoder.tokenizer.encode(part), (layer,), batch_tokens=batch_tokens)
        for text, own in zip(part, encoded, strict=True):
            for word, first, after in _words(text, own.tokens, joined=joined):
                if word in rows:
                    sums[rows[word]] += own.layers[layer][first:after].mean(axis=0, dtype=np.float64)
        if advance is not None:
            advance(len(part))
    vectors = sums / np.maximum(np.array(counted.counts, dtype=np.float64), 1)[:, None]
    return counted._replace(vectors=vectors.astype(np.float32))


#: Most letters between two blanks of a text in a script without blanks that somebody has split into words.
_LETTERS_OF_A_WORD = 2.5


def is_segmented(texts: Sequence[str]) -> bool:
    """Whether blanks separate the words of a script that is written without them.

    >>> is_segmented(["我们 在 北京"]), is_segmented(["我们在北京"]), is_segmented(["we are"])
    (True, False, False)
    """
    letters = fields = 0
    for field in itertools.chain.from_iterable(text.split() for text in texts):
        count = sum(map(is_unspaced, field))
        letters, fields = letters + count, fields + bool(count)
    return 0 < letters <= _LETTERS_OF_A_WORD * fields


def is_single_character(word: str) -> bool:
    """Whether a word is one character of a script without blanks, and thus perhaps only a part of a word."""
    return len(word) == 1 and is_unspaced(word)


def _words(text: str, tokens: Tokens, *, joined: bool) -> list[tuple[str, int, int]]:
    """Find the words of a text, each with its first token and the one after its last.

    A tokenizer splits scripts without blanks at every piece; `joined`: only blanks and other characters end a word.
    """
    spans: list[tuple[int, int]] = []
    for first, size in zip(*tokens.word_pieces, strict=True):
        if tokens.is_special[first]:
            continue
        start, after = int(first), int(first + size)
        while joined and start < after - 1 and tokens.offsets[start][0] == tokens.offsets[start][1]:
            start += 1  # a piece that is only the blank before the word has no place in the text
        if joined and spans and spans[-1][1] == start:
            end, begin = tokens.offsets[start - 1][1], tokens.offsets[start][0]
            if end == begin and is_unspaced(text[end - 1]) and is_unspaced(text[begin]):
                start = spans.pop()[0]
        spans.append((start, after))
    words = []
    for start, after in spans:
        word = text[tokens.offsets[start][0] : tokens.offsets[after - 1][1]].casefold()
        if word.isalpha() and len(word) >= (_FEWEST_LETTERS if word[0] < "\u2e80" else 1):
            words.append((word, start, after))
    return words
