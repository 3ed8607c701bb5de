"""A metric's scores of systems x segments, turned the right way up once and for all.

Everything in this room compares `MetricScores` with human scores of the same shape, in which nan means that
nobody judged that output. People's scores are higher for better outputs; a distance says that it is one, and
`oriented` flips it, so that no correlation is ever flipped, or made absolute, later on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.checks import numbers

__all__ = ["Mask", "Matrix", "MetricScores", "check_scores", "distinct_names", "human_scores", "judged_systems"]

Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MetricScores:
    """What one metric gave to every output; nan where there was no output to score.

    >>> MetricScores("wmd", [[0.2, 0.4]], higher_is_better=False).oriented.tolist()
    [[-0.2, -0.4]]
    """

    name: str
    values: Matrix
    """systems x segments, as the metric gave them."""
    higher_is_better: bool = True
    signature: str = ""

    def __post_init__(self) -> None:
        values = numbers(self.values, f"scores of {self.name!r}").copy()
        if values.ndim != 2 or values.size == 0:
            msg = f"scores of {self.name!r} must be systems x segments, got shape {values.shape}"
            raise InputError(msg)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @property
    def oriented(self) -> Matrix:
        """The scores with higher meaning better: a distance is negated."""
        return self.values if self.higher_is_better else -self.values


def human_scores(human: ArrayLike) -> Matrix:
    """Human scores of systems x segments; nan where nobody judged."""
    gold = numbers(human, "human")
    if gold.ndim != 2 or gold.size == 0:
        msg = f"human scores must be systems x segments, got shape {gold.shape}"
        raise InputError(msg)
    bad = np.argwhere(np.isinf(gold))
    if bad.size:
        system, segment = bad[0]
        msg = f"human score of system {system}, segment {segment} is {float(gold[system, segment])!r}"
        raise InputError(msg)
    if np.isnan(gold).all():
        msg = "there is not a single human score"
        raise InputError(msg)
    return gold


def check_scores(metric: MetricScores, needed: Mask) -> Matrix:
    """The oriented scores, finite wherever they are needed."""
    if metric.values.shape != needed.shape:
        msg = (
            f"scores of {metric.name!r} have shape {metric.values.shape}, human scores {needed.shape}; "
            "both must be systems x segments in the same order"
        )
        raise InputError(msg)
    bad = np.argwhere(needed & ~np.isfinite(metric.values))
    if bad.size:
        system, segment = bad[0]
        msg = (
            f"{metric.name!r} gives {float(metric.values[system, segment])!r} to system {system}, segment {segment} "
            f"({len(bad)} such score(s)); score these outputs, or leave them out of the human scores"
        )
        raise InputError(msg)
    return metric.oriented


def judged_systems(gold: Matrix) -> tuple[NDArray[np.intp], int]:
    """Segments on which every system was judged, and how many were not; an error where there is none."""
    complete = np.flatnonzero(~np.isnan(gold).any(axis=0))
    if not complete.size:
        msg = "no segment was judged for every system; leave out the systems that were not judged"
        raise InputError(msg)
    return complete, gold.shape[1] - complete.size


def distinct_names(metrics: Sequence[MetricScores]) -> tuple[str, ...]:
    """Names of the metrics, refused where two are the same."""
    names = tuple(metric.name for metric in metrics)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"two metrics are called {twice!r}; give each a name of its own"
        raise InputError(msg)
    return names
