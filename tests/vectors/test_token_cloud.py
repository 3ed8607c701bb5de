"""Distances between the tokens of two texts: computed once, and not kept without end."""

from __future__ import annotations

import numpy as np

from nlgauge.vectors.cloud import TokenPoints


def some_points(seed: int) -> TokenPoints:
    return TokenPoints(np.random.default_rng(seed).normal(size=(5, 8)).astype(np.float32))


def test_distances_of_two_texts_are_computed_once() -> None:
    x, y = some_points(1), some_points(2)
    assert x.distances(y, squared=True) is x.distances(y, squared=True)
    assert np.array_equal(x.distances(y, squared=False), np.sqrt(x.distances(y, squared=True)))


def test_a_text_that_meets_thousands_remembers_some_of_them() -> None:
    x, others = some_points(1), [some_points(seed) for seed in range(2, 302)]
    expected = [x.distances(y, squared=True).copy() for y in others]
    assert len(x._distances) < 100
    for y, before in zip(others, expected, strict=True):
        assert np.array_equal(x.distances(y, squared=True), before)
