"""Strengths of systems from wins: Bradley-Terry, Elo and TrueSkill.

Bradley-Terry has strengths such that P(i beats j) = strength_i / (strength_i + strength_j). The likelihood is concave
in the logarithms of the strengths, so Newton's method finds its maximum to the last digits in some ten steps. A
system without a win has strength 0. Where wins do not lead from every system to every other one (the graph of wins is
not strongly connected), there is no finite maximum: strengths then are those of wins with a millionth of a win added
to either side of every pair that met. Their order means something, their sizes do not.

With a tolerance, Zermelo's iteration is used, as in Peyrard et al. (2021, appendix E), for many win matrices:

    new_i = W_i / sum_j (w_ij + w_ji) / (s_i + s_j),   then new / sum(new);   W_i = sum_j w_ij

until the squared changes sum to less than the tolerance. It is there to reproduce their numbers: where one system
wins nearly always it moves so slowly that it stops far from the maximum (at 2,999 wins of 3,000 and a tolerance of
1e-9, the second of three systems has .0029 instead of .00033).

Resamples are many, and take the iteration of Newman (2023, "Efficient computation of rankings from pairwise
comparisons", JMLR 24), which goes to the same maximum in tens of steps:

    new_i = sum_j w_ij s_j / (s_i + s_j)  /  sum_j w_ji / (s_i + s_j)

Newman moves one system after another. Moving all at once oscillates (with two systems for ever), so a step goes to
the geometric mean of old and new.

Elo and TrueSkill move ratings game by game, here by every instance of every pair of systems. Both depend on the order
of the games, and so on the order of columns and rows: the later a game, the more it counts. Games come as in the
released code of Peyrard et al. (2021): pairs of columns outside, instances inside. `shuffles` plays the games in that
many random orders instead and averages the ratings, which takes most of the dependence away.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import ConvergenceWarning, InputError, user_stacklevel
from nlgauge.stats.numeric import numbers
from nlgauge.studies.compare.comparison import TiePolicy
from nlgauge.studies.compare.rankings import outcomes, round_ties
from nlgauge.studies.compare.system_scores import Matrix

_TINY = 1e-290
#: Strength of a system that never lost, before strengths are scaled to sum to 1.
_HUGE = 1e9
#: Wins added to either side of pairs that met, where wins are not connected.
_HINT = 1e-6
#: Newton's method has converged when no logarithm of a strength moves by more.
_REST = 1e-10


class BradleyTerry(NamedTuple):
    """Strengths of systems, and how the iteration ended."""

    strengths: Matrix
    """(..., systems); they sum to 1."""
    iterations: int
    """Iterations for the slowest of the win matrices."""
    converged: bool
    connected: bool
    """Whether the graph of wins is strongly connected, for every win matrix."""
    never_won: NDArray[np.bool_]
    """(..., systems), true without a single win, though the system was compared."""
    never_lost: NDArray[np.bool_]


def bradley_terry(wins: ArrayLike, *, tolerance: float | None = None, max_iterations: int = 10_000) -> BradleyTerry:
    """Strengths from wins (..., systems, systems): of the row's system over the column's.

    Without a `tolerance` they are those of the maximum. With one they are where Zermelo's iteration comes to rest, as
    published numbers are: 1e-9 in Peyrard et al. (2021).

    >>> bradley_terry([[0, 1], [3, 0]]).strengths.round(4).tolist()
    [0.25, 0.75]
    """
    counts = numbers(wins, "wins")
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2] or counts.shape[-1] == 0:
        msg = f"wins must be systems x systems, got shape {counts.shape}"
        raise InputError(msg)
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        msg = "wins must be finite numbers of 0 or more"
        raise InputError(msg)
    counts = np.where(np.eye(counts.shape[-1], dtype=bool), 0.0, counts)
    flat = counts.reshape(-1, *counts.shape[-2:])
    if tolerance is None:
        fits = [_newton(matrix, max_iterations=max_iterations) for matrix in flat]
        strengths = np.array([values for values, _, _ in fits]).reshape(flat.shape[:-1])
        iterations, converged = max((steps for _, steps, _ in fits), default=0), all(rests for *_, rests in fits)
    else:
        strengths, iterations, converged = zermelo(flat, tolerance=tolerance, max_iterations=max_iterations)
    if not converged:
        text = f"Bradley-Terry strengths still moved after {max_iterations} iterations; they are not exact"
        warnings.warn(text, ConvergenceWarning, stacklevel=user_stacklevel())
    met = (counts + counts.swapaxes(-1, -2)).sum(axis=-1) > 0
    return BradleyTerry(
        strengths.reshape(counts.shape[:-1]),
        iterations,
        converged,
        all(strongly_connected(matrix) for matrix in flat),
        (counts.sum(axis=-1) == 0) & met,
        (counts.sum(axis=-2) == 0) & met,
    )


def _newton(wins: Matrix, *, max_iterations: int) -> tuple[Matrix, int, bool]:
    """Newton's method on the logarithms of strengths, for one win matrix."""
    from scipy.special import expit

    k = len(wins)
    won = wins.any(axis=1)
    if not won.any():
        return np.full(k, 1 / k), 0, True
    met = (wins + wins.T) > 0
    counted = wins if strongly_connected(wins) else wins + _HINT * met
    games = counted + counted.T
    # Strengths of systems that are not linked by games cannot be compared.
    group = _components(met)
    gauge = (group[:, None] == group[None, :]) * games.max()
    above, below = counted.sum(axis=1), counted.sum(axis=0)
    logs = np.log((above + 0.5) / (below + 0.5))
    steps, rests = 0, False
    while steps < max_iterations and not rests:
        beats = expit(logs[:, None] - logs[None, :])
        # Wins that were not expected less losses that were not; nothing large cancels where one side always wins.
        gradient = (counted * beats.T - counted.T * beats).sum(axis=1)
        weights = games * beats * beats.T
        step = np.linalg.solve(np.diag(weights.sum(axis=1)) - weights + gauge, gradient)
        # Far from the maximum the curvature here says little of that there.
        size = float(np.abs(step).max())
        logs += step * min(1.0, 1 / size) if size else 0.0
        steps, rests = steps + 1, size <= _REST
    strengths = np.where(won, np.exp(logs - logs[won].max()), 0.0)
    return round_ties(strengths / strengths.sum()), steps, rests


