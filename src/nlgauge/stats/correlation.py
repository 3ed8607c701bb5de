"""Correlation of a metric with human scores (Pearson, Spearman, Kendall's tau-b, WMT's tau), and separation of
classes.

An undefined coefficient (of a constant list, nan or inf) is an error by default; with `undefined="nan"` the value is
nan and the result contains the reason. Lists of unequal length, or too short to be correlated, are always errors.

`correlate_rows` correlates many lists with one, such as the draws of a resampling with the same human scores. Ranks
are counted, not sorted: over all j, sign(x_i - x_j) sums to 2 rank(x_i) - (n + 1), ties included. So Spearman and
Kendall are both computed from the signs of pairs, whose sums are exact whole numbers.

`bootstrap_correlations` draws rows with replacement, the same rows for every metric. Rows of one document (cluster)
are not independent: with `clusters` documents are drawn, and a row counts as often as its document. A resample is a
vector of counts c, so all resamples are computed at once. For Pearson, the sums behind r (c.a, c.a^2, c.ah, c.h,
c.h^2) of all metrics are one matrix product. For Kendall's tau-b and Spearman's rho, rows drawn twice are tied with
themselves. So of a list with tie groups g, each drawn t_g times, the ranks are cumulated counts (sorted once), and
the pairs that differ are n^2 - sum t_g^2; n is the sum of c, which differs between resamples of whole documents. The
sum behind tau is c'Mc with M = sign(a_i - a_j) sign(h_i - h_j): one product of all resamples with a matrix. All are
whole numbers until the last division.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.numeric import (
    BLOCK_CELLS,
    SAME,
    Vector,
    blocks,
    check_level,
    check_resampling,
    numbers,
    vector,
)
from nlgauge.stats.resampling import Units, bootstrap_counts, unit_numbers

Undefined: TypeAlias = Literal["raise", "nan"]
Ties: TypeAlias = Literal["discordant", "concordant", "half", "drop"]

#: A spread below this share of the largest value is rounding, not variation.
_ROUNDING = 1e-13

#: Signs of pairs held at once (32 MB).
_CELLS = 8_000_000

#: Longest list for which Kendall's tau uses all pairs; at this length, sorting every draw costs the same.
MOST_KENDALL = 16_384


class Correlation(NamedTuple):
    """A coefficient, the number of values, and the reason if it is undefined."""

    value: float
    n: int
    reason: str | None = None
    """Set where `value` is nan."""


class RelativeRanking(NamedTuple):
    """WMT's tau over pairs with a human preference, and its counts."""

    value: float
    concordant: int
    discordant: int
    tied: int
    """Pairs with equal metric scores, before the tie rule is applied."""
    ties: str
    reason: str | None = None


def correlate(
    metric: ArrayLike, human: ArrayLike, *, kind: str = "pearson", undefined: Undefined = "raise"
) -> Correlation:
    """The coefficient of that name.

        pearson     Pearson's r, linear association
        spearman    Spearman's rho: Pearson's r of the ranks, where ties share their average rank
        kendall     Kendall's tau-b: (C - D) / sqrt((C + D + T_metric) (C + D + T_human)) over all pairs

    >>> [round(correlate([1, 2, 3, 50], [1, 2, 4, 3], kind=kind).value, 4) for kind in KINDS]
    [0.2903, 0.8, 0.6667]
    """
    _check_kind(kind)
    scores, gold = _same_length(metric, human, ("metric", "human"), least=2)
    reason = why_undefined(scores, "metric", kind=kind) or why_undefined(gold, "human", kind=kind)
    if reason is not None:
        return Correlation(_refused(kind, reason, undefined), scores.size, reason)
    return Correlation(KINDS[kind](scores, gold), scores.size)


