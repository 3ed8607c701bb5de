"""Systems beside systems: from scores of instances to a ranking that says how far it can be trusted."""

from nlgauge.compare.bradley_terry import BradleyTerry, bradley_terry
from nlgauge.compare.gate import GateResult, gate
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
from nlgauge.compare.runs import RunComparison, SystemRuns, compare_runs
from nlgauge.compare.settings import CompareSettings
from nlgauge.compare.sources import system_scores
from nlgauge.compare.table import CorpusStatistics, SystemScores
from nlgauge.compare.verdicts import Verdict, VerdictComparison, compare_verdicts

__all__ = [
    "BradleyTerry",
    "CompareSettings",
    "CorpusStatistics",
    "GateResult",
    "MetricComparison",
    "PairRow",
    "RankingDisagreement",
    "RunComparison",
    "SystemComparison",
    "SystemRow",
    "SystemRuns",
    "SystemScores",
    "Verdict",
    "VerdictComparison",
    "bradley_terry",
    "compare_runs",
    "compare_systems",
    "compare_verdicts",
    "different_top3",
    "different_winner",
    "disagreement",
    "elo",
    "gate",
    "mean_scores",
    "median_scores",
    "system_scores",
    "trueskill",
    "win_counts",
]
