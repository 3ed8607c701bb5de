"""PERM-BOTH for Kendall's tau-b and Spearman's rho: all draws of two metrics by a product of matrices.

With k_i = 1 where row i keeps its score and 0 where it is swapped, the swapped metric A' orders rows i and j by

    sign(A'_i - A'_j) = k_i k_j aa + (1-k_i)(1-k_j) bb + k_i (1-k_j) ab + (1-k_i) k_j ba,    ab = sign(A_i - B_j), ...

so the sum behind tau, over all pairs, of that times sign(h_i - h_j) is a quadratic form in the signs s = 2k - 1:
s'Qs/4 + m.s + c, where B' has -s. One product of all draws with Q serves both swapped metrics. Pairs that are tied
are counted by the same form with sign(.) = 0 in the place of the signs. Spearman's ranks are row sums of the signs.
All sums are whole numbers, so neither blocks nor threads can change a result, and ties are exact.

Q has n^2 cells, computed in blocks. Where lists are long another way is shorter: Spearman by one sorted list of
both metrics' scores, in which a draw's ranks are cumulated counts; Kendall by sorting every draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.checks import Vector, check_resampling, numbers, vector
from nlgauge.stats.correlation import correlate
from nlgauge.stats.correlation_rows import correlate_rows, rho, tau_b
from nlgauge.stats.permutation import PairwisePermutation, all_pairs, metrics_and_human, swap_signs, z_scores

__all__ = ["permutation_both_of_systems", "permutation_both_ranks"]

Floats = NDArray[np.float32]
Swapped = tuple[Vector, Vector]

#: Cells of a block of matrices (float32: 16 MB).
_CELLS = 4_000_000
#: Longest list whose pairs are multiplied out; sorting every draw costs as much there.
_MOST_KENDALL = 16_384
_MOST_SPEARMAN = 512


class _Batch(NamedTuple):
    """Groups of one size."""

    rows: NDArray[np.intp]
    """groups x size"""
    gold: Floats
    """Ranks of people's scores, groups x size."""


def permutation_both_ranks(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str,
    groups: ArrayLike | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
    advance: Callable[[int], None] | None = None,
) -> PairwisePermutation:
    """PERM-BOTH on `kind` (spearman, kendall) for all pairs of the metrics in `scores` (metrics x rows).

    With `groups` (a label per row) the statistic is the unweighted mean over groups, of those where it has a value
    in that draw. `advance` is told of every pair of metrics that is done.
    """
    check_resampling(resamples, seed)
    if kind not in ("spearman", "kendall"):
        msg = f"kind must be spearman or kendall, got {kind!r}; permutation_both_pearson is for Pearson's r"
        raise RecipeError(msg)
    table, gold = metrics_and_human(scores, human)
    z = z_scores(table)
    labels = np.zeros(gold.size) if groups is None else np.asarray(groups)
    if labels.shape != gold.shape:
        msg = f"groups must hold one label per row, got shape {labels.shape} for {gold.size} rows"
        raise InputError(msg)
    batches, skipped = _batches(gold, labels)
    if not batches:
        msg = f"human scores are constant in each of {skipped} group(s), so no correlation is defined"
        raise InputError(msg)
    signs = _all_signs(gold.size, resamples, seed)
    first, second = np.triu_indices(len(z), 1)
    means = np.empty((2, resamples + 1, first.size))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        means[:, :, pair] = _mean_of_groups(z[i], z[j], batches, signs, kind)
        if advance is not None:
            advance(1)
    used = sum(len(batch.rows) for batch in batches)
    return all_pairs(means, len(z), (first, second), resamples, seed, (used, skipped), add_one=add_one)


