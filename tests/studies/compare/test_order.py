"""Who wins under which setting, with rankings made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.stats.paired_tests import paired_order
from nlgauge.studies.compare.rankings import SegmentScores, find_flips, rank_agreement


def scores(**systems: np.ndarray) -> SegmentScores:
    return {
        name: {str(index): float(value) for index, value in enumerate(values)} for name, values in systems.items()
    }


RNG = np.random.default_rng(3)
GROUND = RNG.normal(size=100)
SMALL = RNG.normal(scale=0.02, size=100)


def test_a_known_flip_is_found_and_significant() -> None:
    base = scores(a=GROUND + 0.3 + SMALL, b=GROUND, c=GROUND - 5)
    other = scores(a=GROUND, b=GROUND + 0.2 + SMALL, c=GROUND - 5)
    (flip,) = find_flips(base, other, setting="other")
    assert (flip.ahead, flip.behind, flip.setting) == ("a", "b", "other")
    assert flip.base_difference == pytest.approx(0.3 + SMALL.mean())
    assert flip.difference == pytest.approx(-0.2 - SMALL.mean())
    assert flip.p == flip.base_p == pytest.approx(1 / 1001)
    assert flip.significant
    # Of three pairs one is discordant: (2 - 1) / 3.
    assert rank_agreement(base, other) == pytest.approx(1 / 3)


def test_a_flip_by_chance_is_not_significant() -> None:
    noise = RNG.normal(scale=5, size=100)
    noise -= noise.mean()
    base = scores(a=GROUND + 0.3 + SMALL, b=GROUND)
    other = scores(a=GROUND, b=GROUND + 0.01 + noise)
    (flip,) = find_flips(base, other, setting="other")
    assert flip.base_p == pytest.approx(1 / 1001)
    assert flip.p is not None
    assert flip.p > 0.2
    assert not flip.significant


def test_no_flip_no_list() -> None:
    base = scores(a=GROUND + 1, b=GROUND)
    assert find_flips(base, base, setting="same") == ()
    assert rank_agreement(base, base) == 1.0
    tied = scores(a=GROUND, b=GROUND)
    assert find_flips(base, tied, setting="tie") == (), "a tie is no flip"
    assert rank_agreement(base, tied) is None


def test_systems_without_common_segments_flip_untested() -> None:
    base = {"a": {"1": 1.0, "2": 1.0}, "b": {"3": 0.0}}
    other = {"a": {"1": 0.0, "2": 0.0}, "b": {"3": 1.0}}
    (flip,) = find_flips(base, other, setting="other")
    assert flip.p is None
    assert not flip.significant


def test_whole_documents_are_drawn() -> None:
    """Two documents of five decide both orders; segments alone would call each of them sure."""
    wins = np.repeat([1.0, 1.0, 0.5, -0.4, -0.5], 20)
    base, other = scores(a=wins, b=0 * wins), scores(a=0 * wins, b=wins)
    documents = {str(index): f"d{index // 20}" for index in range(100)}
    (alone,) = find_flips(base, other, setting="other")
    (whole,) = find_flips(base, other, setting="other", documents=documents)
    assert alone.significant
    assert not whole.significant
    assert whole.p is not None
    assert whole.p > 0.05
    (few,) = find_flips(base, other, setting="other", documents=dict.fromkeys(documents, "one"))
    assert few.p is None, "fewer than five documents are not tested"
    (single,) = find_flips(base, other, setting="other", documents={name: name for name in documents})
    assert single == alone


def test_documents_follow_segments_in_whatever_order_systems_have_them() -> None:
    rng = np.random.default_rng(2)
    names = [str(index) for index in range(30)]
    documents = {name: f"d{int(name) // 3}" for name in names}
    made = {system: dict(zip(names, rng.normal(size=30), strict=True)) for system in "ab"}
    base = {"a": {n: made["a"][n] + 1 for n in names}, "b": made["b"]}
    other = {"a": made["a"], "b": {n: made["b"][n] + 1 for n in names}}
    turned = {system: dict(reversed(result.items())) for system, result in other.items()}
    for second in (other, turned):
        (flip,) = find_flips(base, second, setting="other", documents=documents)
        order = list(second["b"])
        expected = paired_order(
            [second["b"][n] for n in order],
            [second["a"][n] for n in order],
            clusters=[documents[n] for n in order],
        )
        assert flip.p is not None
        assert flip.base_p is not None
        assert flip.p == max(flip.base_p, expected)
