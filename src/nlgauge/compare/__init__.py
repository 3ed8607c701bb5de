"""Systems beside systems: from scores of instances to a ranking that says how far it can be trusted."""

from nlgauge.compare.bradley_terry import BradleyTerry, bradley_terry
from nlgauge.compare.rankings import (
    different_top3,
    different_winner,
    disagreement,
    mean_scores,
    median_scores,
    win_counts,
)
from nlgauge.compare.rating import elo, trueskill
from nlgauge.compare.results import MetricComparison, PairRow, RankingDisagreement, SystemComparison, SystemRow
from nlgauge.compare.run import compare_systems
from nlgauge.compare.settings import CompareSettings
from nlgauge.compare.sources import system_scores
from nlgauge.compare.table import CorpusStatistics, SystemScores

__all__ = [
    "BradleyTerry",
    "CompareSettings",
    "CorpusStatistics",
    "MetricComparison",
    "PairRow",
    "RankingDisagreement",
    "SystemComparison",
    "SystemRow",
    "SystemScores",
    "bradley_terry",
    "compare_systems",
    "different_top3",
    "different_winner",
    "disagreement",
    "elo",
    "mean_scores",
    "median_scores",
    "system_scores",
    "trueskill",
    "win_counts",
]
