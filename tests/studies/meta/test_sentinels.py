"""Rows of scores that look at no quality."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.meta.sentinels import (
    length_sentinel,
    random_sentinel,
    sentinel_rows,
    source_copy_sentinel,
)

OUTPUTS = [["a cat", "dog dog", None], ["", "dog", "x"]]


SOURCES = ["a cat sat", "Hund", "y"]


def test_length_counts_characters() -> None:
    assert np.array_equal(length_sentinel(OUTPUTS).values, [[5, 7, np.nan], [0, 3, 1]], equal_nan=True)


def test_source_copy_by_hand() -> None:
    # "a cat" has the trigrams "a c", " ca", "cat", all of them in the source; "dog dog" shares none with "Hund".
    found = source_copy_sentinel(OUTPUTS, SOURCES)
    assert np.array_equal(found.values, [[1, 0, np.nan], [0, 0, 0]], equal_nan=True)
    # A trigram counts as often as the source has it: "aaaa" has "aaa" twice, "aaa" once.
    assert source_copy_sentinel([["aaaa"]], ["aaa"]).values.tolist() == [[0.5]]


def test_random_numbers_follow_the_seed() -> None:
    assert np.array_equal(random_sentinel(2, 3).values, random_sentinel(2, 3).values)
    assert not np.array_equal(random_sentinel(2, 3).values, random_sentinel(2, 3, seed=1).values)


def test_rows_of_a_table() -> None:
    assert [row.name for row in sentinel_rows(OUTPUTS)] == ["sentinel-length", "sentinel-random"]
    assert [row.name for row in sentinel_rows(OUTPUTS, SOURCES)][2] == "sentinel-copy"


def test_sentinels_refuse() -> None:
    with pytest.raises(InputError, match=r"lengths \[2, 1\]"):
        length_sentinel([["a", "b"], ["c"]])
    with pytest.raises(InputError, match="system 0 are one string"):
        length_sentinel(["ab", "cd"])
    with pytest.raises(InputError, match="2 sources for 3 segments"):
        source_copy_sentinel(OUTPUTS, SOURCES[:2])
