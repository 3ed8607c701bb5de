"""Correlation of a metric with human scores: Pearson, Spearman, Kendall's tau-b and WMT's tau.

Where a coefficient has no value (a constant list, nan or inf) nothing is put in its place: by default that is an
error, and with `undefined="nan"` the value is nan and the result carries the reason. Lists of unequal length, or too
short to be correlated at all, are errors either way.

`correlate_rows` correlates many lists with one, such as the draws of a resampling with the same human scores. Ranks
are counted there, not sorted: over all j, sign(x_i - x_j) sums to 2 rank(x_i) - (n + 1), ties included. So Spearman
and Kendall both come from the signs of pairs, and their sums are whole numbers without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.validation import Vector, numbers

Undefined: TypeAlias = Literal["raise", "nan"]
Ties: TypeAlias = Literal["discordant", "concordant", "half", "drop"]

#: A spread below this share of the largest value is rounding, not variation.
_ROUNDING = 1e-13

#: Signs of pairs held at once (32 MB).
_CELLS = 8_000_000


class Correlation(NamedTuple):
    """A coefficient, over how many values, and why it has none where it has none."""

    value: float
    n: int
    reason: str | None = None
    """Set where `value` is nan."""


class RelativeRanking(NamedTuple):
    """WMT's tau over pairs of which people preferred one side, and the counts behind it."""

    value: float
    concordant: int
    discordant: int
    tied: int
    """Pairs that the metric scores alike, before the tie rule puts them anywhere."""
    ties: str
    reason: str | None = None


def correlate(
    metric: ArrayLike, human: ArrayLike, *, kind: str = "pearson", undefined: Undefined = "raise"
) -> Correlation:
    """The coefficient of that name.

        pearson     Pearson's r, linear association
        spearman    Spearman's rho: Pearson's r of the ranks, where ties share their average rank
        kendall     Kendall's tau-b: (C - D) / sqrt((C + D + T_metric) (C + D + T_human)) over all pairs

    >>> [round(correlate([1, 2, 3, 50], [1, 2, 4, 3], kind=kind).value, 4) for kind in KINDS]
    [0.2903, 0.8, 0.6667]
    """
    _check_kind(kind)
    scores, gold = _same_length(metric, human, ("metric", "human"), least=2)
    reason = why_undefined(scores, "metric", kind=kind) or why_undefined(gold, "human", kind=kind)
    if reason is not None:
        return Correlation(_refused(kind, reason, undefined), scores.size, reason)
    return Correlation(KINDS[kind](scores, gold), scores.size)


def relative_ranking(
    better: ArrayLike, worse: ArrayLike, *, ties: Ties = "discordant", undefined: Undefined = "raise"
) -> RelativeRanking:
    """WMT's Kendall-like tau (DArr): (concordant - discordant) / pairs.

    `better[i]` and `worse[i]` are the metric's scores of the two outputs of pair i, of which people
    preferred the first. WMT counts a metric tie as discordant; "half" splits it, "drop" leaves the pair
    out, and "concordant" is what a distance gets from scripts that flip the sign of the result.

    >>> relative_ranking([3, 2, 1], [1, 2, 3]).value
    -0.3333333333333333
    >>> relative_ranking([3, 2, 1], [1, 2, 3], ties="half").value
    0.0
    """
    credit = {"discordant": -1, "concordant": 1, "half": 0, "drop": 0}
    if ties not in credit:
        msg = f"ties must be one of {', '.join(credit)}, got {ties!r}"
        raise RecipeError(msg)
    won, lost = _same_length(better, worse, ("better", "worse"), least=1)
    reason = _not_finite(won, "better") or _not_finite(lost, "worse")
    if reason is not None:
        return RelativeRanking(_refused("relative_ranking", reason, undefined), 0, 0, 0, ties, reason)
    concordant, tied = int((won > lost).sum()), int((won == lost).sum())
    discordant = won.size - concordant - tied
    pairs = won.size - (tied if ties == "drop" else 0)
    if pairs == 0:
        reason = f"all {tied} pairs are metric ties, and ties are dropped"
        value = _refused("relative_ranking", reason, undefined)
        return RelativeRanking(value, concordant, discordant, tied, ties, reason)
    value = (concordant - discordant + credit[ties] * tied) / pairs
    return RelativeRanking(value, concordant, discordant, tied, ties)


def _pearson_value(metric: Vector, human: Vector) -> float:
    return float(np.clip(_unit(metric) @ _unit(human), -1.0, 1.0))


