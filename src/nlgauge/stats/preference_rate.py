"""How often a metric prefers one of two candidate translations, such as a word-by-word one (W2W, XMoverScore)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.stats.checks import vector

__all__ = ["Preference", "preference"]


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
