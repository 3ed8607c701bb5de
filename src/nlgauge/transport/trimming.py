"""Trimming a flow: what XMoverScore's later code calls dropout, although nothing in it is random (D8.5).

Of the m masses above 0, the k-th smallest is a threshold, k = max(int(share * m), 1); what lies strictly below it is
set to 0, and the rest is not scaled up again:

    cost = sum over F_ij >= threshold of F_ij C_ij

Of several optimal flows a solver returns one vertex, and trimming does not treat them alike: where the optimum is not
unique (equal distances, repeated words) a trimmed cost belongs to its solver and version.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError

__all__ = ["Trimmed", "trim_flow"]

#: Mass below this is what is left of 0 after a solver's arithmetic; it is no flow.
_NOTHING = 1e-12


class Trimmed(NamedTuple):
    """A flow without its smallest masses."""

    cost: float
    flow: NDArray[np.float64]
    dropped: float
    """What the masses that were dropped would have cost."""


def trim_flow(flow: ArrayLike, cost: ArrayLike, *, share: float = 0.3) -> Trimmed:
    """Drop the masses that are smaller than the k-th smallest, and add up what the others cost.

    >>> trim_flow([[0.5, 0.1], [0.0, 0.4]], [[1.0, 2.0], [9.0, 3.0]], share=0.7).flow.tolist()
    [[0.5, 0.0], [0.0, 0.4]]
    """
    mass, price = np.asarray(flow, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    if mass.shape != price.shape or mass.ndim != 2:
        msg = f"flow and cost must be matrices of one shape, got {mass.shape} and {price.shape}"
        raise InputError(msg)
    if not 0 <= share < 1:
        msg = f"share must be at least 0 and below 1, got {share!r}"
        raise RecipeError(msg)
    there = mass > _NOTHING
    values = np.sort(mass[there])
    kept = mass
    if len(values):
        threshold = values[max(int(share * len(values)), 1) - 1]
        # Equal masses differ in their last bits; none of them is smaller than the others.
        kept = np.where(there & (mass >= threshold * (1 - _NOTHING)), mass, 0.0)
    total, whole = float((kept * price).sum()), float((mass * price).sum())
    return Trimmed(total, kept, whole - total)
