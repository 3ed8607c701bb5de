"""Paired tests of all pairs of systems under one metric: differences, intervals, effect sizes, p values, power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.numeric import BLOCK_CELLS
from nlgauge.stats.paired_tests import (
    holm,
    mood,
    mood_side,
    paired_t,
    sign_test,
    signed_rank_test,
    t_statistics,
    wilcoxon,
)
from nlgauge.stats.resampling import FEW, expanded_p, sum_by_unit
from nlgauge.studies.compare.draws import (
    LEAST_UNITS,
    Sample,
    bootstrap_p,
    jackknife_errors,
    percentile_bounds,
    randomisation_p,
    t_reach,
)
from nlgauge.studies.compare.rankings import outcomes, pair_columns, pair_indices
from nlgauge.studies.compare.settings import CompareSettings, TestName
from nlgauge.studies.compare.system_scores import Matrix

#: Below this many instances (or documents) no difference is called significant.
LEAST_FOR_A_VERDICT = 10

_POWER = 0.8


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """One value per pair, in the order of `pair_indices`; scores are oriented."""

    difference: Matrix
    """First minus second."""
    low: Matrix | None
    high: Matrix | None
    effect: Matrix
    """nan where differences do not vary."""
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    losses: NDArray[np.int64]
    p: dict[TestName, Matrix]
    adjusted: Matrix | None
    """p of the test that decides, corrected; None where nothing can be tested."""
    side: Matrix
    """Of the statistic of the test that decides: 1 for the first system, -1 for the second, 0 for neither."""
    significant: NDArray[np.bool_]
    opposed: NDArray[np.bool_]
    """The test finds a difference, but not in favour of the system with the better score: no verdict."""
    detectable: Matrix | None
    """nan where differences do not vary."""


@dataclass(frozen=True, eq=False)
class _Block:
    """What is computed pair by pair from the scores on instances, for some pairs."""

    effect: Matrix
    wins: NDArray[np.int64]
    losses: NDArray[np.int64]
    errors: Matrix
    """Standard errors of the mean differences."""
    p: dict[TestName, Matrix]
    side: Matrix | None
    """Of the statistic of the test that decides; None where that is the difference of the scores itself."""


def pair_statistics(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> PairStatistics:
    """All pairs of a sample's systems; `draws` are their scores in resamples, for intervals and the bootstrap."""
    rows, columns = pair_indices(sample.table.k)
    step = max(1, BLOCK_CELLS // sample.table.n)
    blocks = [
        _block(sample, rows[at : at + step], columns[at : at + step], settings) for at in range(0, rows.size, step)
    ]
    wins, losses = (_joined([getattr(block, name) for block in blocks]) for name in ("wins", "losses"))
    observed = sample.observed
    p = {name: _joined([block.p[name] for block in blocks]) for name in (blocks[0].p if blocks else ())}
    if draws is not None and "bootstrap" in settings.tests:
        p["bootstrap"] = bootstrap_p(draws, observed, units=sample.units)
    if "randomisation" in settings.tests and sample.units > 1:
        p["randomisation"] = randomisation_p(sample, resamples=settings.permutations, seed=settings.seed)
    errors = _joined([block.errors for block in blocks])
    difference = observed[rows] - observed[columns]
    low, high, errors = _bounds(sample, draws, difference, errors, settings)
    adjusted = _adjusted(p.get(settings.test), settings)
    sides = [block.side for block in blocks if block.side is not None]
    side = np.concatenate(sides) if sides else np.sign(difference)
    significant, opposed = _verdicts(adjusted, difference, side, sample.units, settings)
    return PairStatistics(
        difference,
        low,
        high,
        _joined([block.effect for block in blocks]),
        wins,
        sample.table.n - wins - losses,
        losses,
        {name: p[name] for name in settings.tests if name in p},
        adjusted,
        side,
        significant,
        opposed,
        _detectable(errors, sample.units, settings),
    )


def _joined(parts: list[NDArray[np.generic]]) -> NDArray:  # type: ignore[type-arg]  # of whatever the parts hold
    return np.concatenate(parts) if parts else np.empty(0)


def _block(sample: Sample, i: NDArray[np.intp], j: NDArray[np.intp], settings: CompareSettings) -> _Block:
    values, documents = sample.table.oriented, sample.table.documents
    first, second = pair_columns(values, i), pair_columns(values, j)
    signs = outcomes(first, second, tolerance=settings.tie_tolerance)
    differences = np.where(signs == 0, 0.0, first - second)
    wins, losses = (signs > 0).sum(axis=0), (signs < 0).sum(axis=0)
    if sample.units < 2:
        nothing = np.full(i.size, np.nan)
        return _Block(nothing, wins, losses, nothing, {}, None)
    sums = sum_by_unit(differences, documents)
    means, deviations = t_statistics(differences, np.ones(len(differences)))
    deviations *= np.sqrt(len(differences))
    effect = np.divide(means, deviations, out=np.full_like(means, np.nan), where=deviations > 0)
    _, errors = t_statistics(sums, sample.sizes)
    tests = {
        "t": lambda: paired_t(sums, sample.sizes),
        "wilcoxon": lambda: wilcoxon(differences),
        "sign": lambda: sign_test(wins, losses),
        "sign-ties-in": lambda: _sign_with_ties(wins, losses, len(differences) - wins - losses, settings),
        "mood": lambda: mood(first, second),
    }
    p: dict[TestName, Matrix] = {name: tests[name]() for name in settings.tests if name in tests}
    sides: dict[TestName, Callable[[], Matrix]] = {
        "t": lambda: np.sign(means),
        "wilcoxon": lambda: signed_rank_test(differences)[1],
        "sign": lambda: np.sign(wins - losses).astype(np.float64),
        "sign-ties-in": lambda: _side_with_ties(wins, losses, len(differences) - wins - losses, settings),
        "mood": lambda: mood_side(first, second),
    }
    return _Block(effect, wins, losses, errors, p, sides[settings.test]() if settings.test in sides else None)


def _side_with_ties(
    wins: NDArray[np.int64], losses: NDArray[np.int64], ties: NDArray[np.int64], settings: CompareSettings
) -> Matrix:
    """The system that Bradley-Terry of the two would name, so the policy for ties has its say."""
    return np.asarray(np.sign(wins - losses - (ties if settings.ties == "second" else 0)), dtype=np.float64)


def _sign_with_ties(
    wins: NDArray[np.int64], losses: NDArray[np.int64], ties: NDArray[np.int64], settings: CompareSettings
) -> Matrix:
    first = _side_with_ties(wins, losses, ties, settings) >= 0
    return sign_test(np.where(first, wins, losses), np.where(first, losses, wins), ties)


def _bounds(
    sample: Sample, draws: Matrix | None, difference: Matrix, errors: Matrix, settings: CompareSettings
) -> tuple[Matrix | None, Matrix | None, Matrix]:
    """Intervals of the differences, and their standard errors."""
    if sample.units < LEAST_UNITS or draws is None:
        return None, None, errors
    rows, columns = pair_indices(sample.table.k)
    if sample.units < FEW:
        if sample.table.counts is not None:
            left_out = sample.left_out()
            errors = jackknife_errors(left_out[:, rows] - left_out[:, columns])
        reach = t_reach(errors, level=settings.level, units=sample.units)
        return difference - reach, difference + reach, errors
    low, high, spread = (np.empty(rows.size) for _ in range(3))
    step = max(1, BLOCK_CELLS // len(draws))
    for at in range(0, rows.size, step):
        here = slice(at, at + step)
        drawn = draws[:, rows[here]] - draws[:, columns[here]]
        low[here], high[here] = percentile_bounds(drawn, level=settings.level, units=sample.units)
        spread[here] = drawn.std(axis=0, ddof=1)
    return low, high, spread if sample.table.counts is not None else errors


def _adjusted(p: Matrix | None, settings: CompareSettings) -> Matrix | None:
    if p is None or not p.size:
        return None
    return holm(p) if settings.correction == "holm" else p


def _verdicts(
    adjusted: Matrix | None, difference: Matrix, side: Matrix, units: int, settings: CompareSettings
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which differences are significant, and where the test is on the other side than the difference of the scores.

    A test of ranks or wins may favour the system with the lower mean, where a few wild scores make the mean. Neither
    system is called better then.
    """
    if adjusted is None or units < LEAST_FOR_A_VERDICT:
        return np.zeros(difference.size, dtype=bool), np.zeros(difference.size, dtype=bool)
    found = (adjusted < settings.alpha) & (side != 0)
    agreed = side == np.sign(difference)
    return found & agreed & (np.abs(difference) >= settings.smallest_difference), found & ~agreed


def _detectable(errors: Matrix, units: int, settings: CompareSettings) -> Matrix | None:
    """Smallest true difference that a t test would find with a chance of 80 per cent.

    With a correction it must pass the strictest step of Holm's procedure: alpha over the number of pairs.
    """
    if units < LEAST_UNITS or not errors.size:
        return None
    # Without any spread (copies, a constant gap) there is no power to speak of.
    return np.where(errors > 0, detectable_errors(strictest_alpha(settings, errors.size), units) * errors, np.nan)


def strictest_alpha(settings: CompareSettings, pairs: int) -> float:
    """What the first of that many p values must be below."""
    return settings.alpha / pairs if settings.correction == "holm" else settings.alpha


def smallest_p(settings: CompareSettings, *, units: int, differing: int) -> float:
    """The smallest p value that the test that decides can give; 0 where there is no bound.

    `units` are what is drawn, `differing` the instances that are not ties. Tests by draws are limited by their
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
    """How many standard errors a true difference must have for a chance of 80 per cent."""
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, 1 - alpha / 2) + stdtrit(units - 1, _POWER))