def zermelo(wins: Matrix, *, tolerance: float = 1e-9, max_iterations: int = 10_000) -> tuple[Matrix, int, bool]:
    """Strengths for a batch of win matrices, the most iterations of one, and whether all converged."""

    def step(old: Matrix, games: Matrix, totals: Matrix) -> Matrix:
        sums = _pair_sums(old)
        expected: Matrix = np.divide(games, sums, out=sums).sum(axis=2)
        return _divided(totals, expected, otherwise=np.zeros_like(totals))

    fixed = (wins + wins.swapaxes(1, 2), wins.sum(axis=2))
    return _iterate(wins, step, fixed, tolerance=tolerance, max_iterations=max_iterations)


def newman(wins: Matrix, *, tolerance: float = 1e-13, max_iterations: int = 10_000) -> tuple[Matrix, int, bool]:
    """The same maximum as `zermelo` in fewer steps; a system that never lost has all the strength there is."""

    def step(old: Matrix, wins: Matrix, losses: Matrix, unbeaten: Matrix) -> Matrix:
        shares = 1 / _pair_sums(old)
        lost: Matrix = (losses * shares).sum(axis=2)
        shares *= old[:, None, :]
        shares *= wins
        return np.sqrt(old * _divided(shares.sum(axis=2), lost, otherwise=unbeaten))

    losses = np.ascontiguousarray(wins.swapaxes(1, 2))
    unbeaten = np.where(wins.any(axis=2), _HUGE, 0.0)
    return _iterate(wins, step, (wins, losses, unbeaten), tolerance=tolerance, max_iterations=max_iterations)


def _pair_sums(strengths: Matrix) -> Matrix:
    """s_i + s_j. Where both are 0 the tiny number turns 0 / 0 into 0; it moves nothing else."""
    return strengths[:, :, None] + (strengths[:, None, :] + _TINY)


def _divided(above: Matrix, below: Matrix, *, otherwise: Matrix) -> Matrix:
    quotients: Matrix = np.divide(above, below, out=otherwise.copy(), where=below > 0)
    return quotients


def _iterate(
    wins: Matrix,
    step: Callable[..., Matrix],
    fixed: tuple[Matrix, ...],
    *,
    tolerance: float,
    max_iterations: int,
) -> tuple[Matrix, int, bool]:
    """Iterate from equal strengths until all of the batch converge; `fixed` is what each step reads."""
    batch, k, _ = wins.shape
    strengths = np.full((batch, k), 1 / k)
    moves = wins.any(axis=(1, 2))  # without a single win all stay equal
    moving = np.flatnonzero(moves)
    for iteration in range(1, max_iterations + 1):
        if not moving.size:
            return strengths, iteration - 1, True
        if not moves.all():
            fixed = tuple(array[moves] for array in fixed)
        old = strengths[moving]
        new = step(old, *fixed)
        new /= new.sum(axis=1, keepdims=True)
        strengths[moving] = new
        moves = ((new - old) ** 2).sum(axis=1) >= tolerance
        moving = moving[moves]
    return strengths, max_iterations, not moving.size


def strongly_connected(wins: Matrix) -> bool:
    """Whether a chain of wins connects every system to every other one."""
    return not _components(np.asarray(wins) > 0, strong=True).any()


