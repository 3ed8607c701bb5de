"""Shapley values: what each player adds to a coalition, averaged over all orders in which players can come.

    phi_i = sum over coalitions S without i of |S|! (n - |S| - 1)! / n!  (v(S + i) - v(S))

They sum to v(all) - v(none). Up to ten players they are computed exactly; beyond that over sampled orders (Castro,
Gomez, Tejada 2009), which sum to the same, with the standard error of each mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import RecipeError

__all__ = ["MOST_EXACT", "Shapley", "shapley_values"]

#: Players whose coalitions are all looked at: 1,024.
MOST_EXACT = 10

#: From coalitions (a row each, True for a player that is in it) to their values.
Game: TypeAlias = Callable[[NDArray[np.bool_]], NDArray[np.float64]]


class Shapley(NamedTuple):
    """A value per player."""

    values: NDArray[np.float64]
    error: NDArray[np.float64] | None
    """Standard errors; None where the values are exact."""
    all_players: float
    """Value of the coalition of all."""
    nobody: float
    """Value of the empty coalition."""


def shapley_values(players: int, game: Game, *, samples: int = 25, seed: int = 12345) -> Shapley:
    """Exact values for few players; else the mean over `samples` orders drawn with a seed.

    >>> shapley_values(2, lambda rows: rows.sum(axis=1) * 2.0).values.tolist()
    [2.0, 2.0]
    """
    if samples < 2:
        msg = f"samples must be at least 2 orders, for a standard error, got {samples!r}"
        raise RecipeError(msg)
    if players <= MOST_EXACT:
        return _exact(players, game)
    return _sampled(players, game, samples, seed)


def _exact(players: int, game: Game) -> Shapley:
    numbers = np.arange(2**players)
    members = (numbers[:, None] >> np.arange(players) & 1).astype(np.bool_)
    worth = game(members)
    sizes = members.sum(axis=1)
    factorial = [math.factorial(n) for n in range(players + 1)]
    weight = np.array([factorial[s] * factorial[max(players - s - 1, 0)] / factorial[players] for s in sizes])
    values = np.zeros(players)
    for player in range(players):
        without = numbers[~members[:, player]]
        values[player] = (weight[without] * (worth[without | 1 << player] - worth[without])).sum()
    return Shapley(values, None, float(worth[-1]), float(worth[0]))


def _sampled(players: int, game: Game, samples: int, seed: int) -> Shapley:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(players) for _ in range(samples)]
    rows = np.zeros((samples, players + 1, players), dtype=np.bool_)
    for sample, order in enumerate(orders):
        for place, player in enumerate(order):
            rows[sample, place + 1 :, player] = True
    distinct, back = np.unique(rows.reshape(-1, players), axis=0, return_inverse=True)
    worth = game(distinct)[back.reshape(samples, players + 1)]
    added = np.empty((samples, players))
    for sample, order in enumerate(orders):
        added[sample, order] = np.diff(worth[sample])
    error = added.std(axis=0, ddof=1) / math.sqrt(samples)
    return Shapley(added.mean(axis=0), error, float(worth[0, -1]), float(worth[0, 0]))
