"""Pairs of words out of two clouds alone: a planted rotation is found, noise is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.studies.alignment.planted import Planted, planted

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.alignment.unsupervised import learn_alignment
from nlgauge.studies.alignment.word_spaces import csls_pairs
from nlgauge.vectors.cloud import unit_rows


@pytest.mark.heavy
def test_a_planted_rotation_is_found_without_a_dictionary() -> None:
    spaces = planted()
    result = learn_alignment(spaces.source, spaces.target, restarts=2)
    assert [attempt.seed for attempt in result.attempts] == [0, 1]
    assert result.best.criterion == max(attempt.criterion for attempt in result.attempts) > 0.9
    right = spaces.answer[result.best.pairs.source] == result.best.pairs.target
    assert right.mean() > 0.99
    assert len(result.best.pairs) > 390


def test_the_same_seed_finds_the_same() -> None:
    spaces = planted(200, 15)
    first, again = (learn_alignment(spaces.source, spaces.target, restarts=1, seed=3).best for _ in range(2))
    assert first.criterion == again.criterion
    np.testing.assert_array_equal(first.pairs.target, again.pairs.target)


@pytest.mark.heavy
def test_spaces_that_have_nothing_to_do_with_each_other_agree_less() -> None:
    chance = np.random.default_rng(1)
    unrelated = learn_alignment(chance.normal(size=(300, 30)), chance.normal(size=(300, 30)), restarts=1)
    assert unrelated.best.criterion < 0.7
    assert abs(unrelated.best.criterion - unrelated.chance) < 0.04


def shared(words: int = 300, width: int = 20, *, turn: float = 0.0) -> tuple[Planted, NDArray[np.float32]]:
    """One space of two languages: word i has nearly one vector on both sides; and the target turned by an angle."""
    chance = np.random.default_rng(5)
    source = chance.normal(size=(words, width))
    target = source + 0.45 * chance.normal(size=source.shape)
    skew = chance.normal(size=(width, width))
    skew = turn * (skew - skew.T)
    turned = target @ np.linalg.solve(np.eye(width) - skew, np.eye(width) + skew)  # Cayley's rotation
    rows = [side.astype(np.float32) for side in (source, target, turned)]
    return Planted(rows[0], rows[1], np.arange(words)), rows[2]


def test_identity_start_finds_words_of_one_space() -> None:
    """Similarities of isotropic points tell nothing, so self-learning has nothing to start from."""
    spaces, _ = shared()
    by_identity = learn_alignment(spaces.source, spaces.target, start="identity")
    assert len(by_identity.attempts) == 1
    pairs = by_identity.best.pairs
    assert (pairs.source == pairs.target).mean() > 0.95
    assert by_identity.best.agreement > 0.8
    by_learning = learn_alignment(spaces.source, spaces.target, restarts=1).best.pairs
    assert (by_learning.source == by_learning.target).mean() < 0.2


def test_identity_start_refines_its_pairs_by_rotations() -> None:
    spaces, turned = shared(turn=0.1)
    first, _ = csls_pairs(*(unit_rows(rows - rows.mean(axis=0), pairwise=True) for rows in (spaces.source, turned)))
    last = learn_alignment(spaces.source, turned, start="identity").best.pairs
    right = [int((pairs.source == pairs.target).sum()) for pairs in (first, last)]
    assert right[0] < 100
    assert right[1] == 300


def test_input_errors() -> None:
    rows = np.ones((5, 2), dtype=np.float32)
    broken = rows.copy()
    broken[3, 1] = np.nan
    with pytest.raises(InputError, match="row 3 of the target vectors is not finite"):
        learn_alignment(rows, broken)
    with pytest.raises(InputError, match="the same width, got 2 and 3"):
        learn_alignment(rows, np.ones((5, 3)))
    with pytest.raises(InputError, match="source has 1 words"):
        learn_alignment(rows[:1], rows)
    with pytest.raises(InputError, match="shape"):
        learn_alignment(rows[0], rows)
    with pytest.raises(RecipeError, match="restarts must be 1 or more, got 0"):
        learn_alignment(rows, rows, restarts=0)
