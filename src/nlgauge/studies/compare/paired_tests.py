"""Resampling of instances, intervals, and paired tests of all pairs of systems.

Scores are oriented here: higher is better. All metrics share the draws. Units are drawn: instances, or whole
documents where the tables name them, because instances of one document are not independent.

Percentiles of resamples cover less than their level with few units: .87 instead of .95 at n = 12. So below 30
units an interval is Student's t, for a corpus score with the standard error of the jackknife, and percentiles go as
much further out as t does (`expanded_tail`). Below four units there is no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.numeric import BLOCK_CELLS, SAME, blocks, orient
from nlgauge.stats.paired_tests import (
    centred_p,
    holm,
    mood,
    paired_t,
    sign_test,
    t_statistics,
    wilcoxon,
)
from nlgauge.stats.resampling import (
    FEW,
    Interval,
    bootstrap_counts,
    bootstrap_sums,
    expanded_p,
    percentile_bounds,
    sum_by_unit,
    swap_sums,
    t_reach,
)
from nlgauge.studies.compare.comparison import CompareSettings, PairRow
from nlgauge.studies.compare.rankings import median_scores, outcomes, pair_columns
from nlgauge.studies.compare.strengths import newman
from nlgauge.studies.compare.system_scores import Matrix, SystemScores

#: float32 holds whole and half numbers of this size exactly.
_Counts: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sample:
    """A table of scores, summed over the units that are drawn."""

    table: SystemScores
    sums: Matrix
    """Units x columns: sums from which the score of every system is computed."""
    sizes: Matrix
    """Number of instances in each unit."""

    @classmethod
    def of(cls, table: SystemScores) -> Sample:
        """The sums behind the scores of a table's systems."""
        columns = table.oriented if table.counts is None else table.counts
        sizes = sum_by_unit(np.ones(table.n), table.documents)
        return cls(table, sum_by_unit(columns.reshape(table.n, -1), table.documents), sizes)

    @property
    def units(self) -> int:
        """Number of instances or documents."""
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
    for index, sample in enumerate(samples):
        groups.setdefault(tuple(sample.sizes), []).append(index)
    for group in groups.values():
        columns = np.hstack([samples[group[0]].sizes[:, None], *(samples[index].sums for index in group)])
        edges = np.cumsum([1, *(samples[index].sums.shape[1] for index in group)])
        for block in bootstrap_sums(columns, resamples=resamples, seed=seed):
            for index, low, high in zip(group, edges[:-1], edges[1:], strict=True):
                scores[index].append(samples[index].scores(block[:, low:high], block[:, 0]))
    return [np.concatenate(blocks) for blocks in scores]


def bootstrap_p(draws: Matrix, observed: Matrix, *, units: int) -> Matrix:
    """Paired bootstrap: two-sided p for all pairs of systems from their scores in resamples of that many units."""
    rows, columns = np.triu_indices(observed.size, 1)
    p_values = [
        centred_p(draws[:, rows[part]] - draws[:, columns[part]], observed[rows[part]] - observed[columns[part]])
        for part in blocks(rows.size, len(draws))
    ]
    return expanded_p(np.concatenate(p_values), units) if p_values else np.empty(0)


def randomisation_p(sample: Sample, *, resamples: int, seed: int) -> Matrix:
    """Approximate randomisation: two-sided p for all pairs of systems, whose outputs are swapped unit by unit.

    With signs s (+1 keep, -1 swap) the totals of the first system become (T_a + T_b)/2 + (s.a - s.b)/2, those of the
    second the same with -; so one product of the signs with every system's columns serves all pairs.
    """
    observed = sample.observed
    rows, columns = np.triu_indices(observed.size, 1)
    reached = np.zeros(rows.size, dtype=np.int64)
    limit = np.abs(observed[rows] - observed[columns]) * (1 - SAME)
    for block in swap_sums(sample.sums, resamples=resamples, seed=seed):
        for index, (i, j) in enumerate(zip(rows, columns, strict=True)):
            reached[index] += int((np.abs(_swapped(sample, block, int(i), int(j))) >= limit[index]).sum())
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
    drawn = bootstrap_counts(sizes.size, settings.resamples, settings.seed)
    counts = np.concatenate([block.astype(np.uint16) for block in drawn])
    rows, columns = np.triu_indices(table.k, 1)
    strengths = []
    # Outcomes of many pairs take longer to find than draws to hold; so few blocks of draws, each of all pairs.
    for draws in blocks(len(counts), table.k**2, 8 * BLOCK_CELLS):
        wins, losses = _resampled_wins(table, counts[draws], sizes, settings)
        for part in blocks(len(wins), table.k**2):
            games = np.zeros((part.stop - part.start, table.k, table.k))
            games[:, rows, columns] = wins[part]
            games[:, columns, rows] = losses[part]
            strengths.append(newman(games)[0])
    return np.concatenate(strengths)


