"""Inputs of a report besides the comparison and its scores, checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import InputError

if TYPE_CHECKING:
    from nlgauge.studies.compare.comparison import SystemComparison
    from nlgauge.studies.compare.system_scores import SystemScores


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


@dataclass(frozen=True, kw_only=True)
class ReportOptions(OptionSet):
    """How a report looks, and how much is in it."""

    called: ClassVar[str] = "options of a report"

    title: str = option("Comparison of systems", Text("a title"), help="title of the report")
    date: str | None = option(
        None,
        Text("a date"),
        help="date below the title; without one, the same input gives the same bytes on every day",
    )
    alignments: int = option(500, Int(0), help="most segments with explanations: those on which systems differ most")
    notes: tuple[str, ...] = option((), Many(Text("a sentence")), help="sentences below the title")


def differing_segments(scores: Sequence[SystemScores], count: int) -> list[int]:
    """Places of the segments on which systems differ most under any metric, in their own order.

    How much they differ is the range of the systems' scores in standard deviations of the metric, so that no metric
    outweighs another by its unit.
    """
    return most_differing(scores, range(scores[0].n), count)


def most_differing(scores: Sequence[SystemScores], among: Iterable[int], count: int) -> list[int]:
    """The same of some segments."""
    if count < 0:
        msg = f"the number of segments that keep their alignments must be 0 or more, got {count!r}"
        raise InputError(msg)
    widest = np.zeros(scores[0].n)
    for one in scores:
        if one.n != len(widest):
            msg = f"{one.metric!r} has {one.n} segments, {scores[0].metric!r} has {len(widest)}"
            raise InputError(msg)
        spread = float(one.values.std()) or 1.0
        widest = np.maximum(widest, np.ptp(one.values, axis=1) / spread)
    return sorted(sorted(among, key=lambda at: (-widest[at], at))[:count])


def check_inputs(
    comparison: SystemComparison,
    scores: Sequence[SystemScores],
    texts: ReportTexts | None,
    explanations: Sequence[PairExplanation],
) -> None:
    """That scores, texts and explanations belong to the comparison, and to each other."""
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
    for explained in explanations:
        _check_explanation(explained, comparison)
    if texts is not None:
        _check_texts(texts, comparison.metrics[0].n)


def _check_explanation(one: PairExplanation, comparison: SystemComparison) -> None:
    metrics = [found.metric for found in comparison.metrics]
    systems = [row.system for row in comparison.metrics[0].systems]
    if one.metric not in metrics:
        msg = f"there is an explanation of {one.metric!r}, but the comparison has the metrics {metrics}"
    elif one.system not in systems:
        msg = f"there is an explanation of system {one.system!r}, but the comparison has the systems {systems}"
    elif not 0 <= one.segment < comparison.metrics[0].n:
        last = comparison.metrics[0].n - 1
        msg = f"there is an explanation of segment {one.segment}, but segments go from 0 to {last}"
    else:
        return
    raise InputError(msg)


def _check_texts(texts: ReportTexts, segments: int) -> None:
    parts: dict[str, Sequence[Any] | None] = {f"system {name!r}": lines for name, lines in texts.systems.items()}
    parts |= {"references": texts.references, "sources": texts.sources}
    for name, lines in parts.items():
        if lines is not None and len(lines) != segments:
            msg = f"the texts of {name} have {len(lines)} segments, the scores have {segments}"
            raise InputError(msg)
