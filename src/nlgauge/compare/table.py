"""Scores of several systems on the same instances under one metric: what all comparisons start from.

An instance is what systems are compared on: a segment, a summary, a dialogue turn. Rows are instances, columns are
systems, and `oriented` turns a distance round once, so that everything later may take higher for better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError

__all__ = ["CorpusStatistics", "Matrix", "SystemScores"]

Matrix = NDArray[np.float64]


class CorpusStatistics:
    """Counts behind a score of a whole corpus (BLEU, chrF): a resample of instances adds up other counts."""

    counts: NDArray[np.float64]
    """Instances x systems x counts."""

    def score(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """The corpus score for summed counts; the last axis of `totals` is that of the counts, and goes."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores:
    """Scores of systems on the same instances, one metric; read-only."""

    metric: str
    systems: tuple[str, ...]
    values: Matrix
    """Instances x systems, as the metric gave them."""
    higher_is_better: bool = True
    signature: str = ""
    """Recipe part of the signature; of scores from a file what the file says, and its digest."""
    instances: tuple[str, ...] = ()
    """Names of the instances; their numbers from 0 where nothing names them."""
    documents: tuple[str, ...] | None = None
    """The document of each instance; instances of one document are not independent."""
    statistics: CorpusStatistics | None = None
    """Behind the score of a whole system, where it is no mean over instances."""

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 2 or values.size == 0:
            msg = f"scores of {self.metric!r} must be instances x systems, got shape {values.shape}"
            raise InputError(msg)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "systems", tuple(self.systems))
        object.__setattr__(self, "instances", tuple(self.instances) or tuple(map(str, range(len(values)))))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        return f"<SystemScores {self.metric}: {shape}{'' if self.higher_is_better else ', lower is better'}>"

    @property
    def oriented(self) -> Matrix:
        """The scores with higher meaning better: a distance is negated."""
        return self.values if self.higher_is_better else -self.values

    def take(self, systems: Sequence[str]) -> SystemScores:
        """The same of some systems, in the order asked for."""
        at = [self.systems.index(name) for name in systems]
        return replace(self, systems=tuple(systems), values=self.values[:, at])