def relative_ranking(
    better: ArrayLike, worse: ArrayLike, *, ties: Ties = "discordant", undefined: Undefined = "raise"
) -> RelativeRanking:
    """WMT's Kendall-like tau (DArr): (concordant - discordant) / pairs.

    `better[i]` and `worse[i]` are the metric's scores of the two outputs of pair i, of which annotators preferred the
    first. WMT counts a metric tie as discordant; "half" splits it, "drop" removes the pair, and "concordant"
    reproduces scripts that flip the sign of a distance's result.

    >>> relative_ranking([3, 2, 1], [1, 2, 3]).value
    -0.3333333333333333
    >>> relative_ranking([3, 2, 1], [1, 2, 3], ties="half").value
    0.0
    """
    credit = {"discordant": -1, "concordant": 1, "half": 0, "drop": 0}
    if ties not in credit:
        msg = f"ties must be one of {', '.join(credit)}, got {ties!r}"
        raise RecipeError(msg)
    won, lost = _same_length(better, worse, ("better", "worse"), least=1)
    reason = _not_finite(won, "better") or _not_finite(lost, "worse")
    if reason is not None:
        return RelativeRanking(_refused("relative_ranking", reason, undefined), 0, 0, 0, ties, reason)
    concordant, tied = int((won > lost).sum()), int((won == lost).sum())
    discordant = won.size - concordant - tied
    pairs = won.size - (tied if ties == "drop" else 0)
    if pairs == 0:
        reason = f"all {tied} pairs are metric ties, and ties are dropped"
        value = _refused("relative_ranking", reason, undefined)
        return RelativeRanking(value, concordant, discordant, tied, ties, reason)
    value = (concordant - discordant + credit[ties] * tied) / pairs
    return RelativeRanking(value, concordant, discordant, tied, ties)


def _pearson_value(metric: Vector, human: Vector) -> float:
    return float(np.clip(_unit(metric) @ _unit(human), -1.0, 1.0))


def _spearman_value(metric: Vector, human: Vector) -> float:
    from scipy.stats import rankdata

    return _pearson_value(rankdata(metric), rankdata(human))


def _kendall_value(metric: Vector, human: Vector) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(metric, human).statistic)


#: The coefficients by name.
KINDS: Mapping[str, Callable[[Vector, Vector], float]] = MappingProxyType(
    {"pearson": _pearson_value, "spearman": _spearman_value, "kendall": _kendall_value}
)


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        msg = f"kind must be one of {', '.join(KINDS)}, got {kind!r}"
        raise RecipeError(msg)


def _same_length(first: ArrayLike, second: ArrayLike, names: tuple[str, str], *, least: int) -> tuple[Vector, Vector]:
    left, right = numbers(first, names[0]), numbers(second, names[1])
    if left.ndim != 1 or left.shape != right.shape:
        msg = f"{names[0]} and {names[1]} must be lists of equal length, got shapes {left.shape} and {right.shape}"
        raise InputError(msg)
    if left.size < least:
        msg = f"{names[0]} and {names[1]} need at least {least} values, got {left.size}"
        raise InputError(msg)
    return left, right


def _not_finite(values: Vector, what: str) -> str | None:
    bad = np.flatnonzero(~np.isfinite(values))
    return f"{what} has {float(values[bad[0]])!r} at index {bad[0]}" if bad.size else None


def why_undefined(values: Vector, what: str, *, kind: str = "pearson") -> str | None:
    """The reason why a list cannot be correlated (nan, inf, constant); None if it can."""
    reason = _not_finite(values, what)
    if reason is not None:
        return reason
    low, high = float(values.min()), float(values.max())
    if low == high:
        return f"{what} is constant ({low!r} in all {values.size} places)"
    if kind == "pearson" and high - low <= _ROUNDING * max(abs(low), abs(high)):
        return f"{what} is constant up to rounding (from {low!r} to {high!r})"
    return None


def _refused(name: str, reason: str, undefined: str) -> float:
    """Return nan if the caller requested it, else raise InputError."""
    if undefined == "nan":
        return float("nan")
    if undefined != "raise":
        msg = f"undefined must be 'raise' or 'nan', got {undefined!r}"
        raise RecipeError(msg)
    msg = f"{name} is undefined: {reason}; remove these values, or pass undefined='nan'"
    raise InputError(msg)


