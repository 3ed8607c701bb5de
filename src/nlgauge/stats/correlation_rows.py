"""Many lists against one, at once: a row per draw of a resampling, each correlated with the same human scores.

Ranks are counted, not sorted: over all j, sign(x_i - x_j) sums to 2 rank(x_i) - (n + 1), ties included. So Spearman
and Kendall both come from the signs of pairs, and their sums are whole numbers without rounding.
"""

from __future__ import annotations

import numpy as np

from nlgauge.errors import RecipeError
from nlgauge.stats.checks import Vector
from nlgauge.stats.correlation import KINDS

__all__ = ["correlate_rows", "rho", "tau_b"]

#: Signs of pairs held at once (32 MB).
_CELLS = 8_000_000
#: A spread this small beside the largest value is rounding (as for a single Pearson correlation).
_ROUNDING = 1e-13


def correlate_rows(values: Vector, gold: Vector, *, kind: str) -> Vector:
    """The coefficient of each row of `values` (rows x n) with `gold` (n); nan where one of the two is constant.

    >>> correlate_rows(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 2.0]]), np.array([1.0, 2.0, 3.0]), kind="kendall")
    array([ 1.        , -0.81649658])
    """
    if kind not in KINDS:
        msg = f"kind must be one of {', '.join(KINDS)}, got {kind!r}"
        raise RecipeError(msg)
    if kind == "pearson":
        return _pearson(values, gold)
    n = gold.size
    found = np.empty(len(values))
    signs_of_gold = np.sign(gold[:, None] - gold).astype(np.float32)
    block = max(1, _CELLS // n**2)
    for start in range(0, len(values), block):
        here = values[start : start + block]
        signs = np.sign(here[:, :, None] - here[:, None, :]).astype(np.float32)
        if kind == "spearman":
            ranks = signs.sum(axis=2, dtype=np.float64)
            found[start : start + block] = rho(ranks, signs_of_gold.sum(axis=1, dtype=np.float64))
            continue
        agreeing = np.einsum("rij,ij->r", signs, signs_of_gold, dtype=np.float64)
        distinct = np.count_nonzero(signs, axis=(1, 2))
        found[start : start + block] = tau_b(agreeing, distinct, int(np.count_nonzero(signs_of_gold)))
    return found


def tau_b(agreeing: Vector, distinct: Vector | int, distinct_gold: Vector | int) -> Vector:
    """Kendall's tau-b from sums over ordered pairs: of products of signs, of pairs that differ on either side."""
    # In scipy's order of operations, so that the bits are those of `kendall`.
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = agreeing / 2 / np.sqrt(np.asarray(distinct) / 2) / np.sqrt(np.asarray(distinct_gold) / 2)
    return np.clip(tau, -1.0, 1.0)


def rho(ranks: Vector, gold_ranks: Vector, counts: Vector | float = 1.0) -> Vector:
    """Spearman's rho from centred ranks, taken twice so that they are whole numbers; `counts` is how often each is
    there. The last axis is summed.
    """
    weighted = ranks * counts
    product = (weighted * gold_ranks).sum(axis=-1)
    spreads = (weighted * ranks).sum(axis=-1) * (gold_ranks * gold_ranks * counts).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Vector = np.clip(product / np.sqrt(spreads), -1.0, 1.0)
    return found


def _pearson(values: Vector, gold: Vector) -> Vector:
    centred = values - values.mean(axis=1, keepdims=True)
    against = gold - gold.mean()
    spread = np.square(centred).sum(axis=1) * (against @ against)
    constant = np.ptp(values, axis=1) <= _ROUNDING * np.abs(values).max(axis=1)
    constant |= bool(np.ptp(gold) <= _ROUNDING * np.abs(gold).max())
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(constant, np.nan, np.clip(centred @ against / np.sqrt(spread), -1.0, 1.0))
