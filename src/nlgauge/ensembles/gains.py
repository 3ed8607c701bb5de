"""What an ensemble gains over the best of its members, as Table 13 of the linguistic-factor study defines it.

    gain = (r(ensemble) - max_m r(m)) / max_m r(m)

r is Pearson's correlation with people over the segments of a language pair. It is relative, so it has no value where
no member agrees with people (r of the best at most 0). Scores are standardised over all language pairs together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.meta import MetricScores
from nlgauge.stats import correlate

__all__ = ["Gain", "ensemble_gains", "mean_gain", "standardised"]

Vector = NDArray[np.float64]

#: A deviation this small beside the values is rounding.
_CONSTANT = 1e-12


class Gain(NamedTuple):
    """An ensemble beside its members, on the segments of one language pair."""

    langpair: str
    ensemble: float
    """Correlation of the ensemble with people."""
    best: float
    """Of its best member."""
    best_member: str
    rows: int

    @property
    def relative(self) -> float | None:
        """The gain over the best member, 0.08 for 8 %; None where the best member does not agree with people."""
        return None if self.best <= 0 else (self.ensemble - self.best) / self.best


def standardised(values: Vector, *, over: NDArray[np.bool_] | None = None, name: str = "the metric") -> Vector:
    """Values in population deviations from the mean; both are taken over all rows, or over those of a mask.

    >>> standardised(np.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    part = values if over is None else values[over]
    if not len(part):
        msg = f"there is no score of {name} to take a mean of"
        raise InputError(msg)
    if not np.isfinite(part).all():
        row = int(np.flatnonzero(~np.isfinite(part))[0])
        msg = f"score {row} of {name} is missing ({part[row]}); an ensemble needs every member's score of every row"
        raise InputError(msg)
    mean, deviation = float(part.mean()), float(part.std())
    if deviation <= _CONSTANT * max(1.0, abs(mean)):
        msg = f"all {len(part)} scores of {name} are {mean:g}, so that it tells nothing apart; leave it out"
        raise InputError(msg)
    scaled: Vector = (values - mean) / deviation
    return scaled


def ensemble_gains(
    members: Sequence[MetricScores], human: Vector, langpairs: Sequence[str], *, rows: NDArray[np.bool_] | None = None
) -> list[Gain]:
    """The gain of the members' average on each language pair, in the order in which pairs come first.

    Scores are standardised over all rows; with `rows` they are standardised, and correlated, over these only.
    """
    if len(members) < 2:
        msg = f"an ensemble joins at least two metrics, got {len(members)}"
        raise InputError(msg)
    kept = np.ones(len(human), dtype=bool) if rows is None else rows
    columns = [standardised(one.oriented, over=kept, name=one.name) for one in members]
    joined = sum(columns[1:], start=columns[0]) / len(columns)
    pairs = np.array(langpairs)
    found = []
    for pair in dict.fromkeys(langpairs):
        of_pair = kept & (pairs == pair)
        if of_pair.sum() < 2:
            msg = f"{pair} has {int(of_pair.sum())} rows here, and a correlation needs at least 2"
            raise InputError(msg)
        own = [_pearson(column[of_pair], human[of_pair]) for column in columns]
        best = int(np.argmax(own))
        found.append(
            Gain(pair, _pearson(joined[of_pair], human[of_pair]), own[best], members[best].name, int(of_pair.sum()))
        )
    return found


def _pearson(one: Vector, other: Vector) -> float:
    return correlate(one, other, kind="pearson").value


def mean_gain(gains: Sequence[Gain]) -> float | None:
    """The unweighted average over language pairs; None where one of them has no value."""
    values = [value for gain in gains if (value := gain.relative) is not None]
    return float(np.mean(values)) if values and len(values) == len(gains) else None
