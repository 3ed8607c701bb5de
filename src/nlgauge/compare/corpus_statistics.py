"""Counts behind the corpus scores of several systems: what BLEU and chrF are compared and resampled by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.scores import Score
from nlgauge.stats.corpus_counts import CorpusCounts

__all__ = ["SystemCounts", "system_counts"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class SystemCounts:
    """The counts of several systems on the same segments, under one formula."""

    parts: tuple[CorpusCounts, ...]
    """One per system."""

    def __post_init__(self) -> None:
        shapes = {part.counts.shape for part in self.parts}
        formulas = {part.formula for part in self.parts}
        if len(shapes) != 1 or len(formulas) != 1:
            msg = f"counts of several systems must be alike, got {', '.join(map(repr, self.parts)) or 'none'}"
            raise InputError(msg)

    @property
    def counts(self) -> Matrix:
        """Segments x systems x counts."""
        return np.stack([part.counts for part in self.parts], axis=1)

    def score(self, totals: Matrix) -> Matrix:
        """The corpus scores of summed counts; the last axis of `totals` is that of the counts, and goes."""
        return self.parts[0].score(totals)

    def take(self, systems: Sequence[int]) -> SystemCounts:
        """The same of some systems, by number."""
        return SystemCounts(tuple(self.parts[at] for at in systems))


def system_counts(scores: Sequence[Score]) -> SystemCounts | None:
    """The counts behind the corpus scores of one metric; None where the score of a system is a mean over segments."""
    if all(score.main not in score.corpus for score in scores):
        return None
    for score in scores:
        if score.statistics is None:
            msg = (
                f"{score.metric} of {score.system!r} is computed on the whole corpus, and the counts to resample are "
                "not with this score; score the texts again"
            )
            raise InputError(msg)
    return SystemCounts(tuple(score.statistics for score in scores if score.statistics is not None))