def _unit(values: Vector) -> Vector:
    """Centre values and scale them to length 1, in two steps so that squares neither overflow nor underflow."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    unit: Vector = centred / np.sqrt(centred @ centred)
    return unit


def correlate_rows(values: Vector, gold: Vector, *, kind: str) -> Vector:
    """The coefficient of each row of `values` (rows x n) with `gold` (n); nan where one of the two is constant.

    >>> correlate_rows(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 2.0]]), np.array([1.0, 2.0, 3.0]), kind="kendall")
    array([ 1.        , -0.81649658])
    """
    _check_kind(kind)
    if kind == "pearson":
        return _pearson_rows(values, gold)
    n = gold.size
    coefficients = np.empty(len(values))
    signs_of_gold = np.sign(gold[:, None] - gold).astype(np.float32)
    for rows in blocks(len(values), n**2, _CELLS):
        block = values[rows]
        signs = np.sign(block[:, :, None] - block[:, None, :]).astype(np.float32)
        if kind == "spearman":
            ranks = signs.sum(axis=2, dtype=np.float64)
            coefficients[rows] = rho(ranks, signs_of_gold.sum(axis=1, dtype=np.float64))
            continue
        agreeing = np.einsum("rij,ij->r", signs, signs_of_gold, dtype=np.float64)
        distinct = np.count_nonzero(signs, axis=(1, 2))
        coefficients[rows] = tau_b(agreeing, distinct, int(np.count_nonzero(signs_of_gold)))
    return coefficients


def tau_b(agreeing: Vector, distinct: Vector | int, distinct_gold: Vector | int) -> Vector:
    """Kendall's tau-b from sums over ordered pairs: of products of signs, of pairs that differ on either side."""
    # In scipy's order of operations, for the same bits.
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = agreeing / 2 / np.sqrt(np.asarray(distinct) / 2) / np.sqrt(np.asarray(distinct_gold) / 2)
    return np.clip(tau, -1.0, 1.0)


def rho(ranks: Vector, gold_ranks: Vector, counts: Vector | float = 1.0) -> Vector:
    """Spearman's rho from centred ranks, taken twice so that they are whole numbers; `counts` is how often each is
    there. The last axis is summed.
    """
    weighted = ranks * counts
    product = (weighted * gold_ranks).sum(axis=-1)
    spreads = (weighted * ranks).sum(axis=-1) * (gold_ranks * gold_ranks * counts).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        coefficients: Vector = np.clip(product / np.sqrt(spreads), -1.0, 1.0)
    return coefficients


def _pearson_rows(values: Vector, gold: Vector) -> Vector:
    centred = values - values.mean(axis=1, keepdims=True)
    against = gold - gold.mean()
    spread = np.square(centred).sum(axis=1) * (against @ against)
    constant = np.ptp(values, axis=1) <= _ROUNDING * np.abs(values).max(axis=1)
    constant |= bool(np.ptp(gold) <= _ROUNDING * np.abs(gold).max())
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(constant, np.nan, np.clip(centred @ against / np.sqrt(spread), -1.0, 1.0))


class CorrelationInterval(NamedTuple):
    """A correlation, or a difference of two, with its two-sided percentile interval."""

    value: float
    low: float
    high: float
    p_value: float
    """Share of resamples in which it is not above 0; one without a value is not."""
    undefined: int
    """Resamples in which it has no value; they are left out of the interval."""


class CorrelationDraws(NamedTuple):
    """Correlations of several metrics with human scores, observed and in every resample."""

    observed: Vector
    draws: Vector
    """resamples x metrics; nan if the coefficient is undefined in a resample."""

    def interval(self, metric: int = 0, *, level: float = 0.95) -> CorrelationInterval:
        """One metric's correlation."""
        return _interval(self.observed[metric], self.draws[:, metric], level)

    def difference(self, first: int, second: int, *, level: float = 0.95) -> CorrelationInterval:
        """How much higher the first metric correlates than the second."""
        draws = self.draws[:, first] - self.draws[:, second]
        return _interval(self.observed[first] - self.observed[second], draws, level)