def permutation_both_of_systems(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str,
    aggregate: Callable[[Vector], Vector],
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
    advance: Callable[[int], None] | None = None,
) -> PairwisePermutation:
    """PERM-BOTH at system level for any coefficient: swap single scores, join them per system, correlate.

    `scores` is metrics x systems x segments, `human` one number per system; `aggregate` joins the last axis of an
    array of any shape.
    """
    check_resampling(resamples, seed)
    cube, gold = numbers(scores, "scores"), vector(human, "human", least=2)
    if cube.ndim != 3 or cube.shape[0] < 2 or cube.shape[1] != gold.size or cube.shape[2] == 0:
        msg = f"scores must be 2 or more metrics x {gold.size} systems x segments, got shape {cube.shape}"
        raise InputError(msg)
    metrics, systems, segments = cube.shape
    z = z_scores(cube.reshape(metrics, -1)).reshape(cube.shape)
    keep = (_all_signs(systems * segments, resamples, seed) > 0).reshape(-1, systems, segments)
    first, second = np.triu_indices(metrics, 1)
    means = np.empty((2, resamples + 1, first.size))
    block = max(1, _CELLS // (systems * segments))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        for start in range(0, resamples + 1, block):
            kept = keep[start : start + block]
            for side, (ours, others) in enumerate(((z[i], z[j]), (z[j], z[i]))):
                joined = aggregate(np.where(kept, ours, others))
                means[side, start : start + block, pair] = correlate_rows(joined, gold, kind=kind)
        if advance is not None:
            advance(1)
    return all_pairs(means, metrics, (first, second), resamples, seed, (1, 0), add_one=add_one)


def _all_signs(rows: int, resamples: int, seed: int) -> NDArray[np.int8]:
    """Signs of all draws (draws x rows); the first swaps nothing, and so is the observed order."""
    signs = np.ones((resamples + 1, rows), dtype=np.int8)
    at = 0
    for block in swap_signs(rows, resamples, seed):
        signs[1:, at : at + len(block)] = block.T
        at += len(block)
    return signs


def _batches(gold: Vector, labels: NDArray[np.generic]) -> tuple[list[_Batch], int]:
    """Groups with a correlation, those of one size together; and how many have none."""
    _, membership = np.unique(labels, return_inverse=True)
    order = np.argsort(membership, kind="stable")
    cuts = np.flatnonzero(np.diff(membership[order])) + 1
    _, ranks = np.unique(gold, return_inverse=True)
    by_size: dict[int, list[NDArray[np.intp]]] = {}
    skipped = 0
    for rows in np.split(order, cuts):
        if rows.size < 2 or np.ptp(ranks[rows]) == 0:
            skipped += 1
        else:
            by_size.setdefault(rows.size, []).append(rows)
    batches = [np.stack(groups) for groups in by_size.values()]
    return [_Batch(rows, ranks[rows].astype(np.float32)) for rows in batches], skipped


def _mean_of_groups(
    first: Vector, second: Vector, batches: Sequence[_Batch], signs: NDArray[np.int8], kind: str
) -> Vector:
    """The mean over groups of both swapped metrics in every draw (2 x draws); nan where no group has a value."""
    values, ranks = np.unique(np.concatenate([first, second]), return_inverse=True)
    a, b = ranks.reshape(2, -1).astype(np.float32)  # ordered and tied as the scores are, and exact
    tied = values.size < ranks.size
    totals = np.zeros((2, len(signs)))
    defined = np.zeros_like(totals)
    for batch in batches:
        draws = len(signs) * batch.rows.shape[1]
        for start in range(0, len(batch.rows), max(1, _CELLS // draws)):
            part = slice(start, start + max(1, _CELLS // draws))
            rows = batch.rows[part]
            sides = _swapped_correlations(a[rows], b[rows], batch.gold[part], signs, rows, kind, tied=tied)
            for side, found in enumerate(sides):
                has_value = np.isfinite(found)
                totals[side] += np.where(has_value, found, 0.0).sum(axis=0)
                defined[side] += has_value.sum(axis=0)
    means: Vector = totals / np.where(defined == 0, np.nan, defined)
    return means


def _swapped_correlations(
    a: Floats,
    b: Floats,
    gold: Floats,
    signs: NDArray[np.int8],
    rows: NDArray[np.intp],
    kind: str,
    *,
    tied: bool,
) -> Swapped:
    """The coefficient of both swapped metrics (groups x draws each) for groups of one size."""
    size = rows.shape[1]
    if size > (_MOST_KENDALL if kind == "kendall" else _MOST_SPEARMAN):
        way = _kendall_by_sorting if kind == "kendall" else _spearman_by_counts
        found = [way(a[at], b[at], gold[at], signs[:, rows[at]] > 0) for at in range(len(rows))]
        return np.stack([one for one, _ in found]), np.stack([other for _, other in found])
    # groups x draws x rows
    own = np.ascontiguousarray(signs[:, rows].transpose(1, 0, 2)).astype(np.float32)
    if kind == "spearman":
        return _spearman(a, b, gold, own)
    return _kendall(a, b, gold, own, tied=tied)


def _kendall(a: Floats, b: Floats, gold: Floats, signs: Floats, *, tied: bool) -> Swapped:
    """tau-b of both swapped metrics by the quadratic form of the module's docstring."""
    groups, draws, n = signs.shape
    agreeing = _Form(groups, draws)
    equal = _Form(groups, draws)
    distinct_gold = np.zeros((groups, 1))
    for rows in _row_blocks(groups, n):
        ours = np.sign(gold[:, rows, None] - gold[:, None, :])
        distinct_gold[:, 0] += np.count_nonzero(ours, axis=(1, 2))
        orders = _Orders.of(a, b, rows)
        agreeing.add(signs, rows, *(ours * order for order in orders))
        if tied:
            other = np.arange(n) != np.arange(n)[rows, None]
            equal.add(signs, rows, *((order == 0).astype(np.float32) * other for order in orders))
    pairs = n * (n - 1)
    keep, swap = (
        tau_b(sums, pairs - ties, distinct_gold) for sums, ties in zip(agreeing.sides, equal.sides, strict=True)
    )
    return keep, swap


def _spearman(a: Floats, b: Floats, gold: Floats, signs: Floats) -> Swapped:
    """rho of both swapped metrics; the centred rank of a score (twice) is the sum of its signs to all others."""
    n = signs.shape[2]
    keep = (signs + 1) / 2
    kept = signs > 0
    ranks_gold = np.sign(gold[:, :, None] - gold[:, None, :]).sum(axis=2, dtype=np.float64)[:, None, :]
    aa, bb, ab, ba = _Orders.of(a, b, slice(0, n))
    # Of A_i and of B_i among what A' is made of; among what B' is made of it is the rest.
    of_a = keep @ (aa - ab).transpose(0, 2, 1) + ab.sum(axis=2)[:, None, :]
    of_b = keep @ (ba - bb).transpose(0, 2, 1) + bb.sum(axis=2)[:, None, :]
    all_a = (aa + ab).sum(axis=2)[:, None, :]
    all_b = (ba + bb).sum(axis=2)[:, None, :]
    first = np.where(kept, of_a, of_b).astype(np.float64)
    second = np.where(kept, all_b - of_b, all_a - of_a).astype(np.float64)
    return rho(first, ranks_gold), rho(second, ranks_gold)


def _spearman_by_counts(a: Floats, b: Floats, gold: Floats, keep: NDArray[np.bool_]) -> Swapped:
    """rho for a long list: among both metrics' scores in order, a rank is a count of what was chosen before."""
    n = gold.size
    merged = np.concatenate([a, b])
    order = np.argsort(merged, kind="stable")
    ordered = merged[order]
    before, upto = (np.searchsorted(ordered, merged, side=side) for side in ("left", "right"))
    ranks_gold = _doubled_ranks(gold)
    sides: tuple[Vector, Vector] = (np.empty(len(keep)), np.empty(len(keep)))
    block = max(1, _CELLS // (2 * n))
    for start in range(0, len(keep), block):
        kept = keep[start : start + block]
        counts = np.zeros((len(kept), 2 * n + 1), dtype=np.int32)
        np.cumsum(np.concatenate([kept, ~kept], axis=1)[:, order], axis=1, out=counts[:, 1:])
        doubled = counts[:, before] + counts[:, upto] + 1
        rest = before + upto + 2 - doubled
        for side, (one, other) in enumerate(((doubled[:, :n], doubled[:, n:]), (rest[:, n:], rest[:, :n]))):
            ranks = np.where(kept, one, other) - float(n + 1)
            sides[side][start : start + block] = rho(ranks, ranks_gold)
    return sides


def _kendall_by_sorting(a: Floats, b: Floats, gold: Floats, keep: NDArray[np.bool_]) -> Swapped:
    """tau-b for a list too long for all its pairs: each draw is sorted, in n log n."""
    sides: tuple[Vector, Vector] = (np.empty(len(keep)), np.empty(len(keep)))
    for draw, kept in enumerate(keep):
        for side, (one, other) in enumerate(((a, b), (b, a))):
            swapped = np.where(kept, one, other)
            sides[side][draw] = correlate(swapped, gold, kind="kendall", undefined="nan").value
    return sides


def _doubled_ranks(values: Floats) -> Vector:
    """Twice the average ranks, centred."""
    ordered = np.sort(values)
    before, upto = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    ranks: Vector = (before + upto + 1 - (values.size + 1)).astype(np.float64)
    return ranks


def _row_blocks(groups: int, n: int) -> Iterator[slice]:
    step = max(1, _CELLS // (groups * n))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


class _Orders(NamedTuple):
    """Signs of the differences of some rows to all (groups x rows x n)."""

    aa: Floats
    bb: Floats
    ab: Floats
    ba: Floats

    @classmethod
    def of(cls, a: Floats, b: Floats, rows: slice) -> _Orders:
        return cls(*(np.sign(x[:, rows, None] - y[:, None, :]) for x, y in ((a, a), (b, b), (a, b), (b, a))))


class _Form:
    """A sum over ordered pairs of rows in every draw, for both swapped metrics: the first has +s, the second -s."""

    def __init__(self, groups: int, draws: int) -> None:
        self._even: Vector = np.zeros((groups, draws))
        self._odd: Vector = np.zeros((groups, draws))

    def add(self, signs: Floats, rows: slice, aa: Floats, bb: Floats, ab: Floats, ba: Floats) -> None:
        """Add the pairs of some rows with all."""
        own = signs[:, :, rows]
        quadratic = aa + bb - ab - ba
        product = signs @ quadratic.transpose(0, 2, 1)
        product *= own
        row_sums = quadratic.sum(axis=2, dtype=np.float64)
        linear = (ab - bb).sum(axis=2, dtype=np.float64)
        constant = row_sums.sum(axis=1) / 4 + linear.sum(axis=1) + bb.sum(axis=(1, 2), dtype=np.float64)
        self._even += product.sum(axis=2, dtype=np.float64) / 4 + constant[:, None]
        self._odd += (own @ (row_sums / 2 + linear)[:, :, None])[:, :, 0]

    @property
    def sides(self) -> Swapped:
        return self._even + self._odd, self._even - self._odd
