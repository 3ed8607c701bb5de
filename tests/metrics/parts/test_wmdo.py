"""The fluency term of WMDo, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgauge.metrics.parts.word_matches import chunks
from nlgauge.metrics.sentsim import flow_links, wmdo

permutations = st.integers(1, 12).flatmap(lambda count: st.permutations(range(count)))


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([], 0),
        ([(0, 0)], 1),
        ([(0, 0), (1, 1), (2, 2)], 1),  # the same order
        ([(0, 2), (1, 1), (2, 0)], 3),  # reversed
        # METEOR's example (Banerjee and Lavie 2005, section 2.2): "the president spoke to the audience" against
        # "the president then spoke to the audience" makes two chunks.
        ([(0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (5, 6)], 2),
        ([(0, 0), (2, 1)], 2),  # a word between them that has no match
    ],
)
def test_chunks(links: list[tuple[int, int]], expected: int) -> None:
    assert chunks(links) == expected
    assert chunks(reversed(links)) == expected
    assert chunks((j, i) for i, j in links) == expected


@given(permutations)
@settings(deadline=None)  # the first call imports nltk
def test_chunks_are_as_nltk_counts_them(order: list[int]) -> None:
    meteor = pytest.importorskip("nltk.translate.meteor_score")
    links = list(enumerate(order))
    assert chunks(links) == meteor._count_chunks(links)


def test_order_term_computed_by_hand() -> None:
    assert wmdo(1.0, [(0, 0), (1, 1), (2, 2), (3, 3)]) == pytest.approx(1 - 0.2 * (0.5 - 1 / 4))
    assert wmdo(1.0, [(0, 3), (1, 2), (2, 1), (3, 0)]) == pytest.approx(1 + 0.2 * 0.5)
    assert wmdo(1.0, []) == pytest.approx(0.9)  # without a match, as published: better than any order


@given(permutations)
def test_same_order_has_the_lowest_distance(order: list[int]) -> None:
    same = wmdo(0.0, [(i, i) for i in order])
    assert same <= wmdo(0.0, list(enumerate(order))) <= 0.1


def test_links_of_a_flow() -> None:
    flow = np.array([[0.3, 0.1, 0.0], [0.0, 0.2, 0.2], [0.0, 0.0, 0.0]])
    assert flow_links(flow) == ((0, 0), (1, 1))
    assert flow_links(np.empty((0, 3))) == ()
