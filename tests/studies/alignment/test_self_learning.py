"""Pairs of words out of two clouds alone: a planted rotation is found, noise is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.alignment.planted import planted

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.alignment.unsupervised import learn_alignment


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
