"""Agreement of raters: percent agreement, Cohen's and Fleiss' kappa, Krippendorff's alpha.

Each is 1 - D_o / D_e, or for percent agreement 1 - D_o, where D_o and D_e are the observed and the expected
disagreement. They differ in the pairs of ratings that are expected:

    Cohen's kappa         each rater keeps the shares of his own categories (Cohen 1960; weighted: 1968)
    Fleiss' kappa         all raters share one distribution of categories (Fleiss 1971)
    Krippendorff's alpha  any two of the ratings, without putting one back; ratings may be missing (2011)

The disagreement of two categories is 0 or 1 (nominal), |v - w| (linear) or (v - w)^2 (quadratic). Alpha of the
interval scale is quadratic, and that of the ordinal scale is quadratic in the mean ranks of the ratings.

Each function takes `draws`, how often each item is counted (draws x items), and returns one estimate per draw: a row
of ones is the estimate itself, `bootstrap_counts` has resampled items. An estimate without expected disagreement is
nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.numeric import SAME, Vector

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
Weights: TypeAlias = Literal["none", "linear", "quadratic"]
Codes: TypeAlias = NDArray[np.intp]


class Estimates(NamedTuple):
    """A measure, and the observed and the expected disagreement; one of each per draw."""

    value: Vector
    observed: Vector
    expected: Vector


def encode_ratings(columns: Sequence[Sequence[object]], categories: Sequence[object]) -> Codes:
    """Positions of ratings among the categories, items x raters; -1 for a missing rating (None).

    >>> encode_ratings([["b", None], ["a", "b"]], ["a", "b"]).tolist()
    [[1, 0], [-1, 1]]
    """
    index = {category: position for position, category in enumerate(categories)}
    return np.array([[-1 if value is None else index[value] for value in column] for column in columns]).T


def count_categories(codes: Codes, categories: int) -> Vector:
    """Number of ratings of each item in each category, items x categories."""
    counts = np.zeros((len(codes), categories))
    for column in codes.T:
        present = np.flatnonzero(column >= 0)
        np.add.at(counts, (present, column[present]), 1.0)
    return counts


def percent_agreement(counts: Vector, draws: Vector) -> Estimates:
    """Share of equal ratings among all pairs of ratings of the same item; nothing is expected.

    >>> percent_agreement(np.array([[2.0, 0.0], [1.0, 1.0]]), np.ones((1, 2))).value.tolist()
    [0.5]
    """
    totals = counts.sum(axis=1)
    equal = draws @ (counts * (counts - 1)).sum(axis=1)
    share = _ratio(equal, draws @ (totals * (totals - 1)))
    return Estimates(share, 1 - share, np.full(len(draws), np.nan))


def cohen_kappa(
    first: Codes, second: Codes, values: Vector, draws: Vector, *, weights: Weights = "none"
) -> Estimates:
    """Cohen's kappa of two raters without missing ratings; `values` are the categories, for weights."""
    distances = _distances(values, weights)
    items = draws.sum(axis=1)
    shares = []
    for codes in (first, second):
        chosen = np.zeros((codes.size, values.size))
        chosen[np.arange(codes.size), codes] = 1.0
        shares.append(_ratio(draws @ chosen, items[:, None]))
    expected = ((shares[0] @ distances) * shares[1]).sum(axis=1)
    return _corrected(_ratio(draws @ distances[first, second], items), expected, distances.max())


def fleiss_kappa(counts: Vector, draws: Vector) -> Estimates:
    """Fleiss' kappa of items that all have the same number of ratings, at least two."""
    raters = counts[0].sum()
    items = draws.sum(axis=1)
    agreement = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    shares = _ratio(draws @ counts, (items * raters)[:, None])
    return _corrected(1 - _ratio(draws @ agreement, items), 1 - np.square(shares).sum(axis=1), 1.0)


def krippendorff_alpha(counts: Vector, values: Vector, draws: Vector, *, scale: Scale = "nominal") -> Estimates:
    """Krippendorff's alpha; items with fewer than two ratings do not count.

    Of n ratings of all items, D_e is the mean disagreement of any two; of the m ratings of an item, D_o counts each
    pair 1 / (m - 1) times.
    """
    pairable = counts.sum(axis=1) >= 2
    counts, draws = counts[pairable], draws[:, pairable]
    ratings = counts.sum(axis=1)
    total = draws @ ratings
    largest = 1.0
    if scale == "nominal":
        within = draws @ (ratings - (counts * (counts - 1)).sum(axis=1) / (ratings - 1))
        any_two = np.square(total) - np.square(draws @ counts).sum(axis=1)
    elif scale == "interval":
        within, any_two = _squared_differences(counts, values - values.mean(), draws)
        largest = float(np.square(np.ptp(values)))
    else:
        pairs = []
        for sizes, draw in zip(draws @ counts, draws, strict=True):  # mean ranks differ from draw to draw
            ranks = np.cumsum(sizes) - sizes / 2 - sizes.sum() / 2
            pairs.append(np.concatenate(_squared_differences(counts, ranks, draw[None])))
        within, any_two = np.array(pairs).T
    return _corrected(_ratio(within, total), _ratio(any_two, total * (total - 1)), largest)


def _squared_differences(counts: Vector, values: Vector, draws: Vector) -> tuple[Vector, Vector]:
    """Sums of (v - w)^2 over ordered pairs: within items, each by 1 / (m - 1), and over all ratings."""
    ratings, sums, squares = counts.sum(axis=1), counts @ values, counts @ np.square(values)
    within = draws @ (2 * (ratings * squares - np.square(sums)) / (ratings - 1))
    return within, 2 * ((draws @ ratings) * (draws @ squares) - np.square(draws @ sums))


def _distances(values: Vector, weights: Weights) -> Vector:
    if weights == "none":
        return 1.0 - np.eye(values.size)
    apart: Vector = np.abs(values[:, None] - values)
    return apart if weights == "linear" else np.square(apart)


def _corrected(observed: Vector, expected: Vector, largest: float) -> Estimates:
    value = np.full(observed.shape, np.nan)
    defined = expected > SAME * largest  # else all ratings are equal, up to rounding
    value[defined] = 1 - observed[defined] / expected[defined]
    return Estimates(value, observed, expected)


def _ratio(above: Vector, below: Vector) -> Vector:
    ratio: Vector = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratio, where=np.broadcast_to(below, above.shape) > 0)
    return ratio
