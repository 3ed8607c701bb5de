"""Numbers only: resampling, tests and correlations on arrays."""

from nlgauge.stats.corpus_counts import CorpusCounts, bootstrap_corpus_score
from nlgauge.stats.correlation import (
    KINDS,
    Correlation,
    RelativeRanking,
    correlate,
    kendall,
    pearson,
    relative_ranking,
    spearman,
    why_undefined,
)
from nlgauge.stats.correlation_bootstrap import (
    BootstrapDifference,
    CorrelationDraws,
    CorrelationInterval,
    bootstrap_correlations,
    paired_bootstrap,
)
from nlgauge.stats.paired_tests import Williams, bonferroni, holm, williams
from nlgauge.stats.permutation import (
    PairwisePermutation,
    Permutation,
    permutation_both,
    permutation_both_pearson,
    permutation_both_pearson_of_means,
    permutation_of_outcomes,
    swap_signs,
)
from nlgauge.stats.rank_permutation import permutation_both_of_systems, permutation_both_ranks
from nlgauge.stats.raters import RaterAgreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from nlgauge.stats.resampling import Interval, bootstrap_mean
from nlgauge.stats.summaries import (
    OrderTest,
    average_precision,
    coefficient_of_variation,
    paired_order,
    recall_at_positives,
    relative_difference,
    roc_auc,
)

__all__ = [
    "KINDS",
    "BootstrapDifference",
    "CorpusCounts",
    "Correlation",
    "CorrelationDraws",
    "CorrelationInterval",
    "Interval",
    "OrderTest",
    "PairwisePermutation",
    "Permutation",
    "RaterAgreement",
    "RelativeRanking",
    "Williams",
    "average_precision",
    "bonferroni",
    "bootstrap_corpus_score",
    "bootstrap_correlations",
    "bootstrap_mean",
    "coefficient_of_variation",
    "cohen_kappa",
    "correlate",
    "fleiss_kappa",
    "holm",
    "kendall",
    "krippendorff_alpha",
    "paired_bootstrap",
    "paired_order",
    "pearson",
    "percent_agreement",
    "permutation_both",
    "permutation_both_of_systems",
    "permutation_both_pearson",
    "permutation_both_pearson_of_means",
    "permutation_both_ranks",
    "permutation_of_outcomes",
    "recall_at_positives",
    "relative_difference",
    "relative_ranking",
    "roc_auc",
    "spearman",
    "swap_signs",
    "why_undefined",
    "williams",
]
