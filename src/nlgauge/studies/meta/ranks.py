"""Ranks of metrics by their correlation with human judgements: all pairs tested, and corrected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.blas import one_blas_thread
from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.correlation_bootstrap import bootstrap_correlations
from nlgauge.stats.paired_tests import bonferroni, holm, williams
from nlgauge.stats.permutation import (
    permutation_both,
    permutation_both_pearson,
    permutation_both_pearson_of_means,
)
from nlgauge.stats.rank_permutation import permutation_both_of_systems, permutation_both_ranks
from nlgauge.stats.resampling import Units, unit_numbers
from nlgauge.stats.validation import Vector, check_resampling, numbers
from nlgauge.studies.meta.levels import (
    Aggregate,
    aggregated,
    grouped_level,
    segment_level,
    segment_vectors,
    system_level,
    system_vectors,
    systems_with_scores,
)
from nlgauge.studies.meta.metric_values import Matrix, MetricValues, distinct_names, human_scores

Level: TypeAlias = Literal["segment", "system", "item", "by-system"]
Test: TypeAlias = Literal["permutation", "bootstrap", "williams"]

#: Lists whose products are worth a second thread.
_LONG = 2048
_LEVELS = ("segment", "system", "item", "by-system")
_TESTS = ("permutation", "bootstrap", "williams")
_CORRECTIONS: Mapping[str, Callable[[ArrayLike], Vector]] = {"bonferroni": bonferroni, "holm": holm}


class MetricComparison(NamedTuple):
    """Metrics from best to worst, with the significance of every difference."""

    names: tuple[str, ...]
    correlations: Vector
    p_values: Matrix
    """p_values[i, j] for i < j: chance of metric i leading metric j by this much; nan elsewhere."""
    ranks: tuple[int, ...]
    unbeaten: tuple[bool, ...]
    """Metrics that no other one significantly outperforms (set in bold in tables)."""
    level: str
    kind: str
    test: str
    alpha: float
    correction: str | None
    resamples: int
    seed: int
    left_out: Mapping[str, str]
    """Metrics without a correlation here, with the reason."""


def compare_metrics(
    scores: Sequence[MetricValues],
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
    advance: Callable[[int], None] | None = None,
) -> MetricComparison:
    """Correlate metrics with people at a level, and test every pair of them one-sided.

    The permutation test is PERM-BOTH (`stats.permutation`). With Pearson all pairs of metrics share one matrix
    product, with Kendall and Spearman all draws of a pair (`stats.rank_permutation`); only an `aggregate` that is a
    function is called again in every draw. `bootstrap` resamples outputs (or systems); `williams` needs Pearson.
    Neither is defined for means over groups. `documents` names the document of each item (column): all its outputs
    are swapped or drawn together then; at system level, and for Williams' test, that is not defined. `advance` is
    told how many of the n (n - 1) / 2 pairs of metrics are done, where that takes a while: all that have a
    correlation at the end.
    """
    check_comparison(level, kind, test, alpha, correction, undefined, documents=documents is not None)
    check_resampling(resamples, seed)
    distinct_names(scores)
    kept, correlations, left_out = _correlations(scores, human, level, kind, aggregate, undefined)
    order = np.argsort(-correlations, kind="stable")
    kept, correlations = [kept[index] for index in order], correlations[order]
    size = len(kept)
    p_values = np.full((size, size), np.nan)
    if size > 1:
        draws: dict[str, Any] = {"documents": documents, "resamples": resamples, "seed": seed}
        with small_products(human, level):
            if test == "permutation":
                raw = _permutation(kept, human, level, kind, aggregate, add_one=add_one, advance=advance, **draws)
            else:
                raw = _on_vectors(kept, human, level, kind, aggregate, test, **draws)
        upper = np.triu_indices(size, 1)
        p_values[upper] = raw[upper]
        p_values = correct_pairs(p_values, correction)
    return MetricComparison(
        tuple(metric.name for metric in kept),
        correlations,
        p_values,
        assign_ranks(p_values, alpha=alpha),
        unbeaten(p_values, alpha=alpha),
        level,
        kind,
        test,
        alpha,
        correction,
        resamples,
        seed,
        left_out,
    )


def small_products(human: ArrayLike, level: str) -> AbstractContextManager[None]:
    """One BLAS thread where the lists that are correlated are short: a second one waits longer than it works."""
    shape = numbers(human, "human").shape
    longest = math.prod(shape) if level == "segment" else shape[-1] if level == "by-system" else shape[0]
    return one_blas_thread if longest < _LONG else nullcontext()


def assign_ranks(p_values: ArrayLike, *, alpha: float = 0.05) -> tuple[int, ...]:
    """Clusters of metrics sorted from best to worst, from p_values[i, j] (i < j) of "i leads j".

    Greedy, as mt-metrics-eval does it: a metric opens a new rank as soon as a member of the current one
    outperforms it with p <= alpha. So ranks say less than the matrix: two members of neighbouring ranks need
    not differ significantly.

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
    """For each metric, whether no other one outperforms it with p <= alpha.

    >>> unbeaten([[0, 0.4, 0.01], [0, 0, 0.3], [0, 0, 0]])
    (True, True, False)
    """
    table = numbers(p_values, "p_values")
    return tuple(not bool((table[:column, column] <= alpha).any()) for column in range(len(table)))


