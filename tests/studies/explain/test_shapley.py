"""Shapley values of games whose values are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.errors import RecipeError
from nlgauge.studies.explain.masking import MOST_EXACT, shapley_values
from nlgauge.studies.explain.pairs import explain_pair


def glove_game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Player 0 has a left glove, players 1 and 2 a right one each; a pair is worth 1."""
    return (rows[:, 0] & (rows[:, 1] | rows[:, 2])).astype(np.float64)


def test_the_glove_game_has_its_textbook_values() -> None:
    found = shapley_values(3, glove_game)
    np.testing.assert_allclose(found.values, [2 / 3, 1 / 6, 1 / 6])
    assert (found.error, found.total) == (None, 1.0)


def random_game(players: int) -> NDArray[np.float64]:
    return np.random.default_rng(3).normal(size=2**players)


def test_exact_values_are_means_over_all_orders() -> None:
    players, worth = 5, random_game(5)

    def game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        return worth[rows @ (1 << np.arange(players))]

    expected = np.zeros(players)
    for order in itertools.permutations(range(players)):
        coalition = 0
        for player in order:
            expected[player] += worth[coalition | 1 << player] - worth[coalition]
            coalition |= 1 << player
    found = shapley_values(players, game)
    np.testing.assert_allclose(found.values, expected / math.factorial(players))
    assert found.values.sum() == pytest.approx(worth[-1] - worth[0])


def test_sampled_values_sum_to_the_whole_and_lie_within_their_errors() -> None:
    players = 12
    weights = np.arange(1.0, players + 1)

    def game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        # v(S) = (sum of weights)^2, whose Shapley values are w_i * (sum of all weights)
        return (rows @ weights) ** 2

    found = shapley_values(players, game, samples=400, seed=1)
    assert found.error is not None
    assert found.values.sum() == pytest.approx(weights.sum() ** 2)
    off = np.abs(found.values - weights * weights.sum()) / found.error
    assert off.max() < 4
    assert (off < 2).mean() > 0.6
    again = shapley_values(players, game, samples=400, seed=1)
    np.testing.assert_array_equal(again.values, found.values)
    assert not np.array_equal(shapley_values(players, game, samples=400, seed=2).values, found.values)


def test_up_to_ten_players_nothing_is_sampled_and_a_coalition_is_asked_for_once() -> None:
    asked: list[NDArray[np.bool_]] = []

    def game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        asked.append(rows)
        return rows.sum(axis=1).astype(np.float64)

    for players in (0, 1, MOST_EXACT, MOST_EXACT + 1):
        asked.clear()
        found = shapley_values(players, game)
        np.testing.assert_allclose(found.values, np.ones(players))
        assert (found.error is None) == (players <= MOST_EXACT)
        assert len(np.unique(asked[0], axis=0)) == len(asked[0])


def test_one_sample_has_no_error() -> None:
    with pytest.raises(RecipeError, match="from 2"):
        explain_pair("a b", "a c", metric="chrf", shapley=True, samples=1)
