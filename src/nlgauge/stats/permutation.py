"""PERM-BOTH: a permutation test of whether one metric's correlation is higher than another's.

Deutsch et al. 2021 (arXiv 2104.00054): z-score both metrics, swap single scores between them with
probability 1/2, and correlate again; p is the share of draws whose difference is at least the observed one.

For Pearson nothing has to be correlated draw by draw. With signs s = +1 (keep) or -1 (swap) the swapped
metric is A' = (A + B)/2 + s (A - B)/2, so the sums behind r(A', human) are linear in s:

    sum A'   = (sum A   + sum B  )/2 + (s.A   - s.B  )/2
    sum A'^2 = (sum A^2 + sum B^2)/2 + (s.A^2 - s.B^2)/2
    sum A'h  = (A.h     + B.h    )/2 + (s.Ah  - s.Bh )/2          and B' is the same with -s.

One product of the signs with three columns per metric therefore serves every pair of metrics and every draw.

Scores of one document (cluster) are not independent. With `clusters` a sign is drawn for each document, and all its
rows have it: they are swapped together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.numeric import SAME, Vector, check_resampling, numbers, vector
from nlgauge.stats.resampling import Units, random_signs, sum_by_unit, unit_numbers

#: Rows of scores whose signs are held at once: 1,000 draws of 4,096 rows are 32 MB.
_ROWS = 4096


class PairwisePermutation(NamedTuple):
    """Every metric against every other, on shared draws."""

    correlations: Vector
    p_values: Vector
    """p_values[i, j]: share of draws in which metric i leads metric j by at least what it does now; diagonal nan."""


def swap_signs(rows: int, resamples: int, seed: int) -> Iterator[Vector]:
    """Signs (rows x resamples, +1 or -1) in blocks of rows; a row's signs do not depend on the blocks."""
    rng = np.random.default_rng(seed)
    for start in range(0, rows, _ROWS):
        yield random_signs(rng, min(_ROWS, rows - start), resamples)


def permutation_both_pearson(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
) -> PairwisePermutation:
    """PERM-BOTH on Pearson's r for all pairs of the metrics in `scores` (metrics x rows), on shared draws.

    With `groups` (a label per row) the statistic is the unweighted mean of r over groups. A group in which
    all human scores are equal is left out; if a swapped metric is constant in a group, that group is left out of the
    draw. With `clusters`, the document of each row, whole documents are swapped.
    """
    check_resampling(resamples, seed)
    table, gold = metrics_and_human(scores, human)
    z = z_scores(table)
    members = rows_by_group(groups, gold.size)
    first, second = np.triu_indices(len(z), 1)
    # Draw 0 swaps nothing: the observed correlations come out of the same sums.
    totals = np.zeros((2, resamples + 1, first.size))
    defined = np.zeros_like(totals)
    used = 0
    signs = (
        _Signs(gold.size, resamples, seed)
        if clusters is None
        else _ClusterSigns(unit_numbers(clusters, gold.size), resamples, seed)
    )
    for rows in members:
        blocks = signs.of(rows)
        unit = _centred_unit(gold[rows])
        if unit is None:
            for _ in blocks:
                pass
            continue
        used += 1
        here = z[:, rows]
        flips = _signed_sums(np.concatenate([here, here**2, here * unit]).T, blocks, resamples)
        for side, correlations in enumerate(_pair_correlations(flips, rows.size, first, second)):
            has_value = np.isfinite(correlations)
            totals[side] += np.where(has_value, correlations, 0.0)
            defined[side] += has_value
    if used == 0:
        msg = f"human scores are constant in each of {len(members)} group(s), so no correlation is defined"
        raise InputError(msg)
    with np.errstate(invalid="ignore"):
        means = totals / np.where(defined == 0, np.nan, defined)
    return all_pairs(means, len(z), add_one=add_one)