def bootstrap_correlations(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    clusters: Units | None = None,
    resamples: int = 1000,
    seed: int = 12345,
    advance: Callable[[int], None] | None = None,
) -> CorrelationDraws:
    """Correlations of the metrics in `scores` (metrics x rows) with `human` over resampled rows.

    With `clusters`, the document of each row, whole documents are drawn. `advance` is called with the number of
    completed resamples.
    """
    check_resampling(resamples, seed)
    gold = vector(human, "human", least=2)
    table = numbers(scores, "scores")
    if table.ndim != 2 or not len(table) or table.shape[1] != gold.size:
        msg = f"scores must be metrics x {gold.size} rows (as many as human scores), got shape {table.shape}"
        raise InputError(msg)
    units = np.arange(gold.size) if clusters is None else unit_numbers(clusters, gold.size)
    count = int(units.max()) + 1
    if count < 2:
        msg = f"a bootstrap needs at least 2 documents, got {count} for all {gold.size} rows"
        raise InputError(msg)
    observed = np.array([correlate(row, gold, kind=kind).value for row in table])
    draws = np.empty((resamples, len(table)))
    resample = _PearsonResampler(table, gold) if kind == "pearson" else _RankResampler(table, gold, kind)
    done = 0
    for counts in bootstrap_counts(count, resamples, seed, block=max(1, BLOCK_CELLS // gold.size)):
        draws[done : done + len(counts)] = resample(counts if clusters is None else counts.take(units, axis=1))
        done += len(counts)
        if advance is not None:
            advance(len(counts))
    return CorrelationDraws(observed, draws)


def _interval(value: float, draws: Vector, level: float) -> CorrelationInterval:
    check_level(level)
    defined = draws[np.isfinite(draws)]
    if not defined.size:
        msg = f"the correlation is undefined in all {draws.size} resamples: too few different scores"
        raise InputError(msg)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    p_value = float(1 - (draws > 0).mean())
    return CorrelationInterval(float(value), float(low), float(high), p_value, draws.size - defined.size)


class _PearsonResampler:
    """Pearson's r of the metrics of a table (metrics x rows) with human scores on resampled rows."""

    def __init__(self, table: Vector, gold: Vector) -> None:
        # h, h^2, then a, a^2, ah of every metric; centred first, because r does not mind and rounding does.
        h = (gold - gold.mean()) / gold.std()
        z = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
        self._columns = np.concatenate([[h, h**2], z, z**2, z * h]).T
        self._metrics = len(table)

    def __call__(self, counts: NDArray[np.int64]) -> Vector:
        sums = counts.astype(np.float64) @ self._columns
        n, metrics = counts.sum(axis=1, keepdims=True), self._metrics
        h, hh = sums[:, :1], sums[:, 1:2]
        a, aa, ah = (sums[:, 2 + part * metrics : 2 + (part + 1) * metrics] for part in range(3))
        human_spread, spread = hh - h**2 / n, aa - a**2 / n
        human_spread[human_spread <= SAME * hh] = np.nan
        spread[spread <= SAME * aa] = np.nan
        r: Vector = (ah - a * h / n) / np.sqrt(human_spread * spread)
        return r


class _RankResampler:
    """Kendall's tau-b or Spearman's rho, as `_PearsonResampler`."""

    def __init__(self, table: Vector, gold: Vector, kind: str) -> None:
        self._table, self._gold, self._kind = table, gold, kind
        self._lists = [_TieGroups(row) for row in table]
        self._gold_groups = _TieGroups(gold)

    def __call__(self, counts: NDArray[np.int64]) -> Vector:
        """Correlations (resamples x metrics) from how often each row was drawn (resamples x rows); nan for none."""
        if self._kind == "kendall" and self._gold.size > MOST_KENDALL:
            drawn = (np.repeat(np.arange(self._gold.size), often) for often in counts)
            return np.array([[self._sorted(metric, rows) for metric in self._table] for rows in drawn])
        correlations = np.empty((len(counts), len(self._table)))
        spearman = self._kind == "spearman"
        gold = self._gold_groups.ranks(counts) if spearman else self._gold_groups.distinct(counts)
        for index, groups in enumerate(self._lists):
            if spearman:
                correlations[:, index] = rho(groups.ranks(counts), gold, counts.astype(np.float64))
            else:
                agreeing = self._agreeing(self._table[index], counts.astype(np.float32))
                correlations[:, index] = tau_b(agreeing, groups.distinct(counts), gold)
        return correlations

    def _agreeing(self, metric: Vector, counts: NDArray[np.float32]) -> Vector:
        gold = self._gold
        total = np.zeros(len(counts))
        for part in blocks(gold.size, gold.size):
            orders = [np.sign(x[part, None] - x).astype(np.float32) for x in (metric, gold)]
            product = counts @ (orders[0] * orders[1]).T
            total += np.einsum("rb,rb->r", product, counts[:, part], dtype=np.float64)
        return total

    def _sorted(self, metric: Vector, rows: NDArray[np.intp]) -> float:
        return correlate(metric[rows], self._gold[rows], kind="kendall", undefined="nan").value


class _TieGroups:
    """A list sorted once, with the places where its value changes."""

    def __init__(self, values: Vector) -> None:
        distinct, self._group = np.unique(values, return_inverse=True)
        self._order = np.argsort(self._group, kind="stable")
        self._starts = np.searchsorted(self._group[self._order], np.arange(distinct.size))

    def _drawn(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each distinct value was drawn."""
        drawn: NDArray[np.int64] = np.add.reduceat(counts[:, self._order], self._starts, axis=1)
        return drawn

    def ranks(self, counts: NDArray[np.int64]) -> Vector:
        """Twice the average rank of each row, centred, among what was drawn."""
        drawn = self._drawn(counts)
        upto = drawn.cumsum(axis=1)
        doubled = 2 * upto - drawn - upto[:, -1:]
        ranks: Vector = doubled[:, self._group].astype(np.float64)
        return ranks

    def distinct(self, counts: NDArray[np.int64]) -> Vector:
        """Ordered pairs of drawn rows whose values differ."""
        drawn = self._drawn(counts)
        n = drawn.sum(axis=1)
        pairs: Vector = (n * n - np.einsum("rg,rg->r", drawn, drawn)).astype(np.float64)
        return pairs


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, a tie counting half.

    Labels are 0 or 1 (or booleans). By ranks: (sum of the positives' ranks - p (p + 1) / 2) / (p n).

    >>> roc_auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    """
    from scipy.stats import rankdata

    data, truth, positives, negatives = _check_labels(scores, labels, "an AUC")
    ranks = rankdata(data)[truth == 1].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))


def average_precision(scores: ArrayLike, labels: ArrayLike) -> float:
    """Mean of the precision at each threshold, weighted by the gain in recall; equal scores share a threshold.

        AP = sum_n (R_n - R_n-1) P_n

    >>> round(average_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 4)
    0.8333
    """
    data, truth, positives, _ = _check_labels(scores, labels, "an average precision")
    order = np.argsort(-data, kind="stable")
    ranked, hits = data[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.diff(ranked, append=np.nan) != 0)  # of each run of equal scores
    precision, recall = hits[last] / (last + 1), hits[last] / positives
    return float((np.diff(recall, prepend=0.0) * precision).sum())


def recall_at_positives(scores: ArrayLike, labels: ArrayLike) -> float:
    """Share of the positives among the K highest scores, K the number of positives; of equal scores the later wins.

    >>> recall_at_positives([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.5
    """
    data, truth, positives, _ = _check_labels(scores, labels, "a recall")
    chosen = np.argsort(data, kind="stable")[::-1][:positives]
    return float(truth[chosen].sum() / positives)


def _check_labels(
    scores: ArrayLike, labels: ArrayLike, what: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, int]:
    """Scores, labels, and how many labels there are of each kind."""
    data, truth = vector(scores, "scores"), vector(labels, "labels")
    if data.size != truth.size:
        msg = f"scores and labels must be of equal length, got {data.size} and {truth.size}"
        raise InputError(msg)
    other = truth[(truth != 0) & (truth != 1)]
    if other.size:
        msg = f"labels must be 0 or 1, got {float(other[0])!r}"
        raise InputError(msg)
    positives = int(truth.sum())
    negatives = truth.size - positives
    if positives == 0 or negatives == 0:
        msg = f"{what} needs labels of both kinds, got {positives} of 1 and {negatives} of 0"
        raise InputError(msg)
    return data, truth, positives, negatives