def correct_pairs(p_values: Matrix, correction: str | None) -> Matrix:
    """The upper triangle corrected for the number of pairs that were tested."""
    if correction is None:
        return p_values
    if correction not in _CORRECTIONS:
        msg = f"correction must be one of {', '.join(_CORRECTIONS)} or None, got {correction!r}"
        raise RecipeError(msg)
    corrected = p_values.copy()
    upper = np.triu_indices(len(p_values), 1)
    corrected[upper] = _CORRECTIONS[correction](p_values[upper])
    return corrected


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
    """Refuse options of `compare_metrics` that do not exist or do not go together."""
    for name, value, allowed in (
        ("level", level, _LEVELS),
        ("test", test, _TESTS),
        ("correction", correction, (None, *_CORRECTIONS)),
        ("undefined", undefined, ("raise", "leave out")),
    ):
        if value not in allowed:
            msg = f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}"
            raise RecipeError(msg)
    if test != "permutation" and level in ("item", "by-system"):
        msg = f"the {test} test is not defined for means over groups (level {level!r}); use 'permutation'"
        raise RecipeError(msg)
    if test == "williams" and kind != "pearson":
        msg = f"Williams' test is for Pearson correlations, not {kind!r}; use 'permutation' or 'bootstrap'"
        raise RecipeError(msg)
    if documents and (level == "system" or test == "williams"):
        where = "Williams' test" if test == "williams" else "level 'system'"
        msg = f"{where} draws no documents; leave them out, or compare segments by 'permutation' or 'bootstrap'"
        raise RecipeError(msg)
    if not 0 < alpha < 1:
        msg = f"alpha must lie between 0 and 1, got {alpha!r}"
        raise RecipeError(msg)


def _correlations(
    metrics: Sequence[MetricValues],
    human: ArrayLike,
    level: str,
    kind: str,
    aggregate: str | Aggregate,
    undefined: str,
) -> tuple[list[MetricValues], Vector, dict[str, str]]:
    policy: Literal["raise", "nan"] = "nan" if undefined == "leave out" else "raise"
    kept, values, left_out = [], [], {}
    for metric in metrics:
        if level == "segment":
            found = segment_level(metric, human, kind=kind, undefined=policy)
        elif level == "system":
            found = system_level(metric, human, kind=kind, aggregate=aggregate, undefined=policy)
        else:
            by: Literal["item", "system"] = "item" if level == "item" else "system"
            found = grouped_level(metric, human, kind=kind, by=by, undefined=policy)
        if found.reason is None:
            kept.append(metric)
            values.append(found.value)
        else:
            left_out[metric.name] = found.reason
    return kept, np.array(values), left_out


