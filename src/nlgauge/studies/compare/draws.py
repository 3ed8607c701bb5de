"""Resamples of the instances, and the intervals of scores, differences and strengths that they give.

Scores are oriented here: higher is better. All metrics share the draws. What is drawn are units: instances, or whole
documents where the tables name them, because instances of one document are not independent.

Percentiles of resamples cover less than they say where there are few units: .87 instead of .95 at n = 12. So below 30
units an interval is Student's t, for a corpus score with the standard error of the jackknife, and percentiles go as
much further out as t does (`expanded_tail`). Below four units there is no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.numeric import BLOCK_CELLS, SAME, orient
from nlgauge.stats.paired_tests import centred_p, t_statistics
from nlgauge.stats.resampling import (
    FEW,
    Interval,
    bootstrap_counts,
    bootstrap_sums,
    expanded_p,
    expanded_tail,
    sum_by_unit,
    swap_sums,
)
from nlgauge.studies.compare.rankings import outcomes, pair_columns, pair_indices
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.compare.strengths import newman
from nlgauge.studies.compare.system_scores import Matrix, SystemScores

#: float32 holds whole and half numbers of this size exactly.
_Counts: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sample:
    """A table of scores, summed over the units that are drawn."""

    table: SystemScores
    sums: Matrix
    """Units x columns: what has to be added up for the score of every system."""
    sizes: Matrix
    """Instances in each unit."""

    @classmethod
    def of(cls, table: SystemScores) -> Sample:
        """The sums behind the scores of a table's systems."""
        columns = table.oriented if table.counts is None else table.counts
        sizes = sum_by_unit(np.ones(table.n), table.documents)
        return cls(table, sum_by_unit(columns.reshape(table.n, -1), table.documents), sizes)

    @property
    def units(self) -> int:
        """How many instances or documents."""
        return len(self.sizes)

    @property
    def observed(self) -> Matrix:
        """The systems' scores."""
        return self.scores(self.sums.sum(axis=0)[None], float(self.sizes.sum())).reshape(-1)

    def left_out(self) -> Matrix:
        """The systems' scores with one unit left out at a time: units x systems."""
        return self.scores(self.sums.sum(axis=0) - self.sums, self.sizes.sum() - self.sizes)

    def scores(self, sums: Matrix, sizes: Matrix | float) -> Matrix:
        """Scores of the systems (draws x systems) from sums (draws x columns) over that many instances."""
        if self.table.counts is None:
            return np.asarray(sums / np.reshape(sizes, (-1, 1)), dtype=np.float64)
        scores = self.table.corpus_score(sums.reshape(len(sums), self.table.k, -1))
        return orient(scores, higher_is_better=self.table.higher_is_better)


def bootstrap_scores(samples: Sequence[Sample], *, resamples: int, seed: int) -> list[Matrix]:
    """Scores of every sample's systems in resamples of their units: resamples x systems each.

    Samples with the same units (metrics on the same documents) see the same draws, in one product.
    """
    scores: list[list[Matrix]] = [[] for _ in samples]
    groups: dict[tuple[float, ...], list[int]] = {}
    for at, sample in enumerate(samples):
        groups.setdefault(tuple(sample.sizes), []).append(at)
    for group in groups.values():
        columns = np.hstack([samples[group[0]].sizes[:, None], *(samples[at].sums for at in group)])
        edges = np.cumsum([1, *(samples[at].sums.shape[1] for at in group)])
        for block in bootstrap_sums(columns, resamples=resamples, seed=seed):
            for at, low, high in zip(group, edges[:-1], edges[1:], strict=True):
                scores[at].append(samples[at].scores(block[:, low:high], block[:, 0]))
    return [np.concatenate(blocks) for blocks in scores]


