"""BERTScore with the parts of MoverScore (appendix C of the BERTScore paper), computed anew from token vectors."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import nlgauge
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import RecipeError

HYP = "The therapist, unbelievably, sat down."
REF = "A therapist was sitting down!"

Vectors = Callable[[dict[int, NDArray[np.float32]]], NDArray[np.float64]]
Kept = Callable[[str], bool]


def f_by_hand(vectors: Vectors, kept: Kept = lambda token: True) -> float:
    """Greedy matching of the kept tokens; [CLS] and [SEP] are matched, but do not count."""
    encoder = load_encoder("minilm")
    encoded = encode_texts(encoder, encoder.tokenizer.encode([HYP, REF]), tuple(range(2, 7)), batch_tokens=512)
    sides = []
    for text in encoded:
        names = encoder.tokenizer.token_strings(text.tokens)
        rows = [row for row, name in enumerate(names) if kept(name)]
        points = vectors(dict(text.layers))[rows]
        counts = np.array([names[row] not in ("[CLS]", "[SEP]") for row in rows])
        sides.append((points / np.linalg.norm(points, axis=1, keepdims=True), counts))
    (x, u), (y, v) = sides
    cosines = x @ y.T
    p, r = cosines.max(axis=1)[u].mean(), cosines.max(axis=0)[v].mean()
    return float(2 * p * r / (p + r))


def layer_4(layers: dict[int, NDArray[np.float32]]) -> NDArray[np.float64]:
    return layers[4].astype(np.float64)


def power_means(layers: dict[int, NDArray[np.float32]]) -> NDArray[np.float64]:
    """Footnote 9: the last five layers, L2-normalised, then minimum, mean and maximum, concatenated."""
    stack = np.stack([layers[layer].astype(np.float64) for layer in range(2, 7)])
    stack /= np.linalg.norm(stack, axis=2, keepdims=True)
    return np.concatenate([stack.min(axis=0), stack.mean(axis=0), stack.max(axis=0)], axis=1)


def no_marks(token: str) -> bool:
    return token not in string.punctuation


def no_marks_and_first_pieces(token: str) -> bool:
    """[RM]: no punctuation, and of the pieces of a word the first only."""
    return no_marks(token) and not token.startswith("##")


@pytest.mark.parametrize(
    ("options", "vectors", "kept"),
    [
        ("", layer_4, lambda token: True),
        (":aggregation=pmeans", power_means, lambda token: True),
        (":punctuation=drop-ascii", layer_4, no_marks),
        (":subwords=first,punctuation=drop-ascii", layer_4, no_marks_and_first_pieces),
        (":aggregation=pmeans,subwords=first,punctuation=drop-ascii", power_means, no_marks_and_first_pieces),
    ],
)
def test_parts_by_hand(options: str, vectors: Vectors, kept: Kept) -> None:
    score = nlgauge.score([HYP], [REF], f"bertscore{options}")
    assert score.segments["f1"][0] == pytest.approx(f_by_hand(vectors, kept), abs=1e-6)


def test_pieces_are_averaged() -> None:
    """The vector of a word is the mean of its pieces: "unbelievably" has several, all other words have one."""
    encoder = load_encoder("minilm")
    (text,) = encode_texts(encoder, encoder.tokenizer.encode(["unbelievably old"]), (4,), batch_tokens=512)
    pieces = text.layers[4][1:-2].astype(np.float64)
    assert len(pieces) > 1
    (other,) = encode_texts(encoder, encoder.tokenizer.encode(["old"]), (4,), batch_tokens=512)
    word, old = pieces.mean(axis=0), other.layers[4].astype(np.float64)
    cosines = old @ word / np.linalg.norm(word) / np.linalg.norm(old, axis=1)
    score = nlgauge.score(["unbelievably"], ["unbelievably"], "bertscore:subwords=average")
    assert score.segments["f1"][0] == pytest.approx(1.0)
    whole = nlgauge.score(["unbelievably old"], ["old"], "bertscore:subwords=average").segments["precision"][0]
    last = text.layers[4][-2].astype(np.float64)
    last_cosines = old @ last / np.linalg.norm(last) / np.linalg.norm(old, axis=1)
    assert whole == pytest.approx((cosines.max() + last_cosines.max()) / 2, abs=1e-6)


def test_stop_words_are_whole_words_if_pieces_are_averaged() -> None:
    plain = nlgauge.score(["the therapist"], ["the therapist"], "bertscore:subwords=average,stopwords=spacy-en")
    alignment = nlgauge.score(
        ["the therapist"], ["a therapist"], "bertscore:subwords=average,stopwords=spacy-en", alignments=True
    ).alignments
    assert plain.segments["f1"][0] == pytest.approx(1.0)
    assert alignment is not None
    assert alignment[0] is not None
    assert alignment[0].hypothesis_tokens == ("[CLS]", "therapist", "[SEP]")


def test_defaults_are_not_in_the_signature() -> None:
    recipe = nlgauge.score(["a cat"], ["the cat"], "bertscore:aggregation=layer,subwords=all,punctuation=keep")
    assert str(recipe.signature) == str(nlgauge.score(["a cat"], ["the cat"], "bertscore").signature)


@pytest.mark.parametrize("options", ["aggregation=pmeans,layer=3", "aggregation=pmeans,rescale=yes", "exponents=1+2"])
def test_options_without_effect_are_refused(options: str) -> None:
    with pytest.raises(RecipeError, match="has no effect with aggregation="):
        nlgauge.score(["a cat"], ["the cat"], f"bertscore:{options}")


def test_text_of_punctuation_only_scores_0_and_is_counted() -> None:
    with pytest.warns(nlgauge.errors.ZeroWeightWarning):
        score = nlgauge.score(["...", "a cat"], ["the cat", "a cat"], "bertscore:punctuation=drop-ascii")
    assert score.segments["f1"].tolist() == [0.0, pytest.approx(1.0)]
    assert score.counts["zero_weight"] == 1