def _permutation(
    metrics: Sequence[MetricValues],
    human: ArrayLike,
    level: str,
    kind: str,
    aggregate: str | Aggregate,
    *,
    add_one: bool,
    advance: Callable[[int], None] | None,
    documents: Units | None,
    resamples: int,
    seed: int,
) -> Matrix:
    draws: dict[str, Any] = {"resamples": resamples, "seed": seed, "add_one": add_one}
    if level == "system":
        return _permutation_of_systems(metrics, human, kind, aggregate, advance, draws)
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    scores = np.stack([segment_vectors(metric, gold)[0] for metric in metrics])
    systems_of, items_of = np.nonzero(judged)
    groups = {"segment": None, "item": items_of, "by-system": systems_of}[level]
    draws["clusters"] = _documents_of_rows(documents, gold)
    if kind == "pearson":
        return permutation_both_pearson(scores, gold[judged], groups=groups, **draws).p_values
    return permutation_both_ranks(scores, gold[judged], kind=kind, groups=groups, advance=advance, **draws).p_values


def _permutation_of_systems(
    metrics: Sequence[MetricValues],
    human: ArrayLike,
    kind: str,
    aggregate: str | Aggregate,
    advance: Callable[[int], None] | None,
    draws: dict[str, Any],
) -> Matrix:
    gold = numbers(human, "human")
    official = system_vectors(metrics[0], gold)[1]
    systems = systems_with_scores(gold)
    cube = np.stack([metric.oriented[systems] for metric in metrics])
    if isinstance(aggregate, str):
        if kind == "pearson" and aggregate == "mean":
            return permutation_both_pearson_of_means(cube, official, **draws).p_values
        join = {"mean": partial(np.mean, axis=-1), "median": partial(np.median, axis=-1)}[aggregate]
        return permutation_both_of_systems(
            cube, official, kind=kind, aggregate=join, advance=advance, **draws
        ).p_values

    def of_systems(values: Matrix) -> float:
        return correlate(aggregated(values, aggregate), official, kind=kind, undefined="nan").value

    p_values = np.full((len(metrics), len(metrics)), np.nan)
    for i, j in zip(*np.triu_indices(len(metrics), 1), strict=True):
        p_values[i, j] = permutation_both(cube[i], cube[j], of_systems, **draws).p_value
        if advance is not None:
            advance(1)
    return p_values


def _on_vectors(
    metrics: Sequence[MetricValues],
    human: ArrayLike,
    level: str,
    kind: str,
    aggregate: str | Aggregate,
    test: str,
    *,
    documents: Units | None,
    resamples: int,
    seed: int,
) -> Matrix:
    """Bootstrap or Williams on one list of numbers per metric."""
    if level == "segment":
        vectors = [segment_vectors(metric, human) for metric in metrics]
    else:
        vectors = [system_vectors(metric, human, aggregate=aggregate)[:2] for metric in metrics]
    scores, gold = np.stack([ours for ours, _ in vectors]), vectors[0][1]
    p_values = np.full((len(metrics), len(metrics)), np.nan)
    draws = None
    if test == "bootstrap":
        clusters = _documents_of_rows(documents, human)
        draws = bootstrap_correlations(scores, gold, kind=kind, clusters=clusters, resamples=resamples, seed=seed)
    with_human = [correlate(row, gold, kind=kind).value for row in scores]
    for i, j in zip(*np.triu_indices(len(metrics), 1), strict=True):
        if draws is not None:
            p_values[i, j] = draws.difference(int(i), int(j)).p_value
        else:
            between = correlate(scores[i], scores[j]).value
            p_values[i, j] = williams(with_human[i], with_human[j], between, gold.size).p_value
    return p_values


def _documents_of_rows(documents: Units | None, human: ArrayLike) -> NDArray[np.intp] | None:
    """The document of each judged output, from that of each item."""
    if documents is None:
        return None
    gold = human_scores(human)
    return unit_numbers(documents, gold.shape[1])[np.nonzero(~np.isnan(gold))[1]]
