"""Texts with words left out."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.studies.explain.masking import without_words
from nlgauge.text.words import split_words


@pytest.mark.parametrize(
    ("text", "left_out", "expected"),
    [
        ("The cat sat.", [], "The cat sat."),
        ("The cat sat.", [0], "cat sat."),
        ("The cat sat.", [2], "The cat."),
        ("The cat sat.", [3], "The cat sat"),
        ("The cat sat.", [0, 1, 2, 3], ""),
        ("a (big) dog", [1], "a big) dog"),
        ("我爱你。", [1], "我你。"),
    ],
)
def test_a_word_goes_with_the_white_space_before_it(text: str, left_out: list[int], expected: str) -> None:
    words = split_words(text)
    kept = np.array([number not in left_out for number in range(len(words))])
    assert without_words(text, words, kept) == expected
