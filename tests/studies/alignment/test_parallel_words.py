"""Pairs of word vectors from parallel texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, write_model

from nlgauge.encoders.base import Encoder, encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError
from nlgauge.studies.alignment.word_spaces import (
    MOST_TOKENS,
    AlignmentInputs,
    ModelLayer,
    paired_words,
    white_space_words,
)

SOURCE = ["the cats sat late", "a red dog ran.", "", "storm"]
TARGET = ["the dogs sat early", "a blue cat ran.", "the cat", "ferry"]


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    return load_encoder(str(write_model(tmp_path / "tiny", TINY["bert"])), threads=1)


def vectors(encoder: Encoder, text: str) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    (encoded,) = encode_texts(encoder, encoder.tokenizer.encode([text]), (2,), batch_tokens=100)
    result: np.ndarray[tuple[int, int], np.dtype[np.float32]] = encoded.layers[2]
    return result


def test_rows_are_averages_of_pieces_in_the_order_of_links(encoder: Encoder) -> None:
    """`cats` and `dogs` are two pieces each ([CLS] the cat ##s sat late [SEP])."""
    links = [((1, 1), (3, 0)), (), (), ((0, 0),)]
    result = paired_words(AlignmentInputs(encoder, SOURCE, TARGET, layer=2, alignments=links))
    left, right = vectors(encoder, SOURCE[0]), vectors(encoder, TARGET[0])
    expected = [left[2:4].mean(0), left[5], vectors(encoder, "storm")[1]]
    np.testing.assert_allclose(result.source, expected, atol=1e-6)
    np.testing.assert_allclose(result.target, [right[2:4].mean(0), right[1], vectors(encoder, "ferry")[1]], atol=1e-6)
    assert (result.used, result.left_out) == (2, 2)


def test_nearest_neighbours_of_a_text_and_itself_are_its_words(encoder: Encoder) -> None:
    result = paired_words(AlignmentInputs(encoder, SOURCE, SOURCE, layer=2, nearest=True))
    assert result.links[:2] == (tuple((i, i) for i in range(4)), tuple((i, i) for i in range(5)))
    assert np.array_equal(result.source, result.target)
    assert result.left_out == 1  # the empty one


def test_links_of_the_word_aligner_are_between_words_of_the_tokenizer(encoder: Encoder) -> None:
    """`ran.` is two words of the tokenizer; equal words are the same word in upper case, too."""
    texts = ["the cat ran.", "The dog sat", "a cat sat."]
    pairs = AlignmentInputs(encoder, texts, [text.upper() for text in texts], layer=2)
    result = paired_words(pairs)
    assert result.links == tuple(tuple((i, i) for i in range(count)) for count in (4, 3, 4))
    across = paired_words(replace(pairs, other=ModelLayer(encoder, 1)))
    assert across.links == result.links
    assert not np.array_equal(across.target, result.target)


def test_nearest_neighbours_across_models_need_the_same_text(encoder: Encoder) -> None:
    result = paired_words(AlignmentInputs(encoder, SOURCE, SOURCE, layer=2, other=ModelLayer(encoder, 1)))
    assert result.links[0] == ((0, 0), (1, 1), (2, 2), (3, 3))
    alone = paired_words(AlignmentInputs(encoder, SOURCE, SOURCE, layer=1, alignments=result.links))
    np.testing.assert_array_equal(result.target, alone.target)
    assert not np.array_equal(result.source, result.target)
    with pytest.raises(InputError, match="nearest neighbours are undefined across models or layers"):
        paired_words(AlignmentInputs(encoder, SOURCE, TARGET, layer=2, other=ModelLayer(encoder, 1), nearest=True))


def test_over_long_texts_are_left_out(encoder: Encoder) -> None:
    result = paired_words(AlignmentInputs(encoder, ["cat", "dog " * MOST_TOKENS], ["cat", "dog"], layer=1))
    assert (result.used, result.left_out, len(result.source)) == (1, 1, 1)


def test_words_by_white_space_join_what_the_tokenizer_splits(encoder: Encoder) -> None:
    (tokens,) = encoder.tokenizer.encode(["a red dog ran."])
    words = white_space_words(encoder.tokenizer, "a red dog ran.", tokens)
    assert words is not None
    assert words.tolist() == [-1, 0, 1, 2, 3, 3, -1]
    assert tokens.words.tolist() == [-1, 0, 1, 2, 3, 4, -1]


def test_parallel_texts_need_the_same_number_of_lines(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="got 4 source and 1 target texts"):
        paired_words(AlignmentInputs(encoder, SOURCE, ["x"], layer=1))
    with pytest.raises(InputError, match="each of 4 pairs of texts, got 1"):
        paired_words(AlignmentInputs(encoder, SOURCE, TARGET, layer=1, alignments=[()]))
