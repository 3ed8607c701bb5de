"""What a report is made from, besides the comparison and its scores; checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.errors import InputError

if TYPE_CHECKING:
    from nlgauge.compare import SystemComparison, SystemScores

__all__ = ["PairExplanation", "ReportOptions", "ReportTexts", "check_inputs", "differing_segments"]


@dataclass(frozen=True)
class ReportTexts:
    """The texts behind the scores, segment by segment in the order of the scores."""

    systems: Mapping[str, Sequence[str]]
    """Outputs by system."""
    references: Sequence[Sequence[str]] | None = None
    """References of each segment."""
    sources: Sequence[str] | None = None


@dataclass(frozen=True)
class PairExplanation:
    """Why one output got its score under one metric."""

    metric: str
    system: str
    segment: int
    """Place of the segment among the scores, from 0."""
    explanation: Mapping[str, Any]
    """`Explanation.to_dict()`."""


@dataclass(frozen=True)
class ReportOptions:
    """How a report looks, and how much is in it."""

    title: str = "Comparison of systems"
    date: str | None = None
    """Stands below the title; without one, the same input gives the same bytes on every day."""
    alignments: int = 500
    """Explanations are kept for at most so many segments, those on which systems differ most."""
    notes: tuple[str, ...] = field(default=())
    """Sentences of your own below the title."""


def differing_segments(scores: Sequence[SystemScores], count: int) -> list[int]:
    """Places of the segments on which systems differ most under any metric, in their own order.

    How much they differ is the range of the systems' scores in standard deviations of the metric, so that no metric
    outweighs another by its unit.
    """
    if count < 0:
        msg = f"the number of segments must be 0 or more, got {count!r}"
        raise InputError(msg)
    widest = np.zeros(scores[0].n)
    for one in scores:
        if one.n != len(widest):
            msg = f"{one.metric!r} has {one.n} segments, {scores[0].metric!r} has {len(widest)}"
            raise InputError(msg)
        spread = float(one.values.std()) or 1.0
        widest = np.maximum(widest, np.ptp(one.values, axis=1) / spread)
    return sorted(np.argsort(-widest, kind="stable")[:count].tolist())


def check_inputs(comparison: SystemComparison, scores: Sequence[SystemScores], texts: ReportTexts | None) -> None:
    """That scores and texts belong to the comparison, and to each other."""
    if not comparison.metrics:
        msg = "a report needs a comparison of at least one metric, got none"
        raise InputError(msg)
    by_metric = {one.metric: one for one in scores}
    for found in comparison.metrics:
        if found.metric not in by_metric:
            there = sorted(by_metric)
            msg = f"the comparison is by {found.metric!r}, the scores are of {there}; pass those it was made from"
            raise InputError(msg)
        one = by_metric[found.metric]
        if set(one.systems) != {row.system for row in found.systems} or one.n != found.n:
            msg = (
                f"the comparison by {found.metric!r} is of {len(found.systems)} systems on {found.n} instances, the "
                f"scores are of {one.k} on {one.n}, or of others; pass those it was made from"
            )
            raise InputError(msg)
    if texts is None:
        return
    segments = comparison.metrics[0].n
    parts: dict[str, Sequence[Any] | None] = {f"system {name!r}": lines for name, lines in texts.systems.items()}
    parts |= {"references": texts.references, "sources": texts.sources}
    for name, lines in parts.items():
        if lines is not None and len(lines) != segments:
            msg = f"the texts of {name} have {len(lines)} segments, the scores have {segments}"
            raise InputError(msg)