def permutation_both_pearson_of_means(
    scores: ArrayLike, human: ArrayLike, *, resamples: int = 1000, seed: int = 12345, add_one: bool = False
) -> PairwisePermutation:
    """PERM-BOTH at system level: swap single scores, average per system, correlate with `human` per system.

    `scores` is metrics x systems x segments, `human` one number per system. What is drawn anew is which metric
    scored an output, not which systems take part: with many segments a difference is soon significant for these
    systems, however few they are. Williams' test and the bootstrap ask about other systems.
    """
    check_resampling(resamples, seed)
    z, gold = systems_and_human(scores, human)
    metrics, systems, segments = z.shape
    unit = _centred_unit(gold)
    if unit is None:
        msg = f"human scores of all {gold.size} systems are equal, so no correlation is defined"
        raise InputError(msg)
    signs = _Signs(systems * segments, resamples, seed)
    flips = np.stack([_signed_sums(z[:, system].T, signs.take(segments), resamples) for system in range(systems)])
    sums = flips[:, :1]
    first, second = np.triu_indices(metrics, 1)
    means = np.empty((2, resamples + 1, first.size))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        middle = sums[:, :, i] + sums[:, :, j]
        half = flips[:, :, i] - flips[:, :, j]
        for side, swapped in enumerate((middle + half, middle - half)):
            centred = swapped - swapped.mean(axis=0)
            spread = np.einsum("sd,sd->d", centred, centred)
            spread[spread <= SAME * np.einsum("sd,sd->d", swapped, swapped)] = np.nan
            means[side, :, pair] = (unit @ centred) / np.sqrt(spread)
    return all_pairs(means, metrics, add_one=add_one)


def permutation_of_outcomes(
    outcomes: ArrayLike,
    weights: ArrayLike,
    *,
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
) -> PairwisePermutation:
    """Swap outcomes (right or wrong, metrics x cases) instead of scores; the statistic is their weighted sum.

    For accuracies whose decisions are fixed beforehand (mt-metrics-eval's `PairwisePermutationSigDiff`). That is
    a test of its own, not PERM-BOTH made cheaper: swapped decisions need not come from any list of scores.
    `clusters` names the document of each case, swapped as a whole.
    """
    check_resampling(resamples, seed)
    weight = vector(weights, "weights")
    table = numbers(outcomes, "outcomes")
    if table.ndim != 2 or len(table) < 2 or table.shape[1] != weight.size:
        msg = (
            f"outcomes must be 2 or more metrics x {weight.size} cases (as many as weights), got shape {table.shape}"
        )
        raise InputError(msg)
    if not np.isfinite(table).all():
        msg = f"outcomes must be finite, got {np.argwhere(~np.isfinite(table))[0].tolist()} without a value"
        raise InputError(msg)
    if clusters is not None:
        table = sum_by_unit((table * weight).T, clusters).T
        weight = np.ones(table.shape[1])
    flips = _signed_sums((table * weight).T, swap_signs(weight.size, resamples, seed), resamples)
    means = np.stack(_swapped(flips, *np.triu_indices(len(table), 1)))
    return all_pairs(means, len(table), add_one=add_one)


class _Signs:
    """The stream of `swap_signs`, handed out in pieces of any number of rows."""

    def __init__(self, rows: int, resamples: int, seed: int) -> None:
        self._blocks = swap_signs(rows, resamples, seed)
        self._rest: Vector = np.empty((0, resamples))

    def of(self, rows: NDArray[np.intp]) -> Iterator[Vector]:
        """Signs of these rows, which no other call gets."""
        return self.take(rows.size)

    def take(self, rows: int) -> Iterator[Vector]:
        while rows:
            if not len(self._rest):
                self._rest = next(self._blocks)
            piece, self._rest = self._rest[:rows], self._rest[rows:]
            rows -= len(piece)
            yield piece


class _ClusterSigns:
    """Signs of documents, given to the rows of each."""

    def __init__(self, clusters: NDArray[np.intp], resamples: int, seed: int) -> None:
        self._clusters = clusters
        blocks = swap_signs(int(clusters.max()) + 1, resamples, seed)
        self._signs = np.concatenate([block.astype(np.int8) for block in blocks])

    def of(self, rows: NDArray[np.intp]) -> Iterator[Vector]:
        """Signs (rows x resamples) of these rows, in blocks of rows."""
        for start in range(0, rows.size, _ROWS):
            yield self._signs[self._clusters[rows[start : start + _ROWS]]].astype(np.float64)


def _signed_sums(columns: Vector, blocks: Iterable[Vector], resamples: int) -> Vector:
    """Sums of columns (rows x columns) under each draw's signs, draws x columns; in draw 0 all signs are +."""
    sums = np.zeros((resamples + 1, columns.shape[1]))
    start = 0
    for block in blocks:
        part = columns[start : start + len(block)]
        sums[0] += part.sum(axis=0)
        sums[1:] += block.T @ part
        start += len(block)
    return sums


