"""Elo and TrueSkill: ratings that are moved game by game, here by every instance of every pair of systems.

Both depend on the order of the games, and so on the order of columns and rows: the later a game, the more it counts.
Games come as in the released code of Peyrard et al. (2021): pairs of columns outside, instances inside. `shuffles`
plays the games in that many random orders instead and averages the ratings, which takes most of the dependence away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.compare.rankings import outcomes, pair_indices
from nlgauge.compare.settings import TiePolicy
from nlgauge.compare.table import Matrix
from nlgauge.errors import InputError
from nlgauge.stats.checks import numbers

__all__ = ["elo", "trueskill"]

#: First and second system of a game, and who wins: 1 the first, -1 the second, 0 nobody.
_Game: TypeAlias = tuple[int, int, int]

#: Games held as Python numbers at once.
_BLOCK = 100_000


def elo(
    matrix: ArrayLike,
    *,
    ties: TiePolicy = "half",
    tolerance: float = 1e-9,
    k_factor: float = 20.0,
    start: float = 1500.0,
    shuffles: int = 0,
    seed: int = 12345,
) -> Matrix:
    """Elo ratings of systems from scores (instances x systems, higher is better).

    A tie is half a game won by both (`half`), a win of the later column as in the released code (`second`, D2), or no
    game at all (`drop`). The order of columns and rows matters unless `shuffles` says how many random orders to
    average over.

    >>> elo([[1.0, 0.0]]).tolist()
    [1510.0, 1490.0]
    """

    def play(games: Iterator[_Game], k: int) -> Matrix:
        ratings = [start] * k
        for first, second, result in games:
            expected = 1 / (1 + 10 ** ((ratings[second] - ratings[first]) / 400))
            step = k_factor * ((result + 1) / 2 - expected)
            ratings[first] += step
            ratings[second] -= step
        return np.array(ratings)

    return _rated(matrix, play, ties=ties, tolerance=tolerance, shuffles=shuffles, seed=seed)


def trueskill(
    matrix: ArrayLike,
    *,
    ties: TiePolicy = "half",
    tolerance: float = 1e-9,
    mu: float = 25.0,
    sigma: float = 25 / 3,
    beta: float = 25 / 6,
    tau: float = 25 / 300,
    draw_probability: float = 0.1,
    shuffles: int = 0,
    seed: int = 12345,
) -> Matrix:
    """Mean skills of systems from scores (instances x systems, higher is better), by TrueSkill for two players.

    The numbers are those of Herbrich, Minka and Graepel (2006), with the defaults of the `trueskill` package; unlike
    in the released code of Peyrard et al. (2021) they can be set (D5). A tie is a draw (`half`), a win of the later
    column (`second`), or no game (`drop`). The order of columns and rows matters unless `shuffles` says how many
    random orders to average over.

    >>> trueskill([[1.0, 0.0]]).round(3).tolist()
    [29.396, 20.604]
    """
    margin = _inverse_normal((draw_probability + 1) / 2) * math.sqrt(2) * beta

    def play(games: Iterator[_Game], k: int) -> Matrix:
        means, variances = [mu] * k, [sigma**2] * k
        for first, second, result in games:
            winner, loser = (first, second) if result >= 0 else (second, first)
            ours, theirs = variances[winner] + tau**2, variances[loser] + tau**2
            c = math.sqrt(ours + theirs + 2 * beta**2)
            shift, shrink = _update((means[winner] - means[loser]) / c, margin / c, drawn=result == 0)
            means[winner] += ours / c * shift
            means[loser] -= theirs / c * shift
            variances[winner] = ours * (1 - ours / c**2 * shrink)
            variances[loser] = theirs * (1 - theirs / c**2 * shrink)
        return np.array(means)

    return _rated(matrix, play, ties=ties, tolerance=tolerance, shuffles=shuffles, seed=seed)


def _update(t: float, margin: float, *, drawn: bool) -> tuple[float, float]:
    """How far a game moves the mean and shrinks the variance: the truncated Gaussian's v and w."""
    if not drawn:
        x = t - margin
        chance = _normal(x)
        shift = _density(x) / chance if chance > 1e-300 else -x
        return shift, shift * (shift + x)
    size = abs(t)
    a, b = margin - size, -margin - size
    chance = _normal(a) - _normal(b)
    if chance <= 1e-300:
        return (-t, 1.0)
    shift = (_density(b) - _density(a)) / chance
    shrink = shift**2 + (a * _density(a) - b * _density(b)) / chance
    return (-shift if t < 0 else shift), shrink


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _inverse_normal(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def _rated(
    matrix: ArrayLike,
    play: Callable[[Iterator[_Game], int], Matrix],
    *,
    ties: TiePolicy,
    tolerance: float,
    shuffles: int,
    seed: int,
) -> Matrix:
    """Ratings after all games, in the order of columns or averaged over shuffled orders."""
    values = numbers(matrix, "scores")
    if values.ndim != 2:
        msg = f"scores must be instances x systems, got shape {values.shape}"
        raise InputError(msg)
    games, k = _played(values, ties=ties, tolerance=tolerance), values.shape[1]
    if not shuffles:
        return play(_one_by_one(games), k)
    rng = np.random.default_rng(seed)
    orders = (rng.permutation(games.shape[1]) for _ in range(shuffles))
    ratings = np.array([play(_one_by_one(games[:, order]), k) for order in orders])
    return np.asarray(ratings.mean(axis=0), dtype=np.float64)


def _played(values: Matrix, *, ties: TiePolicy, tolerance: float) -> NDArray[np.int16]:
    """First system, second system and result of all games, pairs outside and instances inside: 3 x games."""
    rows, columns = pair_indices(values.shape[1])
    parts = []
    for i, j in zip(rows, columns, strict=True):
        results = outcomes(values[:, i], values[:, j], tolerance=tolerance).astype(np.int16)
        if ties == "second":
            results[results == 0] = -1
        elif ties == "drop":
            results = results[results != 0]
        parts.append(np.stack([np.full(results.size, i), np.full(results.size, j), results]).astype(np.int16))
    return np.concatenate(parts, axis=1) if parts else np.empty((3, 0), dtype=np.int16)


def _one_by_one(games: NDArray[np.int16]) -> Iterator[_Game]:
    for start in range(0, games.shape[1], _BLOCK):
        yield from zip(*games[:, start : start + _BLOCK].tolist(), strict=True)