def bootstrap_p(draws: Matrix, observed: Matrix, *, units: int) -> Matrix:
    """Paired bootstrap: two-sided p for all pairs of systems from their scores in resamples of that many units."""
    rows, columns = pair_indices(observed.size)
    step = max(1, BLOCK_CELLS // len(draws))
    p_values = [
        centred_p(draws[:, i] - draws[:, j], observed[i] - observed[j])
        for start in range(0, rows.size, step)
        for i, j in [(rows[start : start + step], columns[start : start + step])]
    ]
    return expanded_p(np.concatenate(p_values), units) if p_values else np.empty(0)


def randomisation_p(sample: Sample, *, resamples: int, seed: int) -> Matrix:
    """Approximate randomisation: two-sided p for all pairs of systems, whose outputs are swapped unit by unit.

    With signs s (+1 keep, -1 swap) the totals of the first system become (T_a + T_b)/2 + (s.a - s.b)/2, those of the
    second the same with -; so one product of the signs with every system's columns serves all pairs.
    """
    observed = sample.observed
    rows, columns = pair_indices(observed.size)
    reached = np.zeros(rows.size, dtype=np.int64)
    limit = np.abs(observed[rows] - observed[columns]) * (1 - SAME)
    for block in swap_sums(sample.sums, resamples=resamples, seed=seed):
        for at, (i, j) in enumerate(zip(rows, columns, strict=True)):
            reached[at] += int((np.abs(_swapped(sample, block, int(i), int(j))) >= limit[at]).sum())
    return (reached + 1) / (resamples + 1)


def _swapped(sample: Sample, signed: Matrix, i: int, j: int) -> Matrix:
    """Differences of two systems' scores with outputs swapped by signs."""
    table = sample.table
    if table.counts is None:
        return np.asarray((signed[:, i] - signed[:, j]) / sample.sizes.sum(), dtype=np.float64)
    counts = signed.reshape(len(signed), table.k, -1)
    totals = sample.sums.sum(axis=0).reshape(table.k, -1)
    middle, half = (totals[i] + totals[j]) / 2, (counts[:, i] - counts[:, j]) / 2
    return table.corpus_score(middle + half) - table.corpus_score(middle - half)


def strength_draws(table: SystemScores, settings: CompareSettings) -> Matrix:
    """Bradley-Terry strengths in resamples of the units: resamples x systems."""
    sizes = sum_by_unit(np.ones(table.n), table.documents)
    blocks = bootstrap_counts(sizes.size, settings.resamples, settings.seed)
    counts = np.concatenate([block.astype(np.uint16) for block in blocks])
    rows, columns = pair_indices(table.k)
    strengths = []
    # Outcomes of many pairs take longer to find than draws to hold; so few blocks of draws, each of all pairs.
    draws, matrices = max(1, 8 * BLOCK_CELLS // table.k**2), max(1, BLOCK_CELLS // table.k**2)
    for start in range(0, len(counts), draws):
        wins, losses = _resampled_wins(table, counts[start : start + draws], sizes, settings)
        for at in range(0, len(wins), matrices):
            games = np.zeros((len(wins[at : at + matrices]), table.k, table.k))
            games[:, rows, columns] = wins[at : at + matrices]
            games[:, columns, rows] = losses[at : at + matrices]
            strengths.append(newman(games)[0])
    return np.concatenate(strengths)


def _resampled_wins(
    table: SystemScores, counts: NDArray[np.uint16], sizes: Matrix, settings: CompareSettings
) -> tuple[_Counts, _Counts]:
    """Wins of the first and of the second system of every pair in resamples (draws x units): draws x pairs each."""
    rows, columns = pair_indices(table.k)
    shape = (len(counts), rows.size)
    wins, losses = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    tie = 0.5 if settings.ties == "half" else 0.0
    step = max(1, BLOCK_CELLS // table.n)
    for start in range(0, rows.size, step):
        here = slice(start, start + step)
        first, second = (pair_columns(table.oriented, at[here]) for at in (rows, columns))
        results = outcomes(first, second, tolerance=settings.tie_tolerance)
        wins[:, here] = _products(counts, (results == 1) + np.float32(tie) * (results == 0), table)
        if settings.ties == "drop":
            losses[:, here] = _products(counts, results == -1, table)
    if settings.ties != "drop":
        losses[:] = (counts @ sizes)[:, None] - wins
    return wins, losses


def _products(counts: NDArray[np.uint16], won: NDArray[Any], table: SystemScores) -> _Counts:
    """Sums of wins over resamples."""
    columns = sum_by_unit(won, table.documents).astype(np.float32)
    step = max(1, BLOCK_CELLS // counts.shape[1])
    blocks = (counts[at : at + step].astype(np.float32) @ columns for at in range(0, len(counts), step))
    return np.concatenate(list(blocks))


#: Fewer instances (or documents) have no interval.
LEAST_UNITS = 4

#: Said of strengths from fewer than 30 units. For equal systems "95 %" hold .94 from ten on; for three systems a
#: standard deviation apart each .81 at six units, .89 at ten, .92 at twenty, .94 at forty (500 samples each), and the
#: weakest least: .75, .81, .86, .94.
NARROW = f"intervals of Bradley-Terry strengths can be too narrow below {FEW} instances (or documents)"


def percentile_bounds(draws: Matrix, *, level: float, units: int) -> tuple[Matrix, Matrix]:
    """Lower and upper ends for every column of draws (draws x columns) made from that many units."""
    tail = 100 * expanded_tail(level, units)
    low, high = np.percentile(draws, [tail, 100 - tail], axis=0)
    return low, high


def t_reach(errors: Matrix, *, level: float, units: int) -> Matrix:
    """How far Student's t interval goes to either side, for standard errors from that many units."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(units - 1, (1 + level) / 2) * errors, dtype=np.float64)


def jackknife_errors(left_out: Matrix) -> Matrix:
    """Standard errors of what has these values (units x columns) with one unit left out at a time."""
    units = len(left_out)
    return np.asarray(left_out.std(axis=0) * np.sqrt(units - 1), dtype=np.float64)


def score_intervals(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> list[Interval | None]:
    """Of the systems' scores, as the metric has them."""
    observed = sample.observed
    if sample.units < LEAST_UNITS or draws is None:
        return [None] * observed.size
    few = sample.units < FEW
    if few:
        corpus = sample.table.counts is not None
        errors = jackknife_errors(sample.left_out()) if corpus else t_statistics(sample.sums, sample.sizes)[1]
        reach = t_reach(errors, level=settings.level, units=sample.units)
        low, high = observed - reach, observed + reach
    else:
        low, high = percentile_bounds(draws, level=settings.level, units=sample.units)
    if not sample.table.higher_is_better:
        observed, low, high = -observed, -high, -low
    drawn, method, clustered = (
        0 if few else len(draws),
        "t" if few else "bootstrap",
        sample.table.documents is not None,
    )
    return _intervals(observed, low, high, settings.level, drawn, settings.seed, method, sample.units, clustered)


def strength_intervals(
    strengths: Matrix, draws: Matrix, units: int, settings: CompareSettings, *, clustered: bool = False
) -> list[Interval | None]:
    """Of Bradley-Terry strengths, from draws of that many instances, or documents if `clustered`."""
    if units < LEAST_UNITS:
        return [None] * strengths.size
    low, high = percentile_bounds(draws, level=settings.level, units=units)
    # Without a finite maximum an estimate is a hair inside of the edge that resamples lie on.
    low, high = np.minimum(low, strengths), np.maximum(high, strengths)
    return _intervals(strengths, low, high, settings.level, len(draws), settings.seed, "bootstrap", units, clustered)


def _intervals(values: Matrix, low: Matrix, high: Matrix, *how: Any) -> list[Interval | None]:
    ends = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Interval(value, lowest, highest, *how) for value, lowest, highest in ends]
