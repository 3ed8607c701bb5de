"""Gains of averages of metrics over their best member, as in Table 13 of the linguistic-factor study.

    gain = (r(average) - max_m r(m)) / max_m r(m)

r is Pearson's correlation with human scores over the segments of a language pair. The gain is relative, so it is
undefined if no member correlates with human scores (r of the best at most 0). Scores are standardised over all
language pairs together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.numeric import SAME, Vector


class Gain(NamedTuple):
    """Gain of an ensemble over its best member, on the segments of one language pair."""

    langpair: str
    ensemble: float
    """Correlation of the ensemble with human scores."""
    best: float
    """Correlation of its best member."""
    best_member: str
    rows: int

    @property
    def relative(self) -> float | None:
        """Relative gain over the best member, 0.08 for 8 %; None if that member's correlation is not positive."""
        return None if self.best <= 0 else (self.ensemble - self.best) / self.best


def standardised(values: Vector, *, over: NDArray[np.bool_] | None = None, name: str = "the metric") -> Vector:
    """Standardise values with the population standard deviation, over all rows or over those of a mask.

    >>> standardised(np.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    part = values if over is None else values[over]
    if not len(part):
        msg = f"no score of {name} to compute a mean of"
        raise InputError(msg)
    if not np.isfinite(part).all():
        row = int(np.flatnonzero(~np.isfinite(part))[0])
        msg = f"score {row} of {name} is missing ({part[row]}); an ensemble needs scores of all members for all rows"
        raise InputError(msg)
    mean, deviation = float(part.mean()), float(part.std())
    if deviation <= SAME * max(1.0, abs(mean)):
        msg = f"all {len(part)} scores of {name} are {mean:g}, so it cannot be standardised; omit this metric"
        raise InputError(msg)
    scaled: Vector = (values - mean) / deviation
    return scaled


def ensemble_gains(members: Mapping[str, Vector], human: Vector, langpairs: Sequence[str]) -> list[Gain]:
    """Compute the gain of the members' average on each language pair, in order of first occurrence.

    `members` has scores by metric name, higher for better outputs; they are standardised over all rows.
    """
    if len(members) < 2:
        msg = f"an ensemble needs at least two metrics, got {len(members)}"
        raise InputError(msg)
    columns = [standardised(scores, name=name) for name, scores in members.items()]
    average = sum(columns[1:], start=columns[0]) / len(columns)
    pairs = np.array(langpairs)
    gains = []
    for pair in dict.fromkeys(langpairs):
        in_pair = pairs == pair
        if in_pair.sum() < 2:
            msg = f"{pair} has {int(in_pair.sum())} rows, but a correlation needs at least 2"
            raise InputError(msg)
        *correlations, ensemble = [correlate(column[in_pair], human[in_pair]).value for column in (*columns, average)]
        best = int(np.argmax(correlations))
        gains.append(Gain(pair, ensemble, correlations[best], list(members)[best], int(in_pair.sum())))
    return gains
