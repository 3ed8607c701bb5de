"""Vectors of texts that are read in windows: where they come from, and what they do not depend on."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.cache import EmbeddingCache
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import PooledSentences, Pooling
from nlgauge.errors import RecipeError
from nlgauge.testing import WORDS, HashEncoder
from nlgauge.text.tokenizer import Tokens
from nlgauge.text.windows import Reading, Windows


class PlaceEncoder(HashEncoder):
    """Gives each token its place in the window that it was read in, the size of it, and its id; and counts texts."""

    cacheable = True

    def __init__(self) -> None:
        super().__init__(width=3)
        self.read: list[tuple[int, ...]] = []

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        self.read.append(ids.shape)
        places = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        seen = np.stack([places, np.full(ids.shape, ids.shape[1]), ids], axis=2).astype(np.float32)
        return [seen for _ in layers]


def read(encoder: HashEncoder, texts: list[str], window: int, stride: int | None = None) -> list[Tokens]:
    windows = Reading(window, stride).windows(encoder.tokenizer, limit=encoder.tokenizer.limit, model="hash")
    assert windows is not None
    return [tokens.in_windows(windows) for tokens in encoder.tokenizer.encode(texts, whole=True)]


@given(st.integers(4, 30), st.integers(1, 28), st.integers(1, 200), st.integers(1, 500))
def test_every_token_is_read_where_the_rule_says(window: int, stride: int, words: int, batch_tokens: int) -> None:
    """The rule again, in its own words: the least distance to an edge, the largest of them, the first of equals."""
    encoder, content = PlaceEncoder(), window - 2
    stride = min(stride, content)
    text = " ".join(itertools.islice(itertools.cycle(WORDS), words))
    (tokens,) = read(encoder, [text], window, stride)
    (result,) = encode_texts(encoder, [tokens], (1,), batch_tokens=batch_tokens)
    places, sizes, ids = result.layers[1].T
    assert ids.tolist() == tokens.ids.tolist()
    if words <= content:
        assert places.tolist() == list(range(words + 2))
        return
    starts = [*range(0, words - content, stride), words - content]
    expected = []
    for token in range(words):
        inside = [start for start in starts if start <= token < start + content]
        farthest = max(
            inside, key=lambda start: min(token - start, start + content - 1 - token)
        )  # the first of equals
        expected.append(1 + token - farthest)
    assert places.tolist() == [0, *expected, window - 1]
    assert set(sizes) == {window}


def test_where_context_is_short_windows_give_the_vectors_of_a_model_without_a_limit() -> None:
    """The hash encoder looks one token back, and no token but the first stands at the left edge of its window."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, size)) for size in (1, 60, 62, 63, 64, 65, 100, 999)]
    small, large = HashEncoder(limit=64), HashEncoder(limit=5000)
    expected = encode_texts(large, large.tokenizer.encode(texts), (0, 2), batch_tokens=4096)
    for window, stride in ((64, None), (64, 61), (20, 1), (7, 3)):
        result = encode_texts(small, read(small, texts, window, stride), (0, 2), batch_tokens=300)
        for first, other in zip(result, expected, strict=True):
            assert first.tokens.ids.tolist() == other.tokens.ids.tolist()
            assert all(np.array_equal(first.layers[layer], other.layers[layer]) for layer in (0, 2))


def test_real_vectors_are_those_of_the_window_alone_whatever_stands_beside_it() -> None:
    encoder = load_encoder("minilm")
    rng = np.random.default_rng(5)
    texts = ["bread", *(" ".join(rng.choice(WORDS, size)) for size in (40, 90, 300))]
    tokens = read(encoder, texts, 32)
    together = encode_texts(encoder, tokens, (3,), batch_tokens=512)
    backwards = encode_texts(encoder, tokens[::-1], (3,), batch_tokens=1)[::-1]
    for text, first, other in zip(tokens, together, backwards, strict=True):
        assert np.array_equal(first.layers[3], other.layers[3])
        (alone,) = encode_texts(encoder, [text], (3,), batch_tokens=64)
        assert np.array_equal(first.layers[3], alone.layers[3])
        for window in text.windows.cut(len(text)) if text.windows is not None else ():
            (part,) = encoder.encode(text.ids[window.places][None].astype(np.int64), (3,))
            assert np.array_equal(first.layers[3][window.rows_in_text], part[0][window.used_rows])


