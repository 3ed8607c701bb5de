"""Bradley-Terry: strengths such that P(i beats j) = strength_i / (strength_i + strength_j).

The likelihood is climbed by Zermelo's iteration, as Peyrard et al. (2021, appendix E) do, for many win matrices at
once:

    new_i = W_i / sum_j (w_ij + w_ji) / (s_i + s_j),   then new / sum(new);   W_i = sum_j w_ij

until the squared changes sum to less than a tolerance. A system without a win has strength 0. Where wins do not lead
from every system to every other one (the graph of wins is not strongly connected), the likelihood has no finite
maximum: the strengths then are where the iteration stopped, their order means something, their sizes do not.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.compare.table import Matrix
from nlgauge.errors import ConvergenceWarning, InputError, user_stacklevel
from nlgauge.stats.checks import numbers

__all__ = ["BradleyTerry", "bradley_terry", "climb", "strongly_connected"]

_TINY = 1e-290


class BradleyTerry(NamedTuple):
    """Strengths of systems, and how far they can be trusted."""

    strengths: Matrix
    """(..., systems); they sum to 1."""
    iterations: int
    """Of the slowest of the win matrices."""
    converged: bool
    connected: bool
    """Whether the graph of wins is strongly connected, for every win matrix."""
    never_won: NDArray[np.bool_]
    """(..., systems): systems without a single win, though they were compared."""
    never_lost: NDArray[np.bool_]


def bradley_terry(wins: ArrayLike, *, tolerance: float = 1e-9, max_iterations: int = 10_000) -> BradleyTerry:
    """Strengths from wins (..., systems, systems): of the row's system over the column's.

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
    strengths, iterations, converged = climb(flat, tolerance=tolerance, max_iterations=max_iterations)
    if not converged:
        text = f"Bradley-Terry strengths still moved after {max_iterations} iterations; they are not exact"
        warnings.warn(text, ConvergenceWarning, stacklevel=user_stacklevel())
    met = (counts + counts.swapaxes(-1, -2)).sum(axis=-1) > 0
    return BradleyTerry(
        strengths.reshape(counts.shape[:-1]),
        iterations,
        converged,
        all(strongly_connected(one) for one in flat),
        (counts.sum(axis=-1) == 0) & met,
        (counts.sum(axis=-2) == 0) & met,
    )


def climb(
    wins: Matrix, *, tolerance: float = 1e-9, max_iterations: int = 10_000, start: Matrix | None = None
) -> tuple[Matrix, int, bool]:
    """Strengths for a batch of win matrices, the most iterations that one took, and whether all came to rest."""
    batch, k, _ = wins.shape
    strengths = np.full((batch, k), 1 / k) if start is None else np.broadcast_to(start, (batch, k)).copy()
    totals = wins.sum(axis=2)
    games = wins + wins.swapaxes(1, 2)
    moving = np.flatnonzero(totals.any(axis=1))  # without a single win all stay equal
    for iteration in range(1, max_iterations + 1):
        if not moving.size:
            return strengths, iteration - 1, True
        old = strengths[moving]
        # Two systems without strength played in vain: the tiny number turns 0 / 0 into 0, and moves nothing else.
        sums = old[:, :, None] + (old[:, None, :] + _TINY)
        expected = np.divide(games, sums, out=sums).sum(axis=2)
        new = np.divide(totals, expected, out=np.zeros_like(old), where=expected > 0)
        new /= new.sum(axis=1, keepdims=True)
        strengths[moving] = new
        rest = ((new - old) ** 2).sum(axis=1) < tolerance
        if rest.any():
            moving, games, totals = moving[~rest], games[~rest], totals[~rest]
    return strengths, max_iterations, not moving.size


def strongly_connected(wins: Matrix) -> bool:
    """Whether a chain of wins leads from every system to every other one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, _ = connected_components(csr_array(np.asarray(wins) > 0), directed=True, connection="strong")
    return bool(count == 1)
