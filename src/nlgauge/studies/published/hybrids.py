"""Published tables on hybrid systems: real systems mixed at random (`nlgauge.studies.meta.hybrids`).

    pearson     correlation of a metric with people over hybrids
    hits_at_1   how often a metric's best of some hybrids is people's best
    mrr         mean of 1 / people's rank of the metric's best
    diff        how much worse people find it than their own best, x 100

The package of WMT18 has no scores of single outputs, so each output has the official score of its system, and
people's score of a hybrid is the mean of these; a hybrid mixes two systems (D24).
"""

from __future__ import annotations

import numpy as np

from nlgauge.studies.meta.hybrids import hybrid_results
from nlgauge.studies.meta.metric_values import MetricValues
from nlgauge.studies.published.agreement import compute_table
from nlgauge.studies.published.options import Request
from nlgauge.studies.published.runs import JudgedRows, Reproduction
from nlgauge.studies.published.tables import Column, PaperTable

#: As in the paper: hybrids of a language pair, and how often the best of how many is chosen.
HYBRIDS = 10_000
CHOSEN_FROM = 100
REPEATS = 100_000


def compute_hybrids(request: Request) -> Reproduction:
    """The table with our values on the systems that are here."""
    return compute_table(request, _hybrid_value)


def _hybrid_value(table: PaperTable, rows: JudgedRows, scores: MetricValues, column: Column) -> tuple[float, str]:
    judged, langpair = rows.table, column.langpair
    official = judged.system_scores.get(langpair, {})
    at = [row for row, pair in enumerate(judged.langpair) if pair == langpair and judged.system[row] in official]
    systems = {name: line for line, name in enumerate(dict.fromkeys(judged.system[row] for row in at))}
    segments = {name: number for number, name in enumerate(dict.fromkeys(judged.segment[row] for row in at))}
    if len(systems) < 2 or len(at) != len(systems) * len(segments):
        return float("nan"), "hybrids need two systems with human scores, and each system's output for each segment"
    values, human = np.empty((2, len(systems), len(segments)))
    for row in at:
        place = systems[judged.system[row]], segments[judged.segment[row]]
        values[place] = scores.oriented[row]
        human[place] = official[judged.system[row]]
    (result,) = hybrid_results(
        [MetricValues(scores.name, values)],
        human,
        mixed="two",
        hybrids=HYBRIDS,
        chosen_from=CHOSEN_FROM,
        repeats=1 if table.experiment == "pearson" else REPEATS,  # a correlation needs no choices
        undefined="nan",
    )
    return float(getattr(result, table.experiment)), result.reason or ""
