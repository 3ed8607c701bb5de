"""Batches hold texts of one length, within a budget, and lose none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nlgauge.encoders.base import encode_texts, equal_length_batches
from nlgauge.text.tokenizer import Tokens

lengths = st.lists(st.integers(1, 40), max_size=60)
budgets = st.integers(1, 500)


@given(lengths, budgets)
def test_batches_are_a_partition(lengths: list[int], budget: int) -> None:
    batches = list(equal_length_batches(lengths, budget=budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(batches)


@given(lengths, budgets)
def test_a_batch_has_one_length_and_keeps_the_budget(lengths: list[int], budget: int) -> None:
    for batch in equal_length_batches(lengths, budget=budget):
        assert len({lengths[index] for index in batch}) == 1
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= budget


@given(lengths, budgets)
def test_no_batch_could_be_saved(lengths: list[int], budget: int) -> None:
    batches = list(equal_length_batches(lengths, budget=budget))
    for length in set(lengths):
        fits = max(1, budget // length)
        assert sum(lengths[batch[0]] == length for batch in batches) == -(-lengths.count(length) // fits)


@given(lengths, budgets)
def test_the_longest_come_first_and_equal_ones_in_order(lengths: list[int], budget: int) -> None:
    batches = list(equal_length_batches(lengths, budget=budget))
    order = [index for batch in batches for index in batch]
    assert order == sorted(range(len(lengths)), key=lambda index: -lengths[index])


class IdsAsVectors:
    """An engine whose vector of a token is its id, and which counts its calls."""

    model, weights_digest, engine, layers, hidden_size = "ids", "", "fake", 1, 2

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        self.shapes.append(ids.shape)
        both = np.stack([ids, ids], axis=-1).astype(np.float32)
        return [both * (layer + 1) for layer in layers]


def tokens_of(length: int, first: int) -> Tokens:
    """A text of `length` tokens between two special ones, with ids from `first` on."""
    special = np.zeros(length + 2, dtype=bool)
    special[[0, -1]] = True
    return Tokens(
        np.arange(first, first + length + 2, dtype=np.int32), special, np.arange(length + 2, dtype=np.int32)
    )


@given(st.lists(st.integers(0, 9), max_size=25), st.integers(1, 40))
def test_encoded_texts_come_in_the_order_of_the_input(lengths: list[int], budget: int) -> None:
    texts = [tokens_of(length, 100 * index) for index, length in enumerate(lengths)]
    encoded = encode_texts(IdsAsVectors(), texts, (0, 1), batch_tokens=budget)  # type: ignore[arg-type]
    assert [text.tokens for text in encoded] == texts
    for text, length in zip(encoded, lengths, strict=True):
        for layer, vectors in text.layers.items():
            expected = text.tokens.ids * (layer + 1) if length else []
            assert vectors.shape == (len(expected), 2)
            assert np.array_equal(vectors[:, 0], expected)


def test_a_text_without_a_token_costs_nothing() -> None:
    engine = IdsAsVectors()
    messages: list[int] = []
    texts = [tokens_of(0, 0), tokens_of(3, 0), tokens_of(3, 9)]
    encode_texts(engine, texts, (1,), batch_tokens=100, advance=messages.append)  # type: ignore[arg-type]
    assert engine.shapes == [(2, 5)]
    assert messages == [10]


@pytest.mark.parametrize("texts", [[], [tokens_of(0, 0)]])
def test_nothing_to_encode_calls_no_engine(texts: list[Tokens]) -> None:
    engine = IdsAsVectors()
    assert len(encode_texts(engine, texts, (1,), batch_tokens=100)) == len(texts)  # type: ignore[arg-type]
    assert engine.shapes == []
