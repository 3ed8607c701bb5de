"""Agreement of raters: percent agreement, Cohen's and Fleiss' kappa, Krippendorff's alpha.

Each is 1 - D_o / D_e, or for percent agreement 1 - D_o, where D_o and D_e are the observed and the expected
disagreement. They differ in the pairs of ratings that are expected:

    Cohen's kappa         each rater has their own distribution of categories (Cohen 1960; weighted: 1968)
    Fleiss' kappa         all raters share one distribution of categories (Fleiss 1971)
    Krippendorff's alpha  any two of the ratings, without putting one back; ratings may be missing (2011)

The disagreement of two categories is 0 or 1 (nominal), |v - w| (linear) or (v - w)^2 (quadratic). Alpha of the
interval scale is quadratic, and that of the ordinal scale is quadratic in the mean ranks of the ratings.

Each function takes `draws`, how often each item is counted (draws x items), and returns one estimate per draw: a row
of ones is the estimate itself, `bootstrap_counts` has resampled items. An estimate without expected disagreement is
nan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
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


def percent_agreement(codes: Codes, draws: Vector) -> Estimates:
    """Share of equal ratings among all pairs of ratings of the same item; nothing is expected.

    >>> percent_agreement(np.array([[0, 0], [0, 1]]), np.ones((1, 2))).value.tolist()
    [0.5]
    """
    ratings = _ratings(codes)
    share = _ratio(draws @ _equal_pairs(codes), draws @ (ratings * (ratings - 1)))
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


def fleiss_kappa(codes: Codes, draws: Vector) -> Estimates:
    """Fleiss' kappa of items that all have the same number of ratings, at least two."""
    raters = _ratings(codes)[0]
    items = draws.sum(axis=1)
    agreement = _ratio(draws @ (_equal_pairs(codes) / (raters * (raters - 1))), items)
    squares = np.array([np.square(sizes).sum() for sizes in _category_sizes(codes, draws)])
    return _corrected(1 - agreement, 1 - _ratio(squares, np.square(items * raters)), 1.0)


def krippendorff_alpha(codes: Codes, values: Vector, draws: Vector, *, scale: Scale = "nominal") -> Estimates:
    """Krippendorff's alpha; items with fewer than two ratings do not count.

    Of n ratings of all items, D_e is the mean disagreement of any two; of the m ratings of an item, D_o counts each
    pair 1 / (m - 1) times.
    """
    pairable = _ratings(codes) >= 2
    codes, draws = codes[pairable], draws[:, pairable]
    ratings = _ratings(codes)
    total = draws @ ratings
    largest = 1.0
    if scale == "nominal":
        within = draws @ (ratings - _equal_pairs(codes) / (ratings - 1))
        squares = np.array([np.square(sizes).sum() for sizes in _category_sizes(codes, draws)])
        any_two = np.square(total) - squares
    elif scale == "interval":
        within, any_two = _squared_differences(codes, values - values.mean(), draws)
        largest = float(np.square(np.ptp(values)))
    else:
        pairs = []
        for sizes, draw in zip(_category_sizes(codes, draws), draws, strict=True):  # mean ranks differ by draw
            ranks = np.cumsum(sizes) - sizes / 2 - sizes.sum() / 2
            pairs.append(np.concatenate(_squared_differences(codes, ranks, draw[None])))
        within, any_two = np.array(pairs).T
    return _corrected(_ratio(within, total), _ratio(any_two, total * (total - 1)), largest)


def _ratings(codes: Codes) -> Vector:
    """Number of ratings of each item."""
    return np.asarray((codes >= 0).sum(axis=1), dtype=np.float64)


def _equal_pairs(codes: Codes) -> Vector:
    """Number of ordered pairs of equal ratings of each item."""
    equal = np.zeros(len(codes))
    for first, second in combinations(codes.T, 2):
        equal += 2.0 * ((first == second) & (first >= 0))
    return equal


def _category_sizes(codes: Codes, draws: Vector) -> Iterator[Vector]:
    """Number of ratings in each category, for one draw after the other."""
    items, raters = np.nonzero(codes >= 0)
    chosen = codes[items, raters]
    for draw in draws:
        yield np.bincount(chosen, weights=draw[items]).astype(np.float64)


def _squared_differences(codes: Codes, values: Vector, draws: Vector) -> tuple[Vector, Vector]:
    """Sums of (v - w)^2 over ordered pairs: within items, each by 1 / (m - 1), and over all ratings."""
    given = np.where(codes >= 0, values[codes], 0.0)
    ratings, sums, squares = _ratings(codes), given.sum(axis=1), np.square(given).sum(axis=1)
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
