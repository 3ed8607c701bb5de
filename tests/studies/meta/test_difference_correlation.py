"""Pearson over the differences of pairs of systems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from tests.studies.meta.made_tables import Array, tables

from nlgauge.errors import InputError
from nlgauge.studies.meta.pairwise import pairwise_difference_pearson


@given(tables)
def test_difference_pearson_equals_pearson_over_formed_pairs(pair: tuple[Array, Array]) -> None:
    metric, human = pair
    x, y = [], []
    for ours, theirs in zip(metric.T, human.T, strict=True):
        judged = np.flatnonzero(~np.isnan(theirs))
        for i, j in itertools.permutations(judged, 2):
            x.append(ours[i] - ours[j])
            y.append(theirs[i] - theirs[j])
    if not x:
        with pytest.raises(InputError, match=r"no segment has two|not a single"):
            pairwise_difference_pearson(metric, human)
        return
    found = pairwise_difference_pearson(metric, human, undefined="nan")
    assert found.pairs == len(x) / 2
    if any(x) and any(y):
        assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    else:
        assert math.isnan(found.value)
        assert "do not differ" in str(found.reason)
        with pytest.raises(InputError, match="do not differ"):
            pairwise_difference_pearson(metric, human)


def test_difference_pearson_ignores_what_a_segment_adds_to_all() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 30))
    scores = human + rng.normal(size=human.shape)
    value = pairwise_difference_pearson(scores, human).value
    moved = scores + 100 * rng.normal(size=30)
    assert pairwise_difference_pearson(moved, human).value == pytest.approx(value)
