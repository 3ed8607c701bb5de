"""What the scores of a metric look like: outliers, ties, how far systems and instances are apart."""

from __future__ import annotations

import numpy as np

from nlgauge.compare.rankings import Wins
from nlgauge.compare.results import Diagnostics
from nlgauge.compare.table import Matrix, SystemScores

__all__ = ["diagnose", "outlier_share"]


def outlier_share(values: Matrix) -> float:
    """Share of values more than 1.5 interquartile ranges below the first or above the third quartile.

    >>> outlier_share(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    0.2
    """
    low, high = np.percentile(values, [25, 75])
    reach = 1.5 * (high - low)
    return float(((values < low - reach) | (values > high + reach)).mean())


def diagnose(table: SystemScores, wins: Wins) -> Diagnostics:
    """The diagnostics of the tool of Peyrard et al. (2021), and the share of ties."""
    n, k = table.n, table.k
    comparisons = n * k * (k - 1)
    return Diagnostics(
        outliers=outlier_share(table.values),
        ties=float(wins.ties.sum() / comparisons) if comparisons else 0.0,
        instance_deviation=float(table.values.std(axis=1, ddof=1).mean()) if k > 1 else None,
        difficulty_deviation=float(table.values.mean(axis=1).std(ddof=1)) if n > 1 else None,
        rank_deviations=_rank_deviations(table) if n > 1 < k else {},
    )


def _rank_deviations(table: SystemScores) -> dict[str, float]:
    from scipy.stats import rankdata

    deviations = rankdata(-table.oriented, axis=1).std(axis=0, ddof=1)
    return {name: float(value) for name, value in zip(table.systems, deviations, strict=True)}
