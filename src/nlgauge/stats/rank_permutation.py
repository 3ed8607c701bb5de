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

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import MOST_KENDALL, correlate, correlate_rows, rho, tau_b
from nlgauge.stats.numeric import BLOCK_CELLS, Vector, blocks, check_resampling
from nlgauge.stats.permutation import (
    PairwisePermutation,
    all_pairs,
    metrics_and_human,
    rows_by_group,
    swap_signs,
    systems_and_human,
    z_scores,
)
from nlgauge.stats.resampling import Units, unit_numbers

Floats = NDArray[np.float32]
Swapped = tuple[Vector, Vector]

#: Groups of one size, as many as are computed at once: rows, and ranks of people's scores; groups x size each.
_Batch = tuple[NDArray[np.intp], Floats]

_MOST_SPEARMAN = 512


def permutation_both_ranks(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str,
    groups: ArrayLike | None = None,
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    add_one: bool = False,
    advance: Callable[[int], None] | None = None,
) -> PairwisePermutation:
    """PERM-BOTH on `kind` (spearman, kendall) for all pairs of the metrics in `scores` (metrics x rows).

    With `groups` (a label per row) the statistic is the unweighted mean over the groups in which it is defined in a
    draw. With `clusters`, the document of each row, whole documents are swapped. `advance` is called with 1 for each
    completed pair of metrics, or for the same amount of work.
    """
    check_resampling(resamples, seed)
    if kind not in ("spearman", "kendall"):
        msg = f"kind must be spearman or kendall, got {kind!r}; permutation_both_pearson is for Pearson's r"
        raise RecipeError(msg)
    table, gold = metrics_and_human(scores, human)
    z = z_scores(table)
    members = rows_by_group(groups, gold.size)
    batches = _batches(gold, members, most=BLOCK_CELLS // (resamples + 1))
    if not batches:
        msg = f"human scores are constant in each of {len(members)} group(s), so no correlation is defined"
        raise InputError(msg)
    if clusters is None:
        signs = _all_signs(gold.size, resamples, seed)
    else:
        units = unit_numbers(clusters, gold.size)
        signs = _all_signs(int(units.max()) + 1, resamples, seed)[:, units]
    first, second = np.triu_indices(len(z), 1)
    totals = np.zeros((2, resamples + 1, first.size))
    defined = np.zeros_like(totals)
    done = 0
    for rows, ranks in batches:
        swapped = _Swapper(rows, ranks, signs, kind)
        for pair, (i, j) in enumerate(zip(first, second, strict=True)):
            for side, coefficients in enumerate(swapped(z[i, rows], z[j, rows])):
                has_value = np.isfinite(coefficients)
                totals[side, :, pair] += np.where(has_value, coefficients, 0.0).sum(axis=0)
                defined[side, :, pair] += has_value.sum(axis=0)
            done += 1
            if advance is not None and done % len(batches) == 0:
                advance(1)
    means = totals / np.where(defined == 0, np.nan, defined)
    return all_pairs(means, len(z), add_one=add_one)


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
    z, gold = systems_and_human(scores, human)
    metrics, systems, segments = z.shape
    keep = (_all_signs(systems * segments, resamples, seed) > 0).reshape(-1, systems, segments)
    first, second = np.triu_indices(metrics, 1)
    means = np.empty((2, resamples + 1, first.size))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        for draws in blocks(resamples + 1, systems * segments):
            for side, (ours, others) in enumerate(((z[i], z[j]), (z[j], z[i]))):
                joined = aggregate(np.where(keep[draws], ours, others))
                means[side, draws, pair] = correlate_rows(joined, gold, kind=kind)
        if advance is not None:
            advance(1)
    return all_pairs(means, metrics, add_one=add_one)


def _all_signs(rows: int, resamples: int, seed: int) -> NDArray[np.int8]:
    """Signs of all draws (draws x rows); the first swaps nothing, and so is the observed order."""
    signs = np.ones((resamples + 1, rows), dtype=np.int8)
    start = 0
    for block in swap_signs(rows, resamples, seed):
        signs[1:, start : start + len(block)] = block.T
        start += len(block)
    return signs


def _batches(gold: Vector, members: Sequence[NDArray[np.intp]], *, most: int) -> list[_Batch]:
    """Groups with a correlation, those of one size together, about `most` rows at once."""
    _, ranks = np.unique(gold, return_inverse=True)
    by_size: dict[int, list[NDArray[np.intp]]] = {}
    for rows in members:
        if rows.size > 1 and np.ptp(ranks[rows]):
            by_size.setdefault(rows.size, []).append(rows)
    batches = []
    for size, groups in by_size.items():
        parts = [np.stack(groups[part]) for part in blocks(len(groups), size, most)]
        batches += [(rows, ranks[rows].astype(np.float32)) for rows in parts]
    return batches


class _Swapper:
    """All draws of a batch: from two metrics' scores (groups x size each) to both swapped ones' coefficients."""

    def __init__(self, rows: NDArray[np.intp], gold: Floats, signs: NDArray[np.int8], kind: str) -> None:
        self._gold, self._kind = gold, kind
        self._long = rows.shape[1] > (MOST_KENDALL if kind == "kendall" else _MOST_SPEARMAN)
        own = np.ascontiguousarray(signs[:, rows].transpose(1, 0, 2))  # groups x draws x rows
        self._keep = own > 0 if self._long else np.empty(0, dtype=np.bool_)
        self._signs: Floats = np.empty(0, dtype=np.float32) if self._long else own.astype(np.float32)

    def __call__(self, first: Vector, second: Vector) -> Swapped:
        """groups x draws, for the metric that keeps and for the one that swaps; nan where there is no value."""
        both = np.stack([first, second])
        values, ranks = np.unique(both, return_inverse=True)
        # Ordered and tied as the scores are, and exact.
        a, b = ranks.reshape(both.shape).astype(np.float32)
        if self._long:
            way = _kendall_by_sorting if self._kind == "kendall" else _spearman_by_counts
            sides = [way(*lists) for lists in zip(a, b, self._gold, self._keep, strict=True)]
            return np.stack([keep for keep, _ in sides]), np.stack([swap for _, swap in sides])
        if self._kind == "spearman":
            return _spearman(a, b, self._gold, self._signs)
        return _kendall(a, b, self._gold, self._signs, tied=values.size < both.size)


def _kendall(a: Floats, b: Floats, gold: Floats, signs: Floats, *, tied: bool) -> Swapped:
    """tau-b of both swapped metrics by the quadratic form of the module's docstring."""
    groups, draws, n = signs.shape
    agreeing = _Form(groups, draws)
    equal = _Form(groups, draws)
    distinct_gold = np.zeros((groups, 1))
    for rows in blocks(n, groups * n):
        ours = np.sign(gold[:, rows, None] - gold[:, None, :])
        distinct_gold[:, 0] += np.count_nonzero(ours, axis=(1, 2))
        orders = _orders(a, b, rows)
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
    is_kept = signs > 0
    ranks_gold = np.sign(gold[:, :, None] - gold[:, None, :]).sum(axis=2, dtype=np.float64)[:, None, :]
    aa, bb, ab, ba = _orders(a, b, slice(0, n))
    # Of A_i and of B_i among what A' is made of; among what B' is made of it is the rest.
    of_a = keep @ (aa - ab).transpose(0, 2, 1) + ab.sum(axis=2)[:, None, :]
    of_b = keep @ (ba - bb).transpose(0, 2, 1) + bb.sum(axis=2)[:, None, :]
    all_a = (aa + ab).sum(axis=2)[:, None, :]
    all_b = (ba + bb).sum(axis=2)[:, None, :]
    first = np.where(is_kept, of_a, of_b).astype(np.float64)
    second = np.where(is_kept, all_b - of_b, all_a - of_a).astype(np.float64)
    return rho(first, ranks_gold), rho(second, ranks_gold)


def _spearman_by_counts(a: Floats, b: Floats, gold: Floats, keep: NDArray[np.bool_]) -> Swapped:
    """rho for a long list: among both metrics' scores in order, a rank is a count of what was chosen before."""
    from scipy.stats import rankdata

    n = gold.size
    merged = np.concatenate([a, b])
    order = np.argsort(merged, kind="stable")
    ordered = merged[order]
    before, upto = (np.searchsorted(ordered, merged, side=side) for side in ("left", "right"))
    ranks_gold = 2 * rankdata(gold) - (n + 1)  # twice the average ranks, centred
    sides: tuple[Vector, Vector] = (np.empty(len(keep)), np.empty(len(keep)))
    for draws in blocks(len(keep), 2 * n):
        kept = keep[draws]
        counts = np.zeros((len(kept), 2 * n + 1), dtype=np.int32)
        np.cumsum(np.concatenate([kept, ~kept], axis=1)[:, order], axis=1, out=counts[:, 1:])
        doubled = counts[:, before] + counts[:, upto] + 1
        rest = before + upto + 2 - doubled
        for side, (own, swapped) in enumerate(((doubled[:, :n], doubled[:, n:]), (rest[:, n:], rest[:, :n]))):
            ranks = np.where(kept, own, swapped) - float(n + 1)
            sides[side][draws] = rho(ranks, ranks_gold)
    return sides


def _kendall_by_sorting(a: Floats, b: Floats, gold: Floats, keep: NDArray[np.bool_]) -> Swapped:
    """tau-b for a list too long for all its pairs: each draw is sorted, in n log n."""
    sides: tuple[Vector, Vector] = (np.empty(len(keep)), np.empty(len(keep)))
    for draw, kept in enumerate(keep):
        for side, (own, other) in enumerate(((a, b), (b, a))):
            scores = np.where(kept, own, other)
            sides[side][draw] = correlate(scores, gold, kind="kendall", undefined="nan").value
    return sides


def _orders(a: Floats, b: Floats, rows: slice) -> list[Floats]:
    """Signs of the differences of some rows to all (groups x rows x n): aa, bb, ab and ba."""
    return [np.sign(x[:, rows, None] - y[:, None, :]) for x, y in ((a, a), (b, b), (a, b), (b, a))]


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
