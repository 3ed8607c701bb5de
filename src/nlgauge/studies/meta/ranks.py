"""Ranks of metrics by their correlation with human judgements: all pairs tested, and corrected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import bootstrap_correlations, correlate
from nlgauge.stats.numeric import Vector, check_resampling, numbers
from nlgauge.stats.paired_tests import bonferroni, holm, williams
from nlgauge.stats.permutation import (
    PairwisePermutation,
    permutation_both_pearson,
    permutation_both_pearson_of_means,
    permutation_of_outcomes,
)
from nlgauge.stats.rank_permutation import permutation_both_of_systems, permutation_both_ranks
from nlgauge.stats.resampling import Units, unit_numbers
from nlgauge.studies.meta.levels import (
    Aggregate,
    LevelCorrelation,
    Mask,
    Matrix,
    aggregate_systems,
    check_choices,
    grouped_level,
    human_scores,
    score_matrix,
    segment_level,
    system_level,
    system_vectors,
    systems_with_scores,
)
from nlgauge.studies.meta.pairwise import TieAccuracy, outcome_pairs, tie_calibrated_accuracy

Level: TypeAlias = Literal["segment", "system", "item", "by-system"]
Test: TypeAlias = Literal["permutation", "bootstrap", "williams"]
Advance: TypeAlias = Callable[[int], None]

#: Length from which the product of two lists is faster with a second thread.
_LONG = 2048
_LEVELS = ("segment", "system", "item", "by-system")
_TESTS = ("permutation", "bootstrap", "williams")
_CORRECTIONS: Mapping[str, Callable[[ArrayLike], Vector]] = {"bonferroni": bonferroni, "holm": holm}


class MetricComparison(NamedTuple):
    """Metrics from best to worst, with the significance of every difference."""

    names: tuple[str, ...]
    correlations: Vector
    p_values: Matrix
    """p_values[i, j] for i < j: p-value of "metric i is better than metric j"; nan elsewhere."""
    ranks: tuple[int, ...]
    unbeaten: tuple[bool, ...]
    """Whether no other metric is significantly better (set in bold in tables)."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """Metrics without a correlation, with the reason."""


class TieComparison(NamedTuple):
    """acc_eq of every metric from best to worst, with the significance of every difference."""

    accuracies: tuple[TieAccuracy, ...]
    comparison: MetricComparison
    """Its `correlations` are the accuracies."""


def compare_metrics(
    scores: Mapping[str, ArrayLike],
    human: ArrayLike,
    *,
    level: Level = "segment",
    kind: str = "pearson",
    test: Test = "permutation",
    aggregate: str | Aggregate = "mean",
    documents: Units | None = None,
    alpha: float = 0.05,
    correction: Literal["bonferroni", "holm"] | None = None,
    undefined: Literal["raise", "leave out"] = "raise",
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
    advance: Advance | None = None,
) -> MetricComparison:
    """Correlate metrics with human judgements at a level, and test every pair of metrics one-sided.

    `scores` maps the name of a metric to its scores of systems x segments, higher for better outputs. The permutation
    test is PERM-BOTH (`stats.permutation`). With Pearson all pairs of metrics share one matrix product, with Kendall
    and Spearman all draws of a pair do (`stats.rank_permutation`); only an `aggregate` that is a function is called
    in every draw. `bootstrap` resamples outputs (or systems); `williams` needs Pearson. Neither is defined for means
    over groups. `documents` is the document of each item (column): all its outputs are swapped or resampled together;
    this is not defined at system level and for Williams' test. `advance` is called with the number of pairs of
    metrics that are done, during slow tests.
    """
    check_comparison(level, kind, test, alpha, correction, undefined, documents=documents is not None)
    check_resampling(resamples, seed)
    comparison = _Comparison(human, level, kind, aggregate, documents, {"resamples": resamples, "seed": seed})
    matrices = {name: score_matrix(values, name) for name, values in scores.items()}
    results = {name: comparison.correlate(matrix, name, undefined) for name, matrix in matrices.items()}
    left_out = {name: result.reason for name, result in results.items() if result.reason is not None}
    by_metric = {name: result.value for name, result in results.items() if result.reason is None}
    values = dict(sorted(by_metric.items(), key=lambda entry: -entry[1]))
    p_values = np.full((len(values), len(values)), np.nan)
    if len(values) > 1:
        ordered = [matrices[name] for name in values]
        with small_products(human, level):
            if test == "permutation":
                p_values = comparison.permute(ordered, advance, add_one=add_one).p_values
            else:
                p_values = comparison.test_vectors(ordered, bootstrap=test == "bootstrap")
    return rank_metrics(values, p_values, alpha, correction)._replace(left_out=left_out)


def compare_tie_accuracies(
    scores: Mapping[str, ArrayLike],
    human: ArrayLike,
    *,
    documents: Units | None = None,
    alpha: float = 0.05,
    correction: Literal["bonferroni", "holm"] | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
) -> TieComparison:
    """acc_eq with tie calibration for several metrics, ranked by significance.

    Each metric's epsilon is calibrated once; then the outcomes of single pairs are swapped between two metrics
    (`stats.permutation_of_outcomes`), without calibrating again in each draw. `documents` is the document of each
    item; all outcomes of a document are swapped together.
    """
    check_choices(correction=(correction, (None, *_CORRECTIONS)))
    unordered = [tie_calibrated_accuracy(values, human, name=name) for name, values in scores.items()]
    accuracies = tuple(sorted(unordered, key=lambda accuracy: -accuracy.value))
    p_values = np.full((len(accuracies), len(accuracies)), np.nan)
    if len(accuracies) > 1:
        pairs = [outcome_pairs(scores[accuracy.metric], human) for accuracy in accuracies]
        right = np.stack([of.right(accuracy.epsilon) for of, accuracy in zip(pairs, accuracies, strict=True)])
        clusters = None if documents is None else unit_numbers(documents, np.shape(human)[1])[pairs[0].item]
        draws: dict[str, Any] = {"clusters": clusters, "resamples": resamples, "seed": seed, "add_one": add_one}
        p_values = permutation_of_outcomes(right, pairs[0].weight, **draws).p_values
    values = {accuracy.metric: accuracy.value for accuracy in accuracies}
    return TieComparison(accuracies, rank_metrics(values, p_values, alpha, correction))


def rank_metrics(values: Mapping[str, float], raw: Matrix, alpha: float, correction: str | None) -> MetricComparison:
    """Rank metrics, sorted from best to worst, by p-values corrected for the number of pairs."""
    upper = np.triu_indices(len(values), 1)
    p_values = np.full((len(values), len(values)), np.nan)
    p_values[upper] = raw[upper] if correction is None or not upper[0].size else _CORRECTIONS[correction](raw[upper])
    ranks, best = assign_ranks(p_values, alpha=alpha), unbeaten(p_values, alpha=alpha)
    return MetricComparison(tuple(values), np.array(list(values.values())), p_values, ranks, best)


def small_products(human: ArrayLike, level: str) -> AbstractContextManager[None]:
    """Use one BLAS thread to correlate short lists, for which a second thread is slower."""
    shape = numbers(human, "human").shape
    longest = math.prod(shape) if level == "segment" else shape[-1] if level == "by-system" else shape[0]
    return one_blas_thread if longest < _LONG else nullcontext()


def assign_ranks(p_values: ArrayLike, *, alpha: float = 0.05) -> tuple[int, ...]:
    """Assign ranks to metrics sorted from best to worst, from p_values[i, j] (i < j) of "i is better than j".

    Greedy, as in mt-metrics-eval: a metric starts a new rank as soon as a member of the current rank outperforms it
    with p <= alpha. Ranks contain less information than the matrix: two members of neighbouring ranks need not differ
    significantly.

    >>> assign_ranks([[0, 0.4, 0.01], [0, 0, 0.03], [0, 0, 0]])
    (1, 1, 2)
    """
    table = numbers(p_values, "p_values")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        msg = f"p_values must be a square matrix, got shape {table.shape}"
        raise InputError(msg)
    ranks: list[int] = []
    rank, start = 1, 0
    for column in range(len(table)):
        if (table[start:column, column] <= alpha).any():
            rank, start = rank + 1, column
        ranks.append(rank)
    return tuple(ranks)


def unbeaten(p_values: ArrayLike, *, alpha: float = 0.05) -> tuple[bool, ...]:
    """Whether no other metric outperforms a metric with p <= alpha, for each metric.

    >>> unbeaten([[0, 0.4, 0.01], [0, 0, 0.3], [0, 0, 0]])
    (True, True, False)
    """
    table = numbers(p_values, "p_values")
    return tuple(not bool((table[:column, column] <= alpha).any()) for column in range(len(table)))


def check_comparison(
    level: str,
    kind: str,
    test: str,
    alpha: float,
    correction: str | None,
    undefined: str = "raise",
    *,
    documents: bool = False,
) -> None:
    """Raise an error if options of `compare_metrics` are invalid or cannot be combined."""
    check_choices(
        level=(level, _LEVELS),
        test=(test, _TESTS),
        correction=(correction, (None, *_CORRECTIONS)),
        undefined=(undefined, ("raise", "leave out")),
    )
    if test != "permutation" and level in ("item", "by-system"):
        msg = f"the {test} test is not defined for means over groups (level {level!r}); use 'permutation'"
        raise RecipeError(msg)
    if test == "williams" and kind != "pearson":
        msg = f"Williams' test is for Pearson correlations, not {kind!r}; use 'permutation' or 'bootstrap'"
        raise RecipeError(msg)
    if documents and (level == "system" or test == "williams"):
        case = "with Williams' test" if test == "williams" else "at level 'system'"
        msg = f"documents cannot be resampled {case}; remove this option, or use test 'permutation' or 'bootstrap'"
        msg += " at level 'segment'" * (level == "system")
        raise RecipeError(msg)
    if not 0 < alpha < 1:
        msg = f"alpha must be between 0 and 1, got {alpha!r}"
        raise RecipeError(msg)


class _Comparison(NamedTuple):
    """Arguments of `compare_metrics` that all metrics share."""

    human: ArrayLike
    level: Level
    kind: str
    aggregate: str | Aggregate
    documents: Units | None
    draws: Mapping[str, Any]
    """Keyword arguments `resamples` and `seed`."""

    def correlate(self, scores: Matrix, name: str, undefined: str) -> LevelCorrelation:
        """Correlation of one metric; nan if it is undefined and such metrics are left out."""
        keywords: dict[str, Any] = {"undefined": "nan" if undefined == "leave out" else "raise"}
        keywords |= {"kind": self.kind, "name": name}
        if self.level == "segment":
            return segment_level(scores, self.human, **keywords)
        if self.level == "system":
            return system_level(scores, self.human, aggregate=self.aggregate, **keywords)
        return grouped_level(scores, self.human, by="item" if self.level == "item" else "system", **keywords)

    def permute(self, matrices: Sequence[Matrix], advance: Advance | None, *, add_one: bool) -> PairwisePermutation:
        """Test all pairs of metrics with PERM-BOTH."""
        draws: dict[str, Any] = {**self.draws, "add_one": add_one}
        if self.level == "system":
            gold = numbers(self.human, "human")
            official, systems = system_vectors(matrices[0], gold)[1], systems_with_scores(gold)
            cube = np.stack([matrix[systems] for matrix in matrices])
            if (self.kind, self.aggregate) == ("pearson", "mean"):
                return permutation_both_pearson_of_means(cube, official, **draws)
            return permutation_both_of_systems(
                cube, official, kind=self.kind, aggregate=self._join, advance=advance, **draws
            )
        gold, judged = self._judged()
        scores = np.stack([matrix[judged] for matrix in matrices])
        systems_of, items_of = np.nonzero(judged)
        draws["groups"] = {"segment": None, "item": items_of, "by-system": systems_of}[self.level]
        draws["clusters"] = self._documents_of_rows()
        if self.kind == "pearson":
            return permutation_both_pearson(scores, gold[judged], **draws)
        return permutation_both_ranks(scores, gold[judged], kind=self.kind, advance=advance, **draws)

    def _join(self, tables: Matrix) -> Matrix:
        """Join the scores of each system, in tables of systems x segments, into one number."""
        if self.aggregate in ("mean", "median"):
            return np.asarray(tables.mean(axis=-1) if self.aggregate == "mean" else np.median(tables, axis=-1))
        return np.stack([aggregate_systems(table, self.aggregate) for table in tables])

    def test_vectors(self, matrices: Sequence[Matrix], *, bootstrap: bool) -> Matrix:
        """Test all pairs of metrics with bootstrap or Williams' test, on one list of numbers per metric."""
        if self.level == "segment":
            human, judged = self._judged()
            scores, gold = np.stack([matrix[judged] for matrix in matrices]), human[judged]
        else:
            vectors = [system_vectors(matrix, self.human, aggregate=self.aggregate) for matrix in matrices]
            scores, gold = np.stack([ours for ours, _, _ in vectors]), vectors[0][1]
        p_values = np.full((len(matrices), len(matrices)), np.nan)
        pairs = list(combinations(range(len(matrices)), 2))
        if bootstrap:
            clusters = self._documents_of_rows()
            drawn = bootstrap_correlations(scores, gold, kind=self.kind, clusters=clusters, **self.draws)
            for i, j in pairs:
                p_values[i, j] = drawn.difference(i, j).p_value
            return p_values
        with_human = [correlate(row, gold).value for row in scores]
        for i, j in pairs:
            between = correlate(scores[i], scores[j]).value
            p_values[i, j] = williams(with_human[i], with_human[j], between, gold.size).p_value
        return p_values

    def _judged(self) -> tuple[Matrix, Mask]:
        gold = human_scores(self.human)
        return gold, ~np.isnan(gold)

    def _documents_of_rows(self) -> NDArray[np.intp] | None:
        """Document of each judged output, by number."""
        if self.documents is None:
            return None
        gold, judged = self._judged()
        return unit_numbers(self.documents, gold.shape[1])[np.nonzero(judged)[1]]