def _resampled_wins(
    table: SystemScores, counts: NDArray[np.uint16], sizes: Matrix, settings: CompareSettings
) -> tuple[_Counts, _Counts]:
    """Wins of the first and of the second system of every pair in resamples (draws x units): draws x pairs each."""
    rows, columns = np.triu_indices(table.k, 1)
    shape = (len(counts), rows.size)
    wins, losses = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    tie = 0.5 if settings.ties == "half" else 0.0
    for part in blocks(rows.size, table.n):
        first, second = (pair_columns(table.oriented, systems[part]) for systems in (rows, columns))
        results = outcomes(first, second, tolerance=settings.tie_tolerance)
        wins[:, part] = _products(counts, (results == 1) + np.float32(tie) * (results == 0), table)
        if settings.ties == "drop":
            losses[:, part] = _products(counts, results == -1, table)
    if settings.ties != "drop":
        losses[:] = (counts @ sizes)[:, None] - wins
    return wins, losses


def _products(counts: NDArray[np.uint16], won: NDArray[Any], table: SystemScores) -> _Counts:
    """Sums of wins over resamples."""
    columns = sum_by_unit(won, table.documents).astype(np.float32)
    parts = blocks(len(counts), counts.shape[1])
    return np.concatenate([counts[part].astype(np.float32) @ columns for part in parts])


#: Fewer instances (or documents) have no interval: three have only ten different resamples, and the percentile that
#: covers 95 % is Phi(-5.3) there, beyond any number of draws. A single score's t interval needs two.
LEAST_UNITS = 4

#: Note on strengths from fewer than 30 units. For equal systems "95 %" hold .94 from ten on; for three systems a
#: standard deviation apart each .81 at six units, .89 at ten, .92 at twenty, .94 at forty (500 samples each), and the
#: weakest least: .75, .81, .86, .94.
NARROW = f"intervals of Bradley-Terry strengths can be too narrow below {FEW} instances (or documents)"


def jackknife_errors(left_out: Matrix) -> Matrix:
    """Jackknife standard errors from values (units x columns) with one unit left out at a time."""
    units = len(left_out)
    return np.asarray(left_out.std(axis=0) * np.sqrt(units - 1), dtype=np.float64)


def score_intervals(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> list[Interval | None]:
    """Intervals of the systems' scores, not oriented."""
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
    drawn, method = (0, "t") if few else (len(draws), "bootstrap")
    clustered = sample.table.documents is not None
    return _intervals(observed, low, high, settings.level, drawn, settings.seed, method, sample.units, clustered)


def strength_intervals(
    strengths: Matrix, draws: Matrix, units: int, settings: CompareSettings, *, clustered: bool = False
) -> list[Interval | None]:
    """Intervals of Bradley-Terry strengths, from draws of instances, or of documents if `clustered`."""
    if units < LEAST_UNITS:
        return [None] * strengths.size
    low, high = percentile_bounds(draws, level=settings.level, units=units)
    # Without a finite maximum an estimate is a hair inside of the edge that resamples lie on.
    low, high = np.minimum(low, strengths), np.maximum(high, strengths)
    return _intervals(strengths, low, high, settings.level, len(draws), settings.seed, "bootstrap", units, clustered)


def _intervals(values: Matrix, low: Matrix, high: Matrix, *how: Any) -> list[Interval | None]:
    ends = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Interval(value, lowest, highest, *how) for value, lowest, highest in ends]


#: Below this many instances (or documents) no difference is called significant.
LEAST_FOR_A_VERDICT = 10

