"""Soft pairwise accuracy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.studies.meta.made_tables import NAN, Array

from nlgauge.errors import InputError
from nlgauge.studies.meta.pairwise import pairwise_p_values, soft_pairwise_accuracies


def made_systems(seed: int = 0, systems: int = 5, segments: int = 60) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    human = np.linspace(0, 1, systems)[:, None] + rng.normal(size=(systems, segments))
    return human, human + rng.normal(size=human.shape)


def test_p_values_equal_the_definition_with_the_published_draws() -> None:
    human, _ = made_systems()
    # mt-metrics-eval's pce.py: numpy's default_rng(4), float32 uniforms rounded to 0 or 1, as signs.
    signs = 2 * np.rint(np.random.default_rng(4).random(size=(1000, 60), dtype=np.float32)) - 1
    found = pairwise_p_values(human[None])[0]
    for i, j in itertools.product(range(5), repeat=2):
        if i < j:
            difference = human[i] - human[j]
            assert found[i, j] == np.mean((signs * difference).sum(axis=1) >= difference.sum())
        else:
            assert math.isnan(found[i, j])


def test_draws_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    human, scores = made_systems(segments=37)
    whole = soft_pairwise_accuracies({"m": scores}, human)[0]
    monkeypatch.setattr("nlgauge.studies.meta.pairwise.BLOCK_CELLS", 37 * 11)
    assert soft_pairwise_accuracies({"m": scores}, human)[0] == whole


def test_the_example_of_the_published_code() -> None:
    # pce.py explains itself with these five segments: system A leads by .6 everywhere, so among all 32 sign
    # vectors only the one that flips nothing reaches the observed difference; rounding must not hide it.
    a, b = [0.8, 0.9, 0.7, 1.0, 0.6], [0.2, 0.3, 0.1, 0.4, 0.0]
    p = pairwise_p_values([[a, b]], resamples=20_000)[0, 0, 1]
    assert p == pytest.approx(1 / 32, abs=0.004)


def test_people_agree_with_themselves_and_a_reversed_metric_does_not() -> None:
    human, scores = made_systems()
    itself, noisy, reverse = soft_pairwise_accuracies({"h": human, "m": scores, "r": -human}, human)
    assert itself.value == 1
    assert 0.5 < noisy.value < 1
    assert reverse.value < 0.5
    assert (itself.pairs, itself.segments, itself.unjudged) == (10, 60, 0)


def test_only_segments_judged_for_all_systems_count() -> None:
    human, scores = made_systems()
    gaps = human.copy()
    gaps[2, [3, 7]] = NAN
    found = soft_pairwise_accuracies({"m": scores}, gaps)[0]
    rest = np.delete(np.arange(60), [3, 7])
    assert found.value == soft_pairwise_accuracies({"m": scores[:, rest]}, human[:, rest])[0].value
    assert (found.segments, found.unjudged) == (58, 2)
    gaps[0] = NAN
    with pytest.raises(InputError, match="no segment was judged for every system"):
        soft_pairwise_accuracies({"m": scores}, gaps)[0]


def test_a_metric_that_separates_nothing_has_no_accuracy() -> None:
    human, scores = made_systems()
    blind = {"source": np.tile(scores[0], (5, 1))}
    with pytest.raises(InputError, match="'source' has no soft pairwise accuracy: all systems get the same"):
        soft_pairwise_accuracies(blind, human)
    (found,) = soft_pairwise_accuracies(blind, human, undefined="nan")
    assert math.isnan(found.value)
    assert found.reason == "all systems get the same scores"


def test_segments_of_a_document_are_swapped_together() -> None:
    human, scores = made_systems()
    documents = np.repeat(np.arange(12), 5)
    signs = 2 * np.rint(np.random.default_rng(4).random(size=(1000, 12), dtype=np.float32)) - 1
    found = pairwise_p_values(human[None], clusters=documents)[0]
    difference = human[1] - human[3]
    assert found[1, 3] == np.mean((signs[:, documents] * difference).sum(axis=1) >= difference.sum() - 1e-9)
    assert (
        soft_pairwise_accuracies({"m": scores}, human, documents=range(60))[0]
        == soft_pairwise_accuracies({"m": scores}, human)[0]
    )
    assert (
        soft_pairwise_accuracies({"m": scores}, human, documents=documents)[0]
        != soft_pairwise_accuracies({"m": scores}, human)[0]
    )