def _components(linked: NDArray[np.bool_], *, strong: bool = False) -> NDArray[np.intp]:
    """The number of each system's component in a graph."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    kind = "strong" if strong else "weak"
    return np.asarray(connected_components(csr_array(linked), directed=strong, connection=kind)[1])


#: First and second system of a game, and who wins: 1 the first, -1 the second, 0 nobody.
_Game: TypeAlias = tuple[int, int, int]

#: Games held as Python numbers at once.
_BLOCK = 100_000

#: Deviation of a performance around the skill, in TrueSkill.
BETA = 25 / 6


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
    beta: float = BETA,
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
    played = {"mu": mu, "sigma": sigma, "beta": beta, "tau": tau, "draw_probability": draw_probability}
    return skills(matrix, ties=ties, tolerance=tolerance, shuffles=shuffles, seed=seed, **played).means


class Skills(NamedTuple):
    """Skills of systems by TrueSkill, each a normal distribution."""

    means: Matrix
    deviations: Matrix


def skills(
    matrix: ArrayLike,
    *,
    ties: TiePolicy = "half",
    tolerance: float = 1e-9,
    mu: float = 25.0,
    sigma: float = 25 / 3,
    beta: float = BETA,
    tau: float = 25 / 300,
    draw_probability: float = 0.1,
    shuffles: int = 0,
    seed: int = 12345,
) -> Skills:
    """Means and standard deviations of skills, as `trueskill` computes them."""
    margin = NormalDist().inv_cdf((draw_probability + 1) / 2) * math.sqrt(2) * beta

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
        return np.array([means, np.sqrt(variances)])

    return Skills(*_rated(matrix, play, ties=ties, tolerance=tolerance, shuffles=shuffles, seed=seed))


def bt_probabilities(strengths: ArrayLike) -> Matrix:
    """P(row beats column) under Bradley-Terry: s_i / (s_i + s_j); a half where both strengths are 0.

    >>> bt_probabilities([0.75, 0.25]).tolist()
    [[0.5, 0.75], [0.25, 0.5]]
    """
    values = numbers(strengths, "strengths")
    sums = values[:, None] + values[None, :]
    shares: Matrix = np.full(sums.shape, 0.5)
    return np.divide(np.broadcast_to(values[:, None], sums.shape), sums, out=shares, where=sums > 0)


def elo_probabilities(ratings: ArrayLike) -> Matrix:
    """P(row beats column) under Elo: 1 / (1 + 10^((r_j - r_i) / 400)).

    >>> elo_probabilities([1600.0, 1200.0]).round(4).tolist()
    [[0.5, 0.9091], [0.0909, 0.5]]
    """
    values = numbers(ratings, "ratings")
    return np.asarray(1 / (1 + 10 ** ((values[None, :] - values[:, None]) / 400)))


def trueskill_probabilities(skills: Skills, *, beta: float = BETA) -> Matrix:
    """P(row's performance is above the column's): Phi((m_i - m_j) / sqrt(2 beta^2 + d_i^2 + d_j^2)).

    Draws are left out, so that the probabilities of both directions sum to 1.
    """
    from scipy.special import ndtr

    means, variances = skills.means, skills.deviations**2
    spread = np.sqrt(2 * beta**2 + variances[:, None] + variances[None, :])
    return np.asarray(ndtr((means[:, None] - means[None, :]) / spread), dtype=np.float64)


def _update(t: float, margin: float, *, drawn: bool) -> tuple[float, float]:
    """Updates of mean and variance by a game: v and w of the truncated Gaussian."""
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

    def in_blocks(games: NDArray[np.int16]) -> Iterator[_Game]:
        for start in range(0, games.shape[1], _BLOCK):
            yield from zip(*games[:, start : start + _BLOCK].tolist(), strict=True)

    if not shuffles:
        return play(in_blocks(games), k)
    rng = np.random.default_rng(seed)
    ratings = np.array([play(in_blocks(games[:, rng.permutation(games.shape[1])]), k) for _ in range(shuffles)])
    return np.asarray(ratings.mean(axis=0), dtype=np.float64)


def _played(values: Matrix, *, ties: TiePolicy, tolerance: float) -> NDArray[np.int16]:
    """First system, second system and result of all games, pairs outside and instances inside: 3 x games."""
    rows, columns = np.triu_indices(values.shape[1], 1)
    parts = []
    for i, j in zip(rows, columns, strict=True):
        results = outcomes(values[:, i], values[:, j], tolerance=tolerance).astype(np.int16)
        if ties == "second":
            results[results == 0] = -1
        elif ties == "drop":
            results = results[results != 0]
        parts.append(np.stack([np.full(results.size, i), np.full(results.size, j), results]).astype(np.int16))
    return np.concatenate(parts, axis=1) if parts else np.empty((3, 0), dtype=np.int16)
