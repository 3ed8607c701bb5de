"""From points to words."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import RecipeError
from nlgauge.studies.explain.explanation import ExplainOptions, WordView, original_spans
from nlgauge.text.words import split_words

WORDS = split_words("ofgem sat.")  # 0-5, 6-9, 9-10


def test_pieces_of_a_word_add_up_and_special_tokens_are_apart() -> None:
    view = WordView.of(WORDS, [(), ((0, 2),), ((2, 5),), ((6, 9),)])
    words, rest = view.spread(np.array([0.5, 1.0, 2.0, 4.0]))
    assert (words.tolist(), rest) == ([3.0, 4.0, 0.0], 0.5)


def test_a_piece_over_the_end_of_a_word_is_divided_by_characters() -> None:
    view = WordView.of(WORDS, [((6, 10),)])
    assert view.shares == ({1: 0.75, 2: 0.25},)


def test_an_ngram_is_divided_equally_among_its_tokens() -> None:
    view = WordView.of(WORDS, [((0, 5), (9, 10))])
    assert view.shares == ({0: 0.5, 2: 0.5},)


@pytest.mark.parametrize(("rule", "value"), [("max", 0.6), ("mean", 0.4), ("first", 0.2)])
def test_one_value_stands_for_the_pieces_that_count(rule: str, value: float) -> None:
    view = WordView.of(WORDS, [((0, 2),), ((2, 4),), ((4, 5),)])
    result = view.reduce(np.array([0.2, 0.6, 9.0]), np.array([True, True, False]), rule)
    assert result == [pytest.approx(value), None, None]


def test_another_rule_is_refused() -> None:
    with pytest.raises(RecipeError, match="max, mean, first, got 'last'"):
        ExplainOptions(pieces="last")


def test_places_in_lower_case_are_those_of_the_text() -> None:
    text = "İ am"  # its first letter becomes two in lower case
    lowered = text.lower()
    assert len(lowered) == len(text) + 1
    start = lowered.index("am")
    assert original_spans(text, [((start, start + 2),), ((0, 2),), ()]) == (((2, 4),), ((0, 1),), ())
    assert original_spans("The", [((0, 3),)]) == (((0, 3),),)
