"""System scores, win matrices and strengths in resamples of the instances, for all metrics on the same draws.

Scores are oriented here: higher is better. What is drawn are units: instances, or whole documents where the tables
name them, because instances of one document are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlgauge.compare.bradley_terry import climb
from nlgauge.compare.rankings import outcomes, pair_indices
from nlgauge.compare.settings import CompareSettings, TiePolicy
from nlgauge.compare.table import Matrix, SystemScores
from nlgauge.stats.paired_tests import centred_p
from nlgauge.stats.resampling import bootstrap_counts, bootstrap_sums, sum_by_unit, swap_sums

__all__ = ["Sample", "bootstrap_scores", "randomisation_p", "strength_draws"]

#: Numbers held at once, of differences, outcomes or win matrices (32 MB).
_CELLS = 4_000_000
#: Strengths in resamples start at the observed ones, so they must go on for longer than those to forget it.
_DRAW_TOLERANCE = 1e-13


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
        columns = table.oriented if table.statistics is None else np.asarray(table.statistics.counts, dtype=np.float64)
        sizes = sum_by_unit(np.ones(table.n), table.documents)
        return cls(table, sum_by_unit(columns.reshape(table.n, -1), table.documents), sizes)

    @property
    def units(self) -> int:
        """How many instances or documents."""
        return len(self.sizes)

    @property
    def observed(self) -> Matrix:
        """The systems' scores."""
        return self.scores(self.sums.sum(axis=0)[None], self.sizes.sum())[0]

    def scores(self, sums: Matrix, sizes: Matrix | float) -> Matrix:
        """Scores of the systems (draws x systems) from sums (draws x columns) over that many instances."""
        statistics = self.table.statistics
        if statistics is None:
            return np.asarray(sums / np.reshape(sizes, (-1, 1)), dtype=np.float64)
        scores = statistics.score(sums.reshape(len(sums), self.table.k, -1))
        return scores if self.table.higher_is_better else -scores


def bootstrap_scores(samples: Sequence[Sample], *, resamples: int, seed: int) -> list[Matrix]:
    """Scores of every sample's systems in resamples of their units: resamples x systems each.

    Samples with the same units (metrics on the same documents) see the same draws, in one product.
    """
    found: list[list[Matrix]] = [[] for _ in samples]
    groups: dict[tuple[float, ...], list[int]] = {}
    for at, sample in enumerate(samples):
        groups.setdefault(tuple(sample.sizes), []).append(at)
    for group in groups.values():
        columns = np.hstack([samples[group[0]].sizes[:, None], *(samples[at].sums for at in group)])
        edges = np.cumsum([1, *(samples[at].sums.shape[1] for at in group)])
        for block in bootstrap_sums(columns, resamples=resamples, seed=seed):
            for at, low, high in zip(group, edges[:-1], edges[1:], strict=True):
                found[at].append(samples[at].scores(block[:, low:high], block[:, 0]))
    return [np.concatenate(blocks) for blocks in found]


def bootstrap_p(draws: Matrix, observed: Matrix) -> Matrix:
    """Paired bootstrap: two-sided p for all pairs of systems from their scores in resamples."""
    rows, columns = pair_indices(observed.size)
    step = max(1, _CELLS // len(draws))
    found = [
        centred_p(draws[:, i] - draws[:, j], observed[i] - observed[j])
        for start in range(0, rows.size, step)
        for i, j in [(rows[start : start + step], columns[start : start + step])]
    ]
    return np.concatenate(found) if found else np.empty(0)


def randomisation_p(sample: Sample, *, resamples: int, seed: int) -> Matrix:
    """Approximate randomisation: two-sided p for all pairs of systems, whose outputs are swapped unit by unit.

    With signs s (+1 keep, -1 swap) the totals of the first system become (T_a + T_b)/2 + (s.a - s.b)/2, those of the
    second the same with -; so one product of the signs with every system's columns serves all pairs.
    """
    observed = sample.observed
    rows, columns = pair_indices(observed.size)
    reached = np.zeros(rows.size, dtype=np.int64)
    limit = np.abs(observed[rows] - observed[columns]) * (1 - 1e-12)
    for block in swap_sums(sample.sums, resamples=resamples, seed=seed):
        for at, (i, j) in enumerate(zip(rows, columns, strict=True)):
            reached[at] += int((np.abs(_swapped(sample, block, int(i), int(j))) >= limit[at]).sum())
    return (reached + 1) / (resamples + 1)


def _swapped(sample: Sample, signed: Matrix, i: int, j: int) -> Matrix:
    """Differences of two systems' scores with outputs swapped by signs."""
    statistics = sample.table.statistics
    if statistics is None:
        return np.asarray((signed[:, i] - signed[:, j]) / sample.sizes.sum(), dtype=np.float64)
    counts = signed.reshape(len(signed), sample.table.k, -1)
    totals = sample.sums.sum(axis=0).reshape(sample.table.k, -1)
    middle, half = (totals[i] + totals[j]) / 2, (counts[:, i] - counts[:, j]) / 2
    return statistics.score(middle + half) - statistics.score(middle - half)


def strength_draws(
    table: SystemScores, strengths: Matrix, settings: CompareSettings
) -> Matrix:
    """Bradley-Terry strengths in resamples of the units: resamples x systems."""
    units = len(sum_by_unit(np.ones(table.n), table.documents))
    found = [
        _strengths(games, strengths)
        for counts in bootstrap_counts(units, settings.resamples, settings.seed)
        for games in _win_matrices(table, counts.astype(np.float32), settings.ties, settings.tie_tolerance)
    ]
    return np.concatenate(found)


def _strengths(wins: Matrix, start: Matrix) -> Matrix:
    # A strength of 0 would stay 0, though a system that never won may win in no resample either.
    begin = np.maximum(start, 1e-6)
    return climb(wins, tolerance=_DRAW_TOLERANCE, start=begin / begin.sum())[0]


def _win_matrices(table: SystemScores, counts: Matrix, ties: TiePolicy, tolerance: float) -> list[Matrix]:
    """Win matrices (draws x systems x systems) for counts of units, in blocks of draws."""
    rows, columns = pair_indices(table.k)
    wins, losses = (np.empty((len(counts), rows.size), dtype=np.float32) for _ in range(2))
    values = table.oriented
    step = max(1, _CELLS // table.n)
    for start in range(0, rows.size, step):
        here = slice(start, start + step)
        found = outcomes(values[:, rows[here]], values[:, columns[here]], tolerance=tolerance)
        # float32 holds these whole and half numbers exactly.
        for out, sign, share in ((wins, 1, 0.0), (losses, -1, 1.0)):
            won = (found == sign).astype(np.float32)
            if ties != "drop":
                won += (0.5 if ties == "half" else share) * (found == 0)
            out[:, here] = counts @ sum_by_unit(won, table.documents).astype(np.float32)
    block = max(1, _CELLS // table.k**2)
    return [
        _square(wins[at : at + block], losses[at : at + block], table.k) for at in range(0, len(counts), block)
    ]


def _square(wins: Matrix, losses: Matrix, k: int) -> Matrix:
    rows, columns = pair_indices(k)
    games = np.zeros((len(wins), k, k))
    games[:, rows, columns] = wins
    games[:, columns, rows] = losses
    return games
