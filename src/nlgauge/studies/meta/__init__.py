"""Correlation of metrics with human judgements: all levels, accuracies, significance, ranks and sentinels."""

from nlgauge.studies.meta.agreement import AgreementCell, Agreements, AgreementTable, MetricAgreement
from nlgauge.studies.meta.evaluation import TieComparison, compare_tie_accuracies, evaluate
from nlgauge.studies.meta.hybrids import (
    HybridResult,
    Hybrids,
    hybrid_results,
    make_hybrids,
    model_selection,
)
from nlgauge.studies.meta.levels import (
    LevelCorrelation,
    grouped_level,
    segment_level,
    segment_vectors,
    system_level,
    system_vectors,
)
from nlgauge.studies.meta.metric_values import MetricValues, ScoredJudgements, imported_rows
from nlgauge.studies.meta.pairwise import (
    DifferenceCorrelation,
    Preferences,
    SoftAccuracy,
    TieAccuracy,
    pairwise_difference_pearson,
    pairwise_p_values,
    preference_tau,
    preferences_from_scores,
    soft_pairwise_accuracies,
    soft_pairwise_accuracy,
    tie_calibrated_accuracy,
)
from nlgauge.studies.meta.questions import AGREEMENTS, LEVELS, Answer, Question, Significance, answer, check_question
from nlgauge.studies.meta.ranks import MetricComparison, assign_ranks, compare_metrics
from nlgauge.studies.meta.score_table import released_rows, score_table, sentinels_of
from nlgauge.studies.meta.sentinels import (
    length_sentinel,
    random_sentinel,
    sentinel_rows,
    source_copy_sentinel,
)
from nlgauge.studies.meta.tune_layer import LayerAgreement, LayerTuning, TuneOptions, tune_layer

__all__ = [
    "AGREEMENTS",
    "LEVELS",
    "AgreementCell",
    "AgreementTable",
    "Agreements",
    "Answer",
    "DifferenceCorrelation",
    "HybridResult",
    "Hybrids",
    "LayerAgreement",
    "LayerTuning",
    "LevelCorrelation",
    "MetricAgreement",
    "MetricComparison",
    "MetricValues",
    "Preferences",
    "Question",
    "ScoredJudgements",
    "Significance",
    "SoftAccuracy",
    "TieAccuracy",
    "TieComparison",
    "TuneOptions",
    "answer",
    "assign_ranks",
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
    "system_level",
    "system_vectors",
    "tie_calibrated_accuracy",
    "tune_layer",
]
