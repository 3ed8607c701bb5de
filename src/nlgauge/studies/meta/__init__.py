"""Correlation of metrics with human judgements: all levels, accuracies, significance, ranks and sentinels."""

from nlgauge.studies.meta.agreement import Agreements, AgreementTable, MetricAgreement
from nlgauge.studies.meta.evaluation import LayerAgreement, LayerTuning, TuneOptions, evaluate, tune_layer
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
    system_level,
)
from nlgauge.studies.meta.pairwise import (
    DifferenceCorrelation,
    SoftAccuracy,
    TieAccuracy,
    pairwise_difference_pearson,
    pairwise_p_values,
    preference_tau,
    soft_pairwise_accuracies,
    tie_calibrated_accuracy,
)
from nlgauge.studies.meta.questions import (
    AGREEMENTS,
    LEVELS,
    AgreementCell,
    Question,
    Significance,
    answer,
    check_question,
)
from nlgauge.studies.meta.ranks import (
    MetricComparison,
    TieComparison,
    assign_ranks,
    compare_metrics,
    compare_tie_accuracies,
)
from nlgauge.studies.meta.row_scores import (
    RowScores,
    ScoredJudgements,
    given_rows,
    imported_rows,
    released_rows,
    sentinels_of,
)
from nlgauge.studies.meta.score_judgements import score_judgements

__all__ = [
    "AGREEMENTS",
    "LEVELS",
    "AgreementCell",
    "AgreementTable",
    "Agreements",
    "DifferenceCorrelation",
    "HybridResult",
    "Hybrids",
    "LayerAgreement",
    "LayerTuning",
    "LevelCorrelation",
    "MetricAgreement",
    "MetricComparison",
    "Question",
    "RowScores",
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
    "given_rows",
    "grouped_level",
    "hybrid_results",
    "imported_rows",
    "make_hybrids",
    "model_selection",
    "pairwise_difference_pearson",
    "pairwise_p_values",
    "preference_tau",
    "released_rows",
    "score_judgements",
    "segment_level",
    "sentinels_of",
    "soft_pairwise_accuracies",
    "system_level",
    "tie_calibrated_accuracy",
    "tune_layer",
]
