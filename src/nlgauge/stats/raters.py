"""Agreement between raters, and how often a metric prefers one of two candidate translations.

Percent agreement, Cohen's and Fleiss' kappa and Krippendorff's alpha take ratings as raters x items. A missing rating
is None or nan where a measure allows for one (percent agreement and alpha); the kappas need every rating, and say so.

`preference` compares a metric's scores of two candidates for each source, such as a word-by-word translation and an
expert's (W2W, XMoverScore).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.validation import numbers, vector

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
Ratings: TypeAlias = Sequence[Sequence[Any]] | NDArray[Any]
Codes: TypeAlias = NDArray[np.int64]


class RaterAgreement(NamedTuple):
    """A chance-corrected measure: (observed - expected) / (1 - expected)."""

    value: float
    observed: float
    """Agreement found; for alpha, 1 - observed disagreement."""
    expected: float
    """Agreement by chance; for alpha, 1 - expected disagreement."""


def percent_agreement(ratings: Ratings) -> float:
    """Share of all pairs of ratings of the same item that are equal.

    >>> round(percent_agreement([["a", "b", "b"], ["a", "b", "a"]]), 4)
    0.6667
    """
    codes, categories = _codes(ratings)
    counts = _counts(codes, len(categories))
    totals = counts.sum(axis=1)
    pairs = int((totals * (totals - 1)).sum())
    if pairs == 0:
        msg = "no item has two ratings, so there is no agreement to measure"
        raise InputError(msg)
    return float((counts * (counts - 1)).sum() / pairs)


def cohen_kappa(first: Sequence[Any], second: Sequence[Any]) -> RaterAgreement:
    """Cohen's kappa of two raters, (p_o - p_e) / (1 - p_e).

    >>> round(cohen_kappa("aabb", "abbb").value, 3)
    0.5
    """
    codes, categories = _codes([list(first), list(second)])
    _no_gaps(codes, "cohen_kappa")
    observed = float((codes[0] == codes[1]).mean())
    shares = [np.bincount(row, minlength=len(categories)) / row.size for row in codes]
    return _corrected(observed, float(shares[0] @ shares[1]), "both raters use one and the same category throughout")


def fleiss_kappa(counts: ArrayLike) -> RaterAgreement:
    """Fleiss' kappa from counts[item, category] of ratings, the same number of ratings for every item.

    P_i = share of agreeing pairs in item i, P_e = sum of squared category shares.
    """
    table = numbers(counts, "counts")
    if table.ndim != 2 or table.size == 0:
        msg = f"counts must be items x categories, got shape {table.shape}"
        raise InputError(msg)
    if not (np.isfinite(table) & (table >= 0) & (table == np.round(table))).all():
        msg = "counts must be whole numbers of 0 or more"
        raise InputError(msg)
    totals = table.sum(axis=1)
    if (totals != totals[0]).any() or totals[0] < 2:
        item = int(np.flatnonzero((totals != totals[0]) | (totals < 2))[0])
        msg = (
            f"fleiss_kappa needs the same number (2 or more) of ratings for every item, got {totals[item]:g} for "
            f"item {item} and {totals[0]:g} for item 0; krippendorff_alpha allows for missing ratings"
        )
        raise InputError(msg)
    raters = totals[0]
    observed = float(((table * (table - 1)).sum(axis=1) / (raters * (raters - 1))).mean())
    shares = table.sum(axis=0) / table.sum()
    return _corrected(observed, float(shares @ shares), "all ratings are of one category")


def krippendorff_alpha(ratings: Ratings, *, scale: Scale = "nominal") -> RaterAgreement:
    """Krippendorff's alpha = 1 - D_o / D_e from the matrix of coincidences; missing ratings allowed.

    Items with fewer than two ratings do not count. The distance of two categories is 0 or 1 (nominal), the
    squared number of ratings from the one up to the other (ordinal), or the squared difference (interval).
    """
    if scale not in ("nominal", "ordinal", "interval"):
        msg = f"scale must be nominal, ordinal or interval, got {scale!r}"
        raise RecipeError(msg)
    codes, categories = _codes(ratings)
    counts = _counts(codes, len(categories)).astype(np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    if not counts.size:
        msg = "no item has two ratings, so there is no agreement to measure"
        raise InputError(msg)
    raters = counts.sum(axis=1)
    weighted = counts / (raters - 1)[:, None]
    coincidences = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    totals = coincidences.sum(axis=1)
    distance = _distances(categories, totals, scale)
    observed = float((coincidences * distance).sum() / totals.sum())
    expected = float((np.outer(totals, totals) * distance).sum() / (totals.sum() * (totals.sum() - 1)))
    if expected == 0:
        msg = "krippendorff_alpha has no value here: all ratings are of one category, so nothing varies"
        raise InputError(msg)
    return RaterAgreement(1 - observed / expected, 1 - observed, 1 - expected)


def _distances(categories: list[Any], totals: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    if scale == "nominal":
        return 1 - np.eye(len(categories))
    if scale == "interval":
        values = numbers(categories, "ratings on an interval scale")
        return np.square(values[:, None] - values)
    # The ratings between two categories, and half of those in each.
    middle = np.cumsum(totals) - totals / 2
    return np.square(middle[:, None] - middle)


def _codes(ratings: Ratings) -> tuple[Codes, list[Any]]:
    """Ratings as indices into the sorted categories; -1 is a missing rating."""
    rows = [list(row) for row in ratings]
    lengths = {len(row) for row in rows}
    if len(rows) < 2 or len(lengths) != 1 or lengths == {0}:
        msg = f"ratings must be two or more raters x the same items, got rows of lengths {[len(row) for row in rows]}"
        raise InputError(msg)
    present = {value for row in rows for value in row if not _missing(value)}
    try:
        categories = sorted(present)
    except TypeError as error:
        msg = f"ratings must be all numbers or all texts, got {sorted(map(repr, present))[:6]}"
        raise InputError(msg) from error
    index = {value: at for at, value in enumerate(categories)}
    codes = np.array([[-1 if _missing(value) else index[value] for value in row] for row in rows], dtype=np.int64)
    return codes, categories


def _missing(value: Any) -> bool:
    return value is None or bool(value != value)  # nan is the one value that differs from itself


def _counts(codes: Codes, categories: int) -> Codes:
    """counts[item, category]."""
    counts = np.zeros((codes.shape[1], categories), dtype=np.int64)
    for category in range(categories):
        counts[:, category] = (codes == category).sum(axis=0)
    return counts


def _no_gaps(codes: Codes, name: str) -> None:
    gaps = np.argwhere(codes < 0)
    if gaps.size:
        rater, item = gaps[0]
        msg = f"{name} needs every rating; rater {rater} has none for item {item} (krippendorff_alpha allows that)"
        raise InputError(msg)


def _corrected(observed: float, expected: float, why: str) -> RaterAgreement:
    if expected >= 1 - 1e-15:
        msg = f"kappa has no value here: {why}, so agreement by chance is already complete"
        raise InputError(msg)
    return RaterAgreement((observed - expected) / (1 - expected), observed, expected)


class Preference(NamedTuple):
    """Of the first candidates over the second ones, over n sources."""

    share: float
    """Sources for which the first is strictly preferred: W2W if the first are word-by-word translations."""
    ties: float
    """Share of sources with equal scores, which count for neither."""
    mean_difference: float
    """Mean of d = m(x, first) - m(x, second), turned so that above 0 is for the first."""
    n: int


def preference(first: ArrayLike, second: ArrayLike, *, higher_is_better: bool = True) -> Preference:
    """d(first, second; x) = m(x, first) - m(x, second), and how often it is above 0.

    The definition needs a similarity (D8.14); a distance is turned round with `higher_is_better=False`. W2W is
    `preference(scores of word-by-word translations, scores of expert translations).share`: 0 is what one wants.

    >>> preference([0.4, 0.9, 0.5], [0.6, 0.3, 0.5])[:2]
    (0.3333333333333333, 0.3333333333333333)
    """
    one, other = vector(first, "preference"), vector(second, "preference")
    if one.size != other.size:
        msg = f"preference needs a score of either candidate for each source, got {one.size} and {other.size}"
        raise InputError(msg)
    difference = (one - other) * (1 if higher_is_better else -1)
    return Preference(
        float(np.mean(difference > 0)), float(np.mean(difference == 0)), float(difference.mean()), int(one.size)
    )
