"""The longest common subsequence, compared with dynamic programming."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import _lcs_table

from nlgauge.metrics.rouge import common_subsequence

words = st.lists(st.sampled_from("abcd"), max_size=40)


@given(first=words, second=words)
def test_length_equals_that_of_dynamic_programming(first: list[str], second: list[str]) -> None:
    assert common_subsequence(first, second) == _lcs_table(first, second)[-1][-1]


def test_two_long_texts_in_bounded_memory() -> None:
    # A table of 30,000 x 30,000 Python integers would be 7 GB.
    first = [str(number % 997) for number in range(30_000)]
    assert common_subsequence(first, first[100:]) == 29_900
