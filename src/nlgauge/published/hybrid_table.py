"""Published tables on hybrid systems: real systems mixed at random, thousands of them (`nlgauge.meta.hybrids`).

    pearson     correlation of a metric with people over hybrids
    hits_at_1   how often a metric's best of some hybrids is people's best
    mrr         mean of 1 / people's rank of the metric's best
    diff        how much worse people find it than their own best, x 100

The package of WMT18 has no scores of single outputs, so each output has the official score of its system, and
people's score of a hybrid is the mean of these; a hybrid mixes two systems (D24).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nlgauge.data import JudgementTable
from nlgauge.meta import MetricScores, hybrid_results
from nlgauge.published.table import PaperTable

__all__ = ["HybridTable", "hybrid_value"]


@dataclass(frozen=True)
class HybridTable(PaperTable):
    """A published table on hybrids of a data set's systems."""

    measure: Literal["pearson", "hits_at_1", "mrr", "diff"] = "pearson"
    hybrids: int = 10_000
    chosen_from: int = 100
    repeats: int = 100_000


def hybrid_value(
    table: HybridTable, judged: JudgementTable, scores: MetricScores, langpair: str
) -> tuple[float, str]:
    """What the table measures, of one metric on one language pair; and why there is none where it is nan."""
    official = judged.system_scores.get(langpair, {})
    at = [row for row, pair in enumerate(judged.langpair) if pair == langpair and judged.system[row] in official]
    systems = {name: line for line, name in enumerate(dict.fromkeys(judged.system[row] for row in at))}
    segments = {name: column for column, name in enumerate(dict.fromkeys(judged.segment[row] for row in at))}
    if len(systems) < 2 or len(at) != len(systems) * len(segments):
        return float("nan"), "hybrids need two systems with human scores, and each system's output for each segment"
    values, human = np.empty((2, len(systems), len(segments)))
    for row in at:
        place = systems[judged.system[row]], segments[judged.segment[row]]
        values[place] = scores.oriented[row]
        human[place] = official[judged.system[row]]
    (found,) = hybrid_results(
        [MetricScores(scores.name, values)],
        human,
        mixed="two",
        hybrids=table.hybrids,
        chosen_from=table.chosen_from,
        repeats=1 if table.measure == "pearson" else table.repeats,  # a correlation needs no choices
        undefined="nan",
    )
    return float(getattr(found, table.measure)), found.reason or ""