def _pair_correlations(
    flips: Vector, n: int, first: NDArray[np.intp], second: NDArray[np.intp]
) -> tuple[Vector, Vector]:
    """r of both swapped metrics of every pair in every draw (draws x pairs); nan where A' is constant."""
    metrics = flips.shape[1] // 3
    parts = [_swapped(flips[:, part * metrics : (part + 1) * metrics], first, second) for part in range(3)]
    correlations = []
    for total, squares, product in zip(*parts, strict=True):
        spread = squares - total**2 / n
        spread[spread <= SAME * squares] = np.nan
        correlations.append(product / np.sqrt(spread))
    return correlations[0], correlations[1]


def _swapped(flips: Vector, first: NDArray[np.intp], second: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """Sums over both swapped metrics of every pair, from the signed sums of each metric (draw 0: all signs +)."""
    middle = (flips[0, first] + flips[0, second]) / 2
    half = (flips[:, first] - flips[:, second]) / 2
    return middle + half, middle - half


def all_pairs(means: Vector, metrics: int, *, add_one: bool) -> PairwisePermutation:
    """Correlations and p values from means[side, draw, pair]; draw 0 is the observed one."""
    first, second = np.triu_indices(metrics, 1)
    correlations = np.empty(metrics)
    correlations[first], correlations[second] = means[0, 0], means[1, 0]
    if not np.isfinite(correlations).all():
        metric = int(np.flatnonzero(~np.isfinite(correlations))[0])
        msg = f"metric {metric} is constant wherever human scores vary, so its correlation is undefined"
        raise InputError(msg)
    deltas = means[0] - means[1]
    observed, draws = deltas[0], deltas[1:]
    p_values = np.full((metrics, metrics), np.nan)
    # Undefined draws count as evidence for chance. With `add_one` the observed order is a draw too, so p is never 0.
    for i, j, behind in ((first, second, draws < observed - SAME), (second, first, draws > observed + SAME)):
        p_values[i, j] = ((~behind).sum(axis=0) + add_one) / (len(draws) + add_one)
    return PairwisePermutation(correlations, p_values)


def metrics_and_human(scores: ArrayLike, human: ArrayLike) -> tuple[Vector, Vector]:
    table, gold = numbers(scores, "scores"), vector(human, "human", least=2)
    if table.ndim != 2 or len(table) < 2 or table.shape[1] != gold.size:
        msg = (
            f"scores must be 2 or more metrics x {gold.size} rows (as many as human scores), got shape {table.shape}"
        )
        raise InputError(msg)
    return table, gold


def systems_and_human(scores: ArrayLike, human: ArrayLike) -> tuple[Vector, Vector]:
    """Scores of metrics x systems x segments, z-scored by metric, and a human score per system."""
    cube, gold = numbers(scores, "scores"), vector(human, "human", least=2)
    if cube.ndim != 3 or cube.shape[0] < 2 or cube.shape[1] != gold.size or cube.shape[2] == 0:
        msg = f"scores must be 2 or more metrics x {gold.size} systems x segments, got shape {cube.shape}"
        raise InputError(msg)
    return z_scores(cube.reshape(len(cube), -1)).reshape(cube.shape), gold


def rows_by_group(groups: ArrayLike | None, rows: int) -> list[NDArray[np.intp]]:
    """The rows of each group, in the order of the labels; all rows where there are no groups."""
    labels = np.zeros(rows) if groups is None else np.asarray(groups)
    if labels.shape != (rows,):
        msg = f"groups must hold one label per row, got shape {labels.shape} for {rows} rows"
        raise InputError(msg)
    _, membership = np.unique(labels, return_inverse=True)
    order = np.argsort(membership, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(membership[order])) + 1)


def z_scores(table: Vector) -> Vector:
    """Scale each row to mean 0 and standard deviation 1."""
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        metric, row = bad[0]
        msg = f"metric {metric} has {float(table[metric, row])!r} at index {row}; scores must be finite"
        raise InputError(msg)
    constant = np.flatnonzero(np.ptp(table, axis=1) <= 1e-13 * np.abs(table).max(axis=1))
    if constant.size:
        msg = f"metric {constant[0]} is constant ({float(table[constant[0], 0])!r}), so it cannot be compared"
        raise InputError(msg)
    centred = table - table.mean(axis=1, keepdims=True)
    z: Vector = centred / centred.std(axis=1, keepdims=True)
    return z


def _centred_unit(values: Vector) -> Vector | None:
    """Centre values and scale them to length 1; None for constant values."""
    if values.size < 2 or np.ptp(values) <= 1e-13 * np.abs(values).max():
        return None
    centred = values - values.mean()
    unit: Vector = centred / np.sqrt(centred @ centred)
    return unit
