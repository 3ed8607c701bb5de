"""Frequent words and their mean vectors."""

from __future__ import annotations

import numpy as np

from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.studies.alignment.vocabulary import frequent_words, is_segmented, vocabulary_of_texts

TEXTS = ["The barking dog saw the cat.", "A dog, a dog!", "Dog 42 is on it.", ""]


def test_words_are_counted_and_averaged_over_their_places() -> None:
    """By hand: dog stands in four places, the in two; words of one or two letters and numbers do not count."""
    encoder = load_encoder("minilm")
    seen: list[int] = []
    words = frequent_words(encoder, TEXTS, fewest_places=2)
    result = vocabulary_of_texts(encoder, TEXTS, layer=2, frequent=words, advance=seen.append)
    assert (result.words, result.counts, result.types) == (("dog", "the"), (4, 2), 5)
    assert sum(seen) == len(TEXTS)
    encoded = encode_texts(encoder, encoder.tokenizer.encode(TEXTS), (2,), batch_tokens=4096)
    tokens = [encoder.tokenizer.encode([text])[0] for text in TEXTS]
    rows = [
        value.layers[2][place]
        for text, value, index in zip(TEXTS, encoded, tokens, strict=True)
        for place, (start, end) in enumerate(index.offsets)
        if text[start:end].lower() == "dog"
    ]
    assert len(rows) == 4
    np.testing.assert_allclose(result.vectors[0], np.mean(rows, axis=0), atol=1e-6)


def test_pieces_of_a_blank_alone_do_not_hide_segmented_words() -> None:
    """SentencePiece puts a piece for the blank before a word that no longer piece begins."""
    words = frequent_words(load_encoder("muse"), ["上周 ， 古装剧 《 美人 私房 菜 》 临时 停播"] * 4).words
    assert {"上周", "古装剧", "美人", "私房", "菜", "临时", "停播"} == set(words)


def test_the_most_frequent_are_kept() -> None:
    result = frequent_words(load_encoder("minilm"), TEXTS, fewest_places=1, most=2)
    assert result.words == ("dog", "the")


def test_blanks_end_words_of_a_segmented_script_without_blanks() -> None:
    """A tokenizer that splits Chinese at every character gets the words of a text whose words are apart."""
    encoder = load_encoder("minilm")
    joined, apart = ["中国在北京大学"] * 4, ["中国 在 北京 大学 abc"] * 4
    assert (is_segmented(joined), is_segmented(apart), is_segmented(["plain words"])) == (False, True, False)
    single = vocabulary_of_texts(encoder, joined, layer=1)
    assert set(single.words) == set("中国在北京大学")
    words = vocabulary_of_texts(encoder, apart, layer=1)
    assert set(words.words) == {"中国", "在", "北京", "大学", "abc"}
    encoded = encode_texts(encoder, encoder.tokenizer.encode(apart[:1]), (1,), batch_tokens=4096)[0]
    rows = [
        encoded.layers[1][i] for i, span in enumerate(encoded.tokens.offsets) if apart[0][slice(*span)] in {*"北京"}
    ]
    assert len(rows) == 2
    np.testing.assert_allclose(words.vectors[words.words.index("北京")], np.mean(rows, axis=0), atol=1e-6)
