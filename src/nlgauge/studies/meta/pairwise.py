"""Agreement on pairs of outputs or systems: acc_eq, soft pairwise accuracy, differences, relative rankings.

**acc_eq with tie calibration** (Deutsch, Foster & Freitag 2023, arXiv 2305.14324). Within each item (segment), a pair
of outputs is right if metric and human judgements prefer the same output or both have a tie; a metric has a tie if
its scores differ by at most epsilon. The value is the mean over items of the share of right pairs, at the epsilon
that maximises it. As epsilon grows, a pair changes only once: at its own difference it becomes a tie. So the pairs
are sorted by difference once, and the whole curve is one cumulative sum. A random metric is right on (1 - t)/2 of the
pairs if it never ties and on t of them if it always does, where t is the share of human ties; its chance level with
calibration is the larger of the two.

**Soft pairwise accuracy** (SPA, Thompson et al. 2024): does a metric separate systems with the same confidence as
human judgements? For every pair of systems a paired permutation test gives the p-value of "the first is better", once
from human and once from metric scores of the same segments:

    SPA = 1 - mean over pairs |p_human - p_metric|

Swapping the two scores of a segment flips the sign of its difference. A draw is therefore a vector of signs s, the
statistic is s.(a - b) = s.a - s.b, and one product of the signs with all score columns serves every pair. The signs
are those that mt-metrics-eval draws from the same seed. With documents, all segments of a document have the same
sign: the columns are summed over documents first.

**Pairwise-difference Pearson**: r over all ordered pairs (i, j) of outputs within a segment of
(metric_i - metric_j, human_i - human_j). Both orders are included, so the differences have mean 0 and the value does
not depend on the order of systems. As

    sum over i, j of (m_i - m_j)(h_i - h_j) = 2 k sum over i of (m_i - mean m)(h_i - mean h)

for the k outputs of a segment, the pairs need not be formed.

**Relative rankings** (WMT's DArr, WMT18 and WMT19): WMT's tau of a metric on pairs of outputs with a clear human
preference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.data.judgements import JudgementTable, RankedPairs
from nlgauge.errors import InputError
from nlgauge.stats.correlation import RelativeRanking, Ties, Undefined, relative_ranking
from nlgauge.stats.numeric import SAME, Vector, blocks, check_resampling, numbers
from nlgauge.stats.resampling import Units, sum_by_unit, unit_numbers
from nlgauge.studies.meta.levels import Mask, Matrix, check_scores, human_scores, judged_scores


class TieAccuracy(NamedTuple):
    """acc_eq of one metric."""

    metric: str
    value: float
    epsilon: float
    """Metric differences up to this count as ties."""
    calibrated: bool
    """Whether epsilon was calibrated on these data."""
    chance: float
    """Value of a random metric, calibrated in the same way."""
    without_ties: float
    """The value at epsilon 0."""
    human_ties: float
    """Share of pairs that are ties in the human judgements, averaged over items."""
    metric_ties: float
    """Share of pairs that are ties of the metric at epsilon, averaged over items."""
    items: int
    skipped: int
    """Items with fewer than two judged outputs."""
    pairs: int


class OutcomePairs(NamedTuple):
    """All pairs within items: metric difference, whether right if not tied, whether a human tie, weight."""

    difference: Vector
    agrees: NDArray[np.bool_]
    human_tie: NDArray[np.bool_]
    weight: Vector
    items: int
    skipped: int
    item: NDArray[np.intp]
    """Number of the item of each pair."""

    def right(self, epsilon: float) -> NDArray[np.bool_]:
        """Mask of pairs that are right if differences up to epsilon are ties."""
        return np.where(self.difference <= epsilon, self.human_tie, self.agrees)

    def share(self, mask: NDArray[np.bool_]) -> float:
        """Mean over items of the share of pairs in the mask; summed exactly, so the share of all pairs is 1."""
        return min(1.0, math.fsum(self.weight[mask]))


def tie_calibrated_accuracy(
    scores: ArrayLike, human: ArrayLike, *, epsilon: float | None = None, name: str = "metric"
) -> TieAccuracy:
    """acc_eq, grouped by item, with the epsilon that is best on these data, or with a given one.

    An `epsilon` from other data makes the comparison fair to metrics with few distinct values: the best epsilon of a
    metric is not known in advance.
    """
    pairs = outcome_pairs(scores, human, name)
    human_ties = pairs.share(pairs.human_tie)
    if epsilon is None:
        epsilons, accuracies = calibration_curve(pairs)
        chosen = float(epsilons[np.flatnonzero(accuracies >= accuracies.max() - SAME)[0]])
    elif np.isfinite(epsilon) and epsilon >= 0:
        chosen = float(epsilon)
    else:
        msg = f"epsilon must be a finite number of 0 or more, got {epsilon!r}"
        raise InputError(msg)
    metric_ties = pairs.share(pairs.difference <= chosen)
    if epsilon is None:
        chance = max(human_ties, (1 - human_ties) / 2)
    else:  # as many ties as this metric has, independent of the human ones
        chance = metric_ties * human_ties + (1 - metric_ties) * (1 - human_ties) / 2
    return TieAccuracy(
        name,
        pairs.share(pairs.right(chosen)),
        chosen,
        epsilon is None,
        chance,
        pairs.share(pairs.right(0.0)),
        human_ties,
        metric_ties,
        pairs.items,
        pairs.skipped,
        pairs.difference.size,
    )


def calibration_curve(pairs: OutcomePairs) -> tuple[Vector, Vector]:
    """Every epsilon at which acc_eq changes, starting with 0, and the acc_eq at each."""
    order = np.argsort(pairs.difference, kind="stable")
    difference = pairs.difference[order]
    # Every pair starts untied; beyond its difference it is right exactly if it is a human tie.
    gain = (pairs.weight * (pairs.human_tie.astype(np.float64) - pairs.agrees))[order]
    start = float(pairs.weight @ pairs.agrees)
    last = np.flatnonzero(np.append(difference[1:] != difference[:-1], True))
    epsilons, accuracies = difference[last], start + np.cumsum(gain)[last]
    if epsilons[0] > 0:
        epsilons, accuracies = np.insert(epsilons, 0, 0.0), np.insert(accuracies, 0, start)
    return epsilons, accuracies


def outcome_pairs(scores: ArrayLike, human: ArrayLike, name: str = "metric") -> OutcomePairs:
    """All pairs of judged outputs within an item, in the same order for every metric."""
    matrix, gold, judged = judged_scores(scores, human, name)
    per_item = judged.sum(axis=0)
    usable = per_item >= 2
    items = int(usable.sum())
    if not items:
        msg = "no segment has two judged outputs, so there are no pairs to compare"
        raise InputError(msg)
    weights = np.zeros(gold.shape[1])
    weights[usable] = 2 / (per_item * (per_item - 1))[usable] / items
    first, second = np.triu_indices(len(gold), 1)
    mask = judged[first] & judged[second]
    ours = (matrix[first] - matrix[second])[mask]
    theirs = np.sign((gold[first] - gold[second])[mask])
    weight = np.broadcast_to(weights, mask.shape)[mask]
    agrees = (np.sign(ours) == theirs) & (theirs != 0)
    skipped = gold.shape[1] - items
    return OutcomePairs(np.abs(ours), agrees, theirs == 0, weight, items, skipped, np.nonzero(mask)[1])


class SoftAccuracy(NamedTuple):
    """SPA of one metric, with numbers of pairs and segments."""

    metric: str
    value: float
    pairs: int
    segments: int
    """Segments judged for every system; the others are left out."""
    unjudged: int
    """Segments left out because a system was not judged there."""
    reason: str | None = None


def pairwise_p_values(
    tables: ArrayLike, *, clusters: Units | None = None, resamples: int = 1000, seed: int = 4
) -> Matrix:
    """One-sided p-values p[t, i, j] (i < j, else nan) of "system i is better than j" for each table.

    `tables` is tables x systems x segments; all tables share the draws. A p-value is the share of sign flips whose
    summed difference is at least the observed one. `clusters` is the document of each segment.
    """
    check_resampling(resamples, seed)
    cube = numbers(tables, "tables")
    if cube.ndim != 3 or cube.shape[1] < 2 or cube.size == 0:
        msg = f"tables must be tables x 2 or more systems x segments, got shape {cube.shape}"
        raise InputError(msg)
    if not np.isfinite(cube).all():
        msg = f"scores in tables must be finite, but that at {np.argwhere(~np.isfinite(cube))[0].tolist()} is not"
        raise InputError(msg)
    count, systems, segments = cube.shape
    columns = sum_by_unit(cube.reshape(count * systems, segments).T, clusters)
    units = len(columns)
    observed = columns.sum(axis=0).reshape(count, systems)
    size = np.abs(columns).sum(axis=0).reshape(count, systems)
    first, second = np.triu_indices(systems, 1)
    least = observed[:, first] - observed[:, second] - SAME * (size[:, first] + size[:, second])
    reached = np.zeros((count, first.size), dtype=np.int64)
    rng = np.random.default_rng(seed)
    for block in blocks(resamples, units):
        random = rng.random(size=(block.stop - block.start, units), dtype=np.float32)
        signs = 2.0 * np.rint(random).astype(np.float64) - 1.0
        sums = (signs @ columns).reshape(len(signs), count, systems)
        for table in range(count):  # one table at a time, to save memory
            flipped = sums[:, table, first] - sums[:, table, second]
            reached[table] += (flipped >= least[table]).sum(axis=0)
    p_values = np.full((count, systems, systems), np.nan)
    p_values[:, first, second] = reached / resamples
    return p_values


def soft_pairwise_accuracies(
    scores: Mapping[str, ArrayLike],
    human: ArrayLike,
    *,
    documents: Units | None = None,
    resamples: int = 1000,
    seed: int = 4,
    undefined: Undefined = "raise",
) -> list[SoftAccuracy]:
    """SPA of several metrics on shared draws; `documents` is the document of each segment, swapped as a whole.

    If a metric gives all systems the same scores, its SPA would depend only on the order of systems: that is an
    error, or nan with its reason.
    """
    gold = human_scores(human)
    segments = np.flatnonzero(~np.isnan(gold).any(axis=0))
    if not segments.size:
        msg = "no segment was judged for every system; remove systems without human scores"
        raise InputError(msg)
    unjudged = gold.shape[1] - segments.size
    needed = np.zeros(gold.shape, dtype=bool)
    needed[:, segments] = True
    tables = [gold[:, segments]] + [
        check_scores(values, needed, name)[:, segments] for name, values in scores.items()
    ]
    clusters = None if documents is None else unit_numbers(documents, gold.shape[1])[segments]
    p_values = pairwise_p_values(np.stack(tables), clusters=clusters, resamples=resamples, seed=seed)
    upper = np.triu_indices(len(gold), 1)
    results = []
    for name, values, p in zip(scores, tables[1:], p_values[1:], strict=True):
        reason = None
        value = 1 - float(np.abs(p - p_values[0])[upper].mean())
        if (values == values[0]).all():
            reason = "all systems get the same scores"
            if undefined != "nan":
                msg = f"{name!r} has no soft pairwise accuracy: {reason}; remove it, or pass undefined='nan'"
                raise InputError(msg)
            value = float("nan")
        results.append(SoftAccuracy(name, value, upper[0].size, segments.size, unjudged, reason))
    return results


class DifferenceCorrelation(NamedTuple):
    """Pearson of within-segment differences, with the number of (unordered) pairs."""

    value: float
    pairs: int
    items: int
    reason: str | None = None


def pairwise_difference_pearson(
    scores: ArrayLike, human: ArrayLike, *, undefined: Undefined = "raise", name: str = "metric"
) -> DifferenceCorrelation:
    """Pearson's r of the differences between outputs of the same segment."""
    matrix, gold, judged = judged_scores(scores, human, name)
    outputs = judged.sum(axis=0)
    pairs, items = int((outputs * (outputs - 1) // 2).sum()), int((outputs >= 2).sum())
    if not pairs:
        msg = "no segment has two judged outputs, so there are no differences to compare"
        raise InputError(msg)
    ours, theirs = _centre(matrix, judged), _centre(gold, judged)
    both, metric_spread, human_spread = (
        float((outputs * (a * b).sum(axis=0)).sum()) for a, b in ((ours, theirs), (ours, ours), (theirs, theirs))
    )
    for side, spread in ((repr(name), metric_spread), ("human", human_spread)):
        if spread == 0:
            reason = f"{side} scores do not differ within any segment"
            if undefined == "nan":
                return DifferenceCorrelation(float("nan"), pairs, items, reason)
            msg = f"pairwise-difference Pearson is undefined: {reason}; pass undefined='nan' to get nan"
            raise InputError(msg)
    return DifferenceCorrelation(float(np.clip(both / np.sqrt(metric_spread * human_spread), -1, 1)), pairs, items)


def _centre(table: Matrix, judged: Mask) -> Matrix:
    """Subtract the mean of each segment; exactly 0 for constant segments and outputs that were not judged."""
    lowest = np.where(judged, table, np.inf).min(axis=0)
    above = np.where(judged, table - np.where(np.isfinite(lowest), lowest, 0), 0.0)
    mean = above.sum(axis=0) / np.maximum(judged.sum(axis=0), 1)
    return np.where(judged, above - mean, 0.0)


#: Scale of raw direct assessments, and the smallest difference that WMT counts as a preference.
_SCALE = (0.0, 100.0)
MARGIN = 25.0


def preference_tau(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    margin: float = MARGIN,
    ties: Ties = "discordant",
    undefined: Undefined = "raise",
    name: str = "metric",
) -> RelativeRanking:
    """WMT's Kendall-like tau on pairs of outputs of a segment with a clear human preference.

    The preference is clear if human scores differ by at least `margin` (WMT: 25 points of DA).
    """
    if not margin > 0:
        msg = f"margin must be above 0, got {margin!r}"
        raise InputError(msg)
    gold = human_scores(human)
    with np.errstate(invalid="ignore"):
        better, worse, segment = np.nonzero(gold[:, None] - gold >= margin)  # nan compares false
    if not better.size:
        msg = f"no two outputs of a segment differ by {margin:g} or more in their human scores"
        raise InputError(msg)
    needed = np.zeros(gold.shape, dtype=bool)
    needed[better, segment] = needed[worse, segment] = True
    matrix = check_scores(scores, needed, name)
    return relative_ranking(matrix[better, segment], matrix[worse, segment], ties=ties, undefined=undefined)


def ranked_rows(table: JudgementTable, pairs: RankedPairs) -> JudgementTable:
    """Keep the outputs that are part of a pair; idf is counted on these."""
    paired = {
        key
        for systems in (pairs.better, pairs.worse)
        for key in zip(pairs.langpair, systems, pairs.segment, strict=True)
    }
    outputs = zip(table.langpair, table.system, table.segment, strict=True)
    return table.take([row for row, key in enumerate(outputs) if key in paired])


def pair_rows(table: JudgementTable, pairs: RankedPairs, langpair: str) -> NDArray[np.intp]:
    """Rows of the better and the worse output of each ranked pair of a language pair: 2 x pairs.

    A pair with an output that the table lacks is an error.
    """
    keys = zip(table.langpair, table.system, table.segment, strict=True)
    row_of = {key: row for row, key in enumerate(keys)}
    chosen = [number for number, pair in enumerate(pairs.langpair) if pair == langpair]
    rows = []
    for systems in (pairs.better, pairs.worse):
        names = [(langpair, systems[number], pairs.segment[number]) for number in chosen]
        for _, system, segment in (name for name in names if name not in row_of):
            msg = f"{table.name}, {langpair}: no output of system {system!r} for the ranked segment {segment!r}"
            raise InputError(msg)
        rows.append([row_of[name] for name in names])
    return np.array(rows, dtype=np.intp).reshape(2, len(chosen))


def derive_pairs(table: JudgementTable, criterion: str | None = None, *, margin: float = MARGIN) -> RankedPairs:
    """Ranked pairs from raw direct assessments by the rule of WMT17 to WMT19.

    Two outputs of a segment are a pair if their scores, from 0 to 100, differ by at least `margin` points.
    Standardised scores are refused: a point means something else there.
    """
    if not margin > 0:
        msg = f"margin must be above 0, got {margin!r}"
        raise InputError(msg)
    name = criterion or table.default_criterion
    fix = "use data with RR-seglevel.csv, or with raw direct assessments of several outputs of a segment"
    if name is None:
        msg = f"{table.name} has human scores of systems only, so no pairs can be derived for 'darr'; {fix}"
        raise InputError(msg)
    gold = table.gold(name)
    judged = gold[~np.isnan(gold)]
    low, high = (float(judged.min()), float(judged.max())) if judged.size else (0.0, 0.0)
    if low < _SCALE[0] or high > _SCALE[1] or high - low < margin:
        msg = (
            f"{table.name}: {name!r} goes from {low:g} to {high:g}, so it is not a raw direct assessment (0 to 100) "
            f"from which pairs for 'darr' can be derived; {fix}"
        )
        raise InputError(msg)
    groups: dict[tuple[str, str], list[int]] = {}
    for row in np.flatnonzero(~np.isnan(gold)).tolist():
        groups.setdefault((table.langpair[row], table.segment[row]), []).append(row)
    chosen = [
        (better, worse)
        for rows in groups.values()
        for better in rows
        for worse in rows
        if gold[better] - gold[worse] >= margin and table.system[better] != table.system[worse]
    ]
    if not chosen:
        msg = f"{table.name}: no two outputs of a segment differ by {margin:g} points or more in {name!r}; {fix}"
        raise InputError(msg)
    first, second = zip(*chosen, strict=True)
    return RankedPairs(
        table.name,
        tuple(table.langpair[row] for row in first),
        tuple(table.segment[row] for row in first),
        tuple(table.system[row] for row in first),
        tuple(table.system[row] for row in second),
    )
