"""Re-mappings, means and centroids from lists of texts, without files."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError, RecipeError, TruncationWarning
from nlgauge.studies.alignment.from_texts import (
    LinearMethod,
    centroids_of_texts,
    fit_words,
    moments_of_texts,
    token_vectors,
)
from nlgauge.studies.alignment.word_spaces import AlignmentInputs
from nlgauge.vectors.remap import Origin

LEFT = ["The cat sat on the mat.", "A dog barked.", ""]
RIGHT = ["A cat was sitting on a mat.", "The dog was barking.", "Nobody."]


def test_words_of_texts_are_paired_and_fitted() -> None:
    encoder = load_encoder("minilm")
    links = [((1, 1), (5, 6)), ((1, 1),), ()]
    fitted = fit_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=2, alignments=links), LinearMethod("umd"))
    assert fitted.fitted_on == "3 pairs of words from 2 pairs of texts (1 left out)"
    assert fitted.remapping.origin.layer == 2
    assert fitted.remapping.origin.weights == encoder.weights_digest
    assert list(map(list, fitted.links)) == list(map(list, links))
    with pytest.raises(InputError, match="no pair to fit on"):
        fit_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=2, alignments=[(), (), ()]))
    with pytest.raises(RecipeError, match="layers 0 to 6"):
        fit_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=9))


def test_the_same_language_and_model_is_an_error() -> None:
    encoder = load_encoder("minilm")
    with pytest.raises(InputError, match="both sides are the same text with the same model"):
        fit_words(AlignmentInputs(encoder, LEFT, LEFT, layer=2))
    with pytest.raises(InputError, match="both sides are language 'en' with the same model"):
        fit_words(AlignmentInputs(encoder, LEFT, RIGHT, layer=2), origin=Origin(source="en", target="en"))


def test_moments_are_those_of_the_token_vectors() -> None:
    encoder = load_encoder("minilm")
    rows = np.concatenate(list(token_vectors(encoder, LEFT, layer=1)))
    moments = moments_of_texts(encoder, {"en": LEFT}, layer=1)["en"]
    assert moments.count == len(rows)
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), atol=1e-6)


def test_what_the_model_does_not_read_is_warned_of() -> None:
    with pytest.warns(TruncationWarning, match="1 of 2 texts were truncated to the 512 tokens that 'minilm' reads"):
        moments = moments_of_texts(load_encoder("minilm"), {"en": ["A cat.", "word " * 600]}, layer=0)["en"]
    assert moments.count == 3 + 510


def test_without_steps_nothing_moves() -> None:
    change = centroids_of_texts(load_encoder("minilm"), {"xx": LEFT, "yy": RIGHT}, layer=1)
    np.testing.assert_array_equal(change.before.distance, change.after.distance)
    assert change.before.languages == ("xx", "yy")
    with pytest.raises(RecipeError, match="must be one of xx, yy, got 'zz'"):
        centroids_of_texts(load_encoder("minilm"), {"xx": LEFT, "yy": RIGHT}, layer=1, source_language="zz")
