"""What a metric gives for a pair, for a segment, and for a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Alignment, Flow

if TYPE_CHECKING:
    from nlgauge.stats.corpus_counts import CorpusCounts

__all__ = ["Comparison", "Pair", "SystemResult"]


class Pair(NamedTuple):
    """A hypothesis against one reference."""

    values: Sequence[float]
    """One per component."""
    alignment: Alignment | Flow | None = None
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Comparison:
    """One hypothesis against each of its references."""

    values: NDArray[np.float64]
    """A row per reference, a column per component."""
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    """One per reference where they were asked for; None where a side is empty."""
    zero_weight: bool = False
    unconverged: bool = False


@dataclass(frozen=True, eq=False)
class SystemResult:
    """A system's scores: an array per component, and which reference was best."""

    segments: Mapping[str, NDArray[np.float64]]
    best_reference: NDArray[np.int64] | None = None
    corpus: Mapping[str, float] = field(default_factory=dict)
    """Scores of the whole system, where those are no means over segments."""
    statistics: CorpusCounts | None = None
    """Behind the main component of `corpus`, for those who resample segments."""
    no_noun: tuple[int, ...] = ()
    """Segments in which a text had no noun, of metrics that look at nouns."""
    no_focus: tuple[int, ...] = ()
    """Segments that share no focus with any of their references, of metrics that compare foci."""
    no_ties: tuple[int, ...] = ()
    """Segments with a text no two sentences of which share a focus, of metrics that look at such ties."""
    run: Mapping[str, str] = field(default_factory=dict)
    """What the run part of the signature must say of it."""