_POWER = 0.8


def pair_rows(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> list[PairRow]:
    """All pairs of a sample's systems, in the order of `itertools.combinations`.

    `draws` are the systems' scores in resamples, for intervals and the bootstrap.
    """
    table, observed = sample.table, sample.observed
    rows, columns = np.triu_indices(table.k, 1)
    if not rows.size:
        return []
    parts = [_test_instances(sample, rows[part], columns[part], settings) for part in blocks(rows.size, table.n)]
    by_instance = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    p: dict[str, Matrix] = {name: by_instance[name] for name in settings.tests if name in by_instance}
    if draws is not None and "bootstrap" in settings.tests:
        p["bootstrap"] = bootstrap_p(draws, observed, units=sample.units)
    if "randomisation" in settings.tests and sample.units > 1:
        p["randomisation"] = randomisation_p(sample, resamples=settings.permutations, seed=settings.seed)
    difference = observed[rows] - observed[columns]
    low, high, errors = _bounds(sample, draws, difference, by_instance["errors"], settings)
    adjusted = adjusted_p(p[settings.test], settings) if settings.test in p else None
    side = by_instance.get("side", np.sign(difference))
    significant, opposed = _verdicts(adjusted, difference, side, sample.units, settings)
    detectable = None
    if sample.units >= LEAST_UNITS:
        # Without any spread (copies, a constant gap) power is not defined.
        needed = detectable_errors(strictest_alpha(settings, rows.size), sample.units)
        detectable = np.where(errors > 0, needed * errors, np.nan)
    wins, losses = by_instance["wins"], by_instance["losses"]
    medians = median_scores(table.oriented)
    pairs = []
    for index, (i, j) in enumerate(zip(rows, columns, strict=True)):
        favoured = table.systems[i if side[index] > 0 else j] if side[index] else None
        pairs.append(
            PairRow(
                first=table.systems[i],
                second=table.systems[j],
                difference=float(difference[index]),
                low=_number(low, index),
                high=_number(high, index),
                effect=_number(by_instance["effect"], index),
                wins=int(wins[index]),
                ties=int(table.n - wins[index] - losses[index]),
                losses=int(losses[index]),
                p={name: float(p[name][index]) for name in settings.tests if name in p},
                p_value=_number(p.get(settings.test), index),
                p_adjusted=_number(adjusted, index),
                significant=bool(significant[index]),
                better=favoured if significant[index] else None,
                detectable=_number(detectable, index),
                favoured=favoured if p else None,
                opposed=bool(opposed[index]),
                median_difference=float(medians[i] - medians[j]),
                paired_median=float(by_instance["paired_median"][index]),
            )
        )
    return pairs


def _number(values: Matrix | None, index: int) -> float | None:
    return None if values is None or np.isnan(values[index]) else float(values[index])


def adjusted_p(p: Matrix, settings: CompareSettings) -> Matrix:
    """p values of all pairs, corrected for their number as the settings say."""
    return holm(p) if settings.correction == "holm" else p


def _test_instances(
    sample: Sample, i: NDArray[np.intp], j: NDArray[np.intp], settings: CompareSettings
) -> dict[str, NDArray[Any]]:
    """Effects, tests and standard errors of some pairs, from the scores of instances.

    Effects, wins, losses, medians of the differences, `errors` (standard errors of the mean differences), p values by
    test, and `side`: of the statistic of the test that decides, 1 for the first system, -1 for the second, unless
    that is the difference of the scores itself.
    """
    values, documents = sample.table.oriented, sample.table.documents
    first, second = pair_columns(values, i), pair_columns(values, j)
    signs = outcomes(first, second, tolerance=settings.tie_tolerance)
    differences = np.where(signs == 0, 0.0, first - second)
    counted = {"wins": (signs > 0).sum(axis=0), "losses": (signs < 0).sum(axis=0)}
    wins, losses = counted.values()
    counted["paired_median"] = np.median(differences, axis=0)
    if sample.units < 2:
        nothing = np.full(i.size, np.nan)
        return counted | {"effect": nothing, "errors": nothing}
    sums = sum_by_unit(differences, documents)
    means, deviations = t_statistics(differences, np.ones(len(differences)))
    deviations *= np.sqrt(len(differences))
    effect = np.divide(means, deviations, out=np.full_like(means, np.nan), where=deviations > 0)
    _, errors = t_statistics(sums, sample.sizes)
    ties = len(differences) - wins - losses
    # The system that Bradley-Terry of the two would name, with the policy for ties.
    side_with_ties = np.sign(wins - losses - (ties if settings.ties == "second" else 0)).astype(np.float64)
    won, other = np.where(side_with_ties < 0, [losses, wins], [wins, losses])
    tests: dict[str, Callable[[], tuple[Matrix, Matrix]]] = {
        "t": lambda: (paired_t(sums, sample.sizes), np.sign(means)),
        "wilcoxon": lambda: wilcoxon(differences),
        "sign": lambda: (sign_test(wins, losses), np.sign(wins - losses).astype(np.float64)),
        "sign-ties-in": lambda: (sign_test(won, other, ties), side_with_ties),
        "mood": lambda: mood(first, second),
    }
    results = counted | {"effect": effect, "errors": errors}
    for name in settings.tests:
        if name in tests:
            results[name], side = tests[name]()
            results |= {"side": side} if name == settings.test else {}
    return results


def _bounds(
    sample: Sample, draws: Matrix | None, difference: Matrix, errors: Matrix, settings: CompareSettings
) -> tuple[Matrix | None, Matrix | None, Matrix]:
    """Intervals of the differences, and their standard errors."""
    if sample.units < LEAST_UNITS or draws is None:
        return None, None, errors
    rows, columns = np.triu_indices(sample.table.k, 1)
    if sample.units < FEW:
        if sample.table.counts is not None:
            left_out = sample.left_out()
            errors = jackknife_errors(left_out[:, rows] - left_out[:, columns])
        reach = t_reach(errors, level=settings.level, units=sample.units)
        return difference - reach, difference + reach, errors
    low, high, spread = (np.empty(rows.size) for _ in range(3))
    for part in blocks(rows.size, len(draws)):
        drawn = draws[:, rows[part]] - draws[:, columns[part]]
        low[part], high[part] = percentile_bounds(drawn, level=settings.level, units=sample.units)
        spread[part] = drawn.std(axis=0, ddof=1)
    return low, high, spread if sample.table.counts is not None else errors


def _verdicts(
    adjusted: Matrix | None, difference: Matrix, side: Matrix, units: int, settings: CompareSettings
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which differences are significant, and where test and scores favour different systems.

    A test of ranks or wins may favour the system with the lower mean, where a few wild scores make the mean. Neither
    system is called better then.
    """
    if adjusted is None or units < LEAST_FOR_A_VERDICT:
        return np.zeros(difference.size, dtype=bool), np.zeros(difference.size, dtype=bool)
    differ = (adjusted < settings.alpha) & (side != 0)
    agreed = side == np.sign(difference)
    return differ & agreed & (np.abs(difference) >= settings.smallest_difference), differ & ~agreed


def strictest_alpha(settings: CompareSettings, pairs: int) -> float:
    """The significance level of the first of so many p values: the strictest step of Holm's procedure."""
    return settings.alpha / pairs if settings.correction == "holm" else settings.alpha


def smallest_p(settings: CompareSettings, *, units: int, differing: int) -> float:
    """The smallest p value that the test that decides can give; 0 where there is no bound.

    `units` are drawn, `differing` are the instances without ties. Tests by draws are limited by their
    number; tests of signs, and swaps of units, by the number of patterns of signs.

    >>> smallest_p(CompareSettings(test="sign"), units=10, differing=10)
    0.001953125
    """
    patterns = 2.0 ** (1 - differing)
    if settings.test == "randomisation":
        return max(1 / (settings.permutations + 1), patterns, 2.0 ** (1 - units))
    if settings.test == "bootstrap":
        return float(expanded_p(np.array(1 / (settings.score_draws + 1)), units))
    return patterns if settings.test in ("wilcoxon", "sign") else 0.0


def detectable_errors(alpha: float, units: int) -> float:
    """A true difference, in standard errors, that a t test detects with 80 % power."""
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, 1 - alpha / 2) + stdtrit(units - 1, _POWER))
