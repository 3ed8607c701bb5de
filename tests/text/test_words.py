"""Words of a text, with their places."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import RecipeError
from nlgauge.text.words import WORD_RULES, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n ", []),
        ("The cat sat.", ["The", "cat", "sat", "."]),
        ("He's 3.5 km (post-war)...", ["He's", "3.5", "km", "(", "post-war", ")", ".", ".", "."]),
        ("“Ja”, sagte er", ["“", "Ja", "”", ",", "sagte", "er"]),
        ("我爱 NLP。", ["我", "爱", "NLP", "。"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),  # an accent of its own belongs to its letter
        ("น้ำ", ["น้", "ำ"]),  # a Thai mark above a letter too
        ("<b>bold</b>", ["<", "b", ">", "bold", "<", "/", "b", ">"]),
    ],
)
def test_words_end_at_blanks_and_punctuation(text: str, words: list[str]) -> None:
    assert [word.text for word in split_words(text)] == words


@given(st.text(max_size=40), st.sampled_from(WORD_RULES))
def test_every_character_but_white_space_is_in_one_word(text: str, rule: str) -> None:
    words = split_words(text, rule)
    assert "".join(word.text for word in words) == "".join(text.split())
    assert all(text[word.start : word.end] == word.text for word in words)
    assert all(first.end <= other.start for first, other in itertools.pairwise(words))


def test_words_of_tokenised_text_end_at_blanks() -> None:
    assert [word.text for word in split_words("Don ' t (x) .", "blanks")] == ["Don", "'", "t", "(x)", "."]


def test_another_rule_is_refused() -> None:
    with pytest.raises(RecipeError, match="words, blanks, got 'letters'"):
        split_words("a", "letters")
