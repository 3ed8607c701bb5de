"""Elo and TrueSkill: published examples, the trueskill package as an oracle, and the order of games."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.extras import LazyModule
from tests.studies.compare.made_scores import DEMO, FIGURE_1, made

from nlgauge.errors import InputError
from nlgauge.studies.compare.strengths import elo, trueskill

package = LazyModule("trueskill")


# Values of the released Elo.py and TrueSkill.py, run on these tables.
def test_published_examples() -> None:
    assert elo(FIGURE_1) == pytest.approx([1451.937, 1501.493, 1546.570], abs=1e-3)
    assert trueskill(FIGURE_1) == pytest.approx([22.0748, 25.7131, 28.6613], abs=1e-4)
    assert elo(DEMO, ties="second") == pytest.approx([1517.961, 1466.044, 1515.994], abs=1e-3)
    assert trueskill(DEMO) == pytest.approx([27.2300, 21.1483, 24.7685], abs=1e-4)


@pytest.mark.parametrize("parameters", [{}, {"beta": 2.0, "tau": 0.5, "draw_probability": 0.3}])
def test_it_is_the_trueskill_of_the_package(parameters: dict[str, float]) -> None:
    scores = np.round(made(25, 4), 0)  # with ties
    environment = package.TrueSkill(**parameters)
    ratings = [environment.create_rating() for _ in range(4)]
    for i, j in itertools.combinations(range(4), 2):
        for a, b in scores[:, [i, j]]:
            winner, loser = (i, j) if a >= b else (j, i)
            ratings[winner], ratings[loser] = package.rate_1vs1(
                ratings[winner], ratings[loser], drawn=bool(a == b), env=environment
            )
    # The package takes erfc from a rational approximation.
    assert trueskill(scores, **parameters) == pytest.approx([rating.mu for rating in ratings], abs=1e-5)


def test_elo_by_hand() -> None:
    # 1500 against 1500: half a game is expected. Then 1510 against 1490: 1 / (1 + 10 ** (-20 / 400)) = .5288.
    assert elo([[1, 0], [1, 0]]).tolist() == pytest.approx([1510 + 20 * (1 - 0.528751), 1490 - 20 * (1 - 0.528751)])
    assert elo([[1, 1]], ties="half").tolist() == [1500, 1500]
    assert elo([[1, 1]], ties="drop").tolist() == [1500, 1500]
    assert elo([[1, 1]], ties="second").tolist() == [1490, 1510]


@pytest.mark.parametrize("rate", [elo, trueskill])
def test_the_order_of_columns_matters_less_when_games_are_shuffled(rate: object) -> None:
    scores = made(40, 4, spread=0.5)
    order = [3, 2, 1, 0]

    def moved(shuffles: int) -> float:
        there, back = (rate(item, shuffles=shuffles) for item in (scores, scores[:, order]))  # type: ignore[operator]
        return float(np.abs(there[order] - back).max())

    assert moved(0) > 2 * moved(60)


@pytest.mark.parametrize("rate", [elo, trueskill])
def test_a_shuffle_is_seeded(rate: object) -> None:
    first, again, other = (rate(FIGURE_1, shuffles=3, seed=seed) for seed in (1, 1, 2))  # type: ignore[operator]
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_long_shutout_stays_finite() -> None:
    scores = np.tile([1.0, 0.0], (3000, 1))
    assert np.isfinite(elo(scores)).all()
    assert np.isfinite(trueskill(scores)).all()


def test_a_list_is_no_table() -> None:
    with pytest.raises(InputError, match="instances x systems"):
        elo([1.0, 2.0])