def test_a_text_that_fits_is_encoded_as_without_windows() -> None:
    encoder = load_encoder("minilm")
    texts = ["A ferry was cancelled.", "bread " * 510]
    plain = encode_texts(encoder, encoder.tokenizer.encode(texts), (2,), batch_tokens=4096)
    result = encode_texts(encoder, read(encoder, texts, 512), (2,), batch_tokens=4096)
    assert all(np.array_equal(first.layers[2], other.layers[2]) for first, other in zip(plain, result, strict=True))


def test_windows_are_kept_on_disk_like_texts(tmp_path: Path) -> None:
    encoder = PlaceEncoder()
    cache = EmbeddingCache(tmp_path)
    tokens = read(encoder, ["the cat sat on the mat . " * 5, "a dog"], 12, 5)
    first = encode_texts(encoder, tokens, (1, 2), batch_tokens=64, cache=cache)
    calls = len(encoder.read)
    again = encode_texts(encoder, tokens, (1, 2), batch_tokens=64, cache=cache)
    assert len(encoder.read) == calls
    assert all(np.array_equal(left.layers[2], other.layers[2]) for left, other in zip(first, again, strict=True))
    encode_texts(
        encoder, read(encoder, ["the cat sat on the mat . " * 5], 13, 5), (1, 2), batch_tokens=64, cache=cache
    )
    assert len(encoder.read) > calls, "other windows have other vectors"


def test_progress_counts_each_token_once() -> None:
    encoder = PlaceEncoder()
    tokens = read(encoder, ["the cat sat on the mat . " * 5, "a dog"], 12, 3)
    counted: list[int] = []
    encode_texts(encoder, tokens, (1,), batch_tokens=50, advance=counted.append)
    assert sum(counted) == sum(map(len, tokens))


def test_a_window_of_nothing_but_spelt_out_special_tokens_is_read() -> None:
    encoder = PlaceEncoder()
    (tokens,) = read(encoder, ["the cat " + "[SEP] " * 30 + "sat"], 8)
    (result,) = encode_texts(encoder, [tokens], (1,), batch_tokens=64)
    assert result.layers[1][:, 2].tolist() == tokens.ids.tolist()


def test_a_sentence_vector_pools_each_token_once() -> None:
    """With the hash encoder windows move no token vector, so the pooled ones are those of a model without a limit."""
    text = "the cat sat on the mat and a small black dog ran . " * 20
    for modes in (("mean",), ("max", "mean_sqrt_len")):
        pooling = Pooling(modes)
        small = PooledSentences(HashEncoder(limit=64), pooling, reading=Reading("model"))
        large = PooledSentences(HashEncoder(limit=5000), pooling)
        cut = PooledSentences(HashEncoder(limit=64), pooling)
        assert np.array_equal(small.encode([text]), large.encode([text]))
        assert np.array_equal(small.encode(["a dog"]), cut.encode(["a dog"]))
        assert small.digest != cut.digest
    assert small.windows == Windows(64, 31, (1, 1))


def test_the_windows_of_a_sentence_model_are_no_larger_than_it_reads() -> None:
    made = PooledSentences(HashEncoder(limit=64), Pooling(max_tokens=32), reading=Reading(64, 50))
    assert made.windows == Windows(32, 15, (1, 1))


def test_a_sentence_model_that_goes_by_its_first_token_has_no_windows() -> None:
    with pytest.raises(RecipeError, match=r"'hash' pools the first token, which sees one window"):
        PooledSentences(HashEncoder(), Pooling(("cls",)), reading=Reading("model"))
    PooledSentences(HashEncoder(), Pooling(("cls",)))