def _spearman_value(metric: Vector, human: Vector) -> float:
    from scipy.stats import rankdata

    return _pearson_value(rankdata(metric), rankdata(human))


def _kendall_value(metric: Vector, human: Vector) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(metric, human).statistic)


#: The coefficients by name.
KINDS: Mapping[str, Callable[[Vector, Vector], float]] = MappingProxyType(
    {"pearson": _pearson_value, "spearman": _spearman_value, "kendall": _kendall_value}
)


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        msg = f"kind must be one of {', '.join(KINDS)}, got {kind!r}"
        raise RecipeError(msg)


def _same_length(first: ArrayLike, second: ArrayLike, names: tuple[str, str], *, least: int) -> tuple[Vector, Vector]:
    left, right = numbers(first, names[0]), numbers(second, names[1])
    if left.ndim != 1 or left.shape != right.shape:
        msg = f"{names[0]} and {names[1]} must be lists of equal length, got shapes {left.shape} and {right.shape}"
        raise InputError(msg)
    if left.size < least:
        msg = f"{names[0]} and {names[1]} need at least {least} values, got {left.size}"
        raise InputError(msg)
    return left, right


def _not_finite(values: Vector, what: str) -> str | None:
    bad = np.flatnonzero(~np.isfinite(values))
    return f"{what} has {float(values[bad[0]])!r} at index {bad[0]}" if bad.size else None


def why_undefined(values: Vector, what: str, *, kind: str = "pearson") -> str | None:
    """Why a list cannot be correlated (nan, inf, constant), or None where it can."""
    reason = _not_finite(values, what)
    if reason is not None:
        return reason
    low, high = float(values.min()), float(values.max())
    if low == high:
        return f"{what} is constant ({low!r} in all {values.size} places)"
    if kind == "pearson" and high - low <= _ROUNDING * max(abs(low), abs(high)):
        return f"{what} is constant up to rounding (from {low!r} to {high!r})"
    return None


def _refused(name: str, reason: str, undefined: str) -> float:
    """nan where the caller asked for it, else the error."""
    if undefined == "nan":
        return float("nan")
    if undefined != "raise":
        msg = f"undefined must be 'raise' or 'nan', got {undefined!r}"
        raise RecipeError(msg)
    msg = f"{name} has no value here: {reason}; leave these values out, or pass undefined='nan' to get nan"
    raise InputError(msg)


def _unit(values: Vector) -> Vector:
    """Centred, of length 1; scaled twice so that squares neither overflow nor vanish."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    unit: Vector = centred / np.sqrt(centred @ centred)
    return unit


def correlate_rows(values: Vector, gold: Vector, *, kind: str) -> Vector:
    """The coefficient of each row of `values` (rows x n) with `gold` (n); nan where one of the two is constant.

    >>> correlate_rows(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 2.0]]), np.array([1.0, 2.0, 3.0]), kind="kendall")
    array([ 1.        , -0.81649658])
    """
    _check_kind(kind)
    if kind == "pearson":
        return _pearson_rows(values, gold)
    n = gold.size
    coefficients = np.empty(len(values))
    signs_of_gold = np.sign(gold[:, None] - gold).astype(np.float32)
    block = max(1, _CELLS // n**2)
    for start in range(0, len(values), block):
        here = values[start : start + block]
        signs = np.sign(here[:, :, None] - here[:, None, :]).astype(np.float32)
        if kind == "spearman":
            ranks = signs.sum(axis=2, dtype=np.float64)
            coefficients[start : start + block] = rho(ranks, signs_of_gold.sum(axis=1, dtype=np.float64))
            continue
        agreeing = np.einsum("rij,ij->r", signs, signs_of_gold, dtype=np.float64)
        distinct = np.count_nonzero(signs, axis=(1, 2))
        coefficients[start : start + block] = tau_b(agreeing, distinct, int(np.count_nonzero(signs_of_gold)))
    return coefficients


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
        coefficients: Vector = np.clip(product / np.sqrt(spreads), -1.0, 1.0)
    return coefficients


def _pearson_rows(values: Vector, gold: Vector) -> Vector:
    centred = values - values.mean(axis=1, keepdims=True)
    against = gold - gold.mean()
    spread = np.square(centred).sum(axis=1) * (against @ against)
    constant = np.ptp(values, axis=1) <= _ROUNDING * np.abs(values).max(axis=1)
    constant |= bool(np.ptp(gold) <= _ROUNDING * np.abs(gold).max())
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(constant, np.nan, np.clip(centred @ against / np.sqrt(spread), -1.0, 1.0))
