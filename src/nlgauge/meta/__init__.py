"""Metrics beside people: correlations at every level, accuracies, significance, ranks and sentinels."""

from nlgauge.meta.answer import Answer, answer
from nlgauge.meta.difference_correlation import DifferenceCorrelation, pairwise_difference_pearson
from nlgauge.meta.evaluation import AgreementTable, evaluate
from nlgauge.meta.hybrids import HybridResult, Hybrids, hybrid_results, make_hybrids, model_selection
from nlgauge.meta.imported_rows import imported_rows
from nlgauge.meta.levels import (
    LevelCorrelation,
    grouped_level,
    segment_level,
    segment_vectors,
    system_level,
    system_vectors,
    unweighted_mean,
)
from nlgauge.meta.metric_scores import MetricScores, ScoreTable
from nlgauge.meta.preferences import Preferences, preference_tau, preferences_from_scores
from nlgauge.meta.question import AGREEMENTS, LEVELS, Question, Significance, check_question
from nlgauge.meta.ranks import MetricComparison, assign_ranks, compare_metrics
from nlgauge.meta.score_table import released_rows, score_table, sentinels_of
from nlgauge.meta.sentinels import (
    length_sentinel,
    random_sentinel,
    sentinel_rows,
    source_copy_sentinel,
    source_length_sentinel,
)
from nlgauge.meta.soft_accuracy import (
    SoftAccuracy,
    pairwise_p_values,
    soft_pairwise_accuracies,
    soft_pairwise_accuracy,
)
from nlgauge.meta.tie_accuracy import CalibrationCurve, TieAccuracy, calibration_curve, tie_calibrated_accuracy
from nlgauge.meta.tie_comparison import TieComparison, compare_tie_accuracies
from nlgauge.meta.tune_layer import LayerTuning, tune_layer

__all__ = [
    "AGREEMENTS",
    "LEVELS",
    "AgreementTable",
    "Answer",
    "CalibrationCurve",
    "DifferenceCorrelation",
    "HybridResult",
    "Hybrids",
    "LayerTuning",
    "LevelCorrelation",
    "MetricComparison",
    "MetricScores",
    "Preferences",
    "Question",
    "ScoreTable",
    "Significance",
    "SoftAccuracy",
    "TieAccuracy",
    "TieComparison",
    "answer",
    "assign_ranks",
    "calibration_curve",
    "check_question",
    "compare_metrics",
    "compare_tie_accuracies",
    "evaluate",
    "grouped_level",
    "hybrid_results",
    "imported_rows",
    "length_sentinel",
    "make_hybrids",
    "model_selection",
    "pairwise_difference_pearson",
    "pairwise_p_values",
    "preference_tau",
    "preferences_from_scores",
    "random_sentinel",
    "released_rows",
    "score_table",
    "segment_level",
    "segment_vectors",
    "sentinel_rows",
    "sentinels_of",
    "soft_pairwise_accuracies",
    "soft_pairwise_accuracy",
    "source_copy_sentinel",
    "source_length_sentinel",
    "system_level",
    "system_vectors",
    "tie_calibrated_accuracy",
    "tune_layer",
    "unweighted_mean",
]
