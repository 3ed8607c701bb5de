"""Soft pairwise accuracy (SPA): does a metric separate systems with the confidence that people have?

Thompson et al. 2024. For every pair of systems a paired permutation test gives the p value of "the first is
better", once from human and once from metric scores of the same segments:

    SPA = 1 - mean over pairs |p_human - p_metric|

Swapping the two scores of a segment flips the sign of its difference, so a draw is a vector of signs s, the
statistic s.(a - b) = s.a - s.b, and one product of the signs with all score columns serves every pair. The
signs are those that mt-metrics-eval draws from the same seed. Where documents are named, all segments of one have its
sign: the columns are summed over documents first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError
from nlgauge.meta.metric_scores import Matrix, MetricScores, check_scores, human_scores, judged_systems
from nlgauge.stats.checks import check_resampling, numbers
from nlgauge.stats.correlation import Undefined
from nlgauge.stats.resampling import Units, sum_by_unit, unit_numbers

__all__ = ["SoftAccuracy", "pairwise_p_values", "soft_pairwise_accuracies", "soft_pairwise_accuracy"]

#: Signs held at once.
_CELLS = 4_000_000
#: Sums in another order differ by this share of their size.
_SAME = 1e-12


class SoftAccuracy(NamedTuple):
    """SPA of one metric, and what it rests on."""

    metric: str
    value: float
    pairs: int
    segments: int
    """Segments judged for every system; only these count."""
    unjudged: int
    """Segments left out because a system was not judged there."""
    resamples: int
    seed: int
    reason: str | None = None


def pairwise_p_values(
    tables: ArrayLike, *, clusters: Units | None = None, resamples: int = 1000, seed: int = 4
) -> Matrix:
    """One-sided p values p[t, i, j] (i < j, else nan) of "system i is better than j" for each table.

    `tables` is tables x systems x segments; all share their draws. A p value is the share of sign flips whose
    summed difference is at least the observed one. `clusters` names the document of each segment.
    """
    check_resampling(resamples, seed)
    cube = numbers(tables, "tables")
    if cube.ndim != 3 or cube.shape[1] < 2 or cube.size == 0:
        msg = f"tables must be tables x 2 or more systems x segments, got shape {cube.shape}"
        raise InputError(msg)
    if not np.isfinite(cube).all():
        msg = f"tables must hold finite scores, got {np.argwhere(~np.isfinite(cube))[0].tolist()} without one"
        raise InputError(msg)
    count, systems, segments = cube.shape
    columns = sum_by_unit(cube.reshape(count * systems, segments).T, clusters)
    units = len(columns)
    observed = columns.sum(axis=0).reshape(count, systems)
    size = np.abs(columns).sum(axis=0).reshape(count, systems)
    first, second = np.triu_indices(systems, 1)
    least = observed[:, first] - observed[:, second] - _SAME * (size[:, first] + size[:, second])
    reached = np.zeros((count, first.size), dtype=np.int64)
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // units)
    for start in range(0, resamples, block):
        random = rng.random(size=(min(block, resamples - start), units), dtype=np.float32)
        signs = 2.0 * np.rint(random).astype(np.float64) - 1.0
        sums = (signs @ columns).reshape(len(signs), count, systems)
        for table in range(count):  # one table at a time keeps draws x pairs small
            flipped = sums[:, table, first] - sums[:, table, second]
            reached[table] += (flipped >= least[table]).sum(axis=0)
    p_values = np.full((count, systems, systems), np.nan)
    p_values[:, first, second] = reached / resamples
    return p_values


def soft_pairwise_accuracies(
    metrics: Sequence[MetricScores],
    human: ArrayLike,
    *,
    documents: Units | None = None,
    resamples: int = 1000,
    seed: int = 4,
    undefined: Undefined = "raise",
) -> list[SoftAccuracy]:
    """SPA of several metrics on shared draws; `documents` names that of each segment, swapped as a whole.

    A metric that gives all systems the same scores separates none of them, so its SPA would only restate the
    order in which systems are listed: that is an error, or nan with its reason.
    """
    gold = human_scores(human)
    segments, unjudged = judged_systems(gold)
    needed = np.zeros(gold.shape, dtype=bool)
    needed[:, segments] = True
    tables = [gold[:, segments]] + [check_scores(metric, needed)[:, segments] for metric in metrics]
    clusters = None if documents is None else unit_numbers(documents, gold.shape[1])[segments]
    p_values = pairwise_p_values(np.stack(tables), clusters=clusters, resamples=resamples, seed=seed)
    upper = np.triu_indices(len(gold), 1)
    results = []
    for metric, scores, p in zip(metrics, tables[1:], p_values[1:], strict=True):
        reason = None
        value = 1 - float(np.abs(p - p_values[0])[upper].mean())
        if (scores == scores[0]).all():
            reason = "all systems get the same scores"
            if undefined != "nan":
                msg = (
                    f"{metric.name!r} has no soft pairwise accuracy: {reason}; leave it out, or pass undefined='nan'"
                )
                raise InputError(msg)
            value = float("nan")
        results.append(
            SoftAccuracy(metric.name, value, upper[0].size, segments.size, unjudged, resamples, seed, reason)
        )
    return results


def soft_pairwise_accuracy(
    metric: MetricScores,
    human: ArrayLike,
    *,
    documents: Units | None = None,
    resamples: int = 1000,
    seed: int = 4,
    undefined: Undefined = "raise",
) -> SoftAccuracy:
    """SPA of one metric against human scores of systems x segments."""
    return soft_pairwise_accuracies(
        [metric], human, documents=documents, resamples=resamples, seed=seed, undefined=undefined
    )[0]
