"""Comparison of systems: from scores of instances to a ranking with its significance."""

from nlgauge.studies.compare.comparison import (
    CompareSettings,
    MetricComparison,
    PairRow,
    RankingDisagreement,
    ScoredComparison,
    SystemComparison,
    SystemRow,
)
from nlgauge.studies.compare.early_comparison import EarlyComparison, gate_early
from nlgauge.studies.compare.gates import GateResult, gate
from nlgauge.studies.compare.rankings import (
    different_top3,
    different_winner,
    disagreement,
    mean_scores,
    median_scores,
    win_counts,
)
from nlgauge.studies.compare.repeated_runs import RunComparison, SystemRuns, compare_runs
from nlgauge.studies.compare.stopping import Decision, StopRule, decide
from nlgauge.studies.compare.strengths import BradleyTerry, bradley_terry, elo, trueskill
from nlgauge.studies.compare.system_scores import SystemScores, system_scores
from nlgauge.studies.compare.systems import compare, compare_systems
from nlgauge.studies.compare.until_certain import compare_until_certain
from nlgauge.studies.compare.verdicts import Verdict, VerdictComparison, compare_verdicts

__all__ = [
    "BradleyTerry",
    "CompareSettings",
    "Decision",
    "EarlyComparison",
    "GateResult",
    "MetricComparison",
    "PairRow",
    "RankingDisagreement",
    "RunComparison",
    "ScoredComparison",
    "StopRule",
    "SystemComparison",
    "SystemRow",
    "SystemRuns",
    "SystemScores",
    "Verdict",
    "VerdictComparison",
    "bradley_terry",
    "compare",
    "compare_runs",
    "compare_systems",
    "compare_until_certain",
    "compare_verdicts",
    "decide",
    "different_top3",
    "different_winner",
    "disagreement",
    "elo",
    "gate",
    "gate_early",
    "mean_scores",
    "median_scores",
    "system_scores",
    "trueskill",
    "win_counts",
]
