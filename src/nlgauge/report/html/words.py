"""The sentences of `nlgauge.report.verdicts` as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nlgauge.report.html.elements import Html, joined, name_of, tag
from nlgauge.report.verdicts import Emphasis, MetricName, SystemName, metric_verdict, on_the_winner

if TYPE_CHECKING:
    from nlgauge.compare import CompareSettings, MetricComparison, SystemComparison

__all__ = ["agreement_on_the_winner", "verdict"]


def verdict(found: MetricComparison, settings: CompareSettings) -> Html:
    """One paragraph for one metric."""
    return _paragraph(metric_verdict(found, settings))


def agreement_on_the_winner(comparison: SystemComparison) -> Html | None:
    """Whether metrics agree on who comes first; None where there is one metric or one system."""
    said = on_the_winner(comparison)
    return None if said is None else _paragraph(said)


def _paragraph(sentence: Sequence[str]) -> Html:
    return tag("p", joined(map(_marked, sentence)))


def _marked(part: str) -> str:
    if isinstance(part, SystemName):
        return name_of(part)
    if isinstance(part, MetricName):
        return tag("b", str(part))
    return tag("strong", str(part)) if isinstance(part, Emphasis) else part
