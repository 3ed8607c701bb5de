"""Tables of scores whose columns are runs of systems, such as training seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nlgauge.compare.budget_files import Budgets
from nlgauge.compare.notes import own_idf_notes
from nlgauge.compare.runs import RunComparison, SystemRuns, compare_runs
from nlgauge.compare.settings import CompareSettings
from nlgauge.compare.table import SystemScores

__all__ = ["compare_run_tables"]


def compare_run_tables(
    tables: Sequence[SystemScores],
    systems: Mapping[str, str],
    *,
    budgets: Budgets | None = None,
    settings: CompareSettings | None = None,
) -> list[RunComparison]:
    """Systems over their runs, a comparison per metric.

    `systems` has the system of each column. The score of a run is that of all its output: for BLEU and chrF the
    score of the corpus, for other metrics the mean.
    """
    settings = settings or CompareSettings()
    found: list[RunComparison] = []
    for table in tables:
        statistics = table.statistics
        totals = table.values.mean(axis=0) if statistics is None else statistics.score(statistics.counts.sum(axis=0))
        scores: dict[str, list[float]] = {}
        for run, value in zip(table.systems, totals.tolist(), strict=True):
            scores.setdefault(systems[run], []).append(value)
        runs = [SystemRuns(name, np.array(values), (budgets or {}).get(name, {})) for name, values in scores.items()]
        compared = compare_runs(
            runs,
            metric=table.metric,
            higher_is_better=table.higher_is_better,
            alpha=settings.alpha,
            level=settings.level,
            permutations=settings.permutations,
            seed=settings.seed,
        )
        found.append(replace(compared, notes=(*compared.notes, *own_idf_notes(table.signature))))
    return found
