"""Paired tests of all pairs of systems under one metric: differences, intervals, effect sizes, p values, power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
)
from nlgauge.stats.resampling import FEW, expanded_p, sum_by_unit
from nlgauge.studies.compare.comparison import PairRow
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
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.compare.system_scores import Matrix

#: Below this many instances (or documents) no difference is called significant.
LEAST_FOR_A_VERDICT = 10

_POWER = 0.8


def pair_rows(sample: Sample, draws: Matrix | None, settings: CompareSettings) -> list[PairRow]:
    """All pairs of a sample's systems, in the order of `pair_indices`.

    `draws` are the systems' scores in resamples, for intervals and the bootstrap.
    """
    table, observed = sample.table, sample.observed
    rows, columns = pair_indices(table.k)
    if not rows.size:
        return []
    step = max(1, BLOCK_CELLS // table.n)
    parts = [range(start, min(start + step, rows.size)) for start in range(0, rows.size, step)]
    blocks = [_test_instances(sample, rows[part], columns[part], settings) for part in parts]
    by_instance = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
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
    detectable = _detectable(errors, sample.units, settings)
    wins, losses = by_instance["wins"], by_instance["losses"]
    pairs = []
    for at, (i, j) in enumerate(zip(rows, columns, strict=True)):
        favoured = table.systems[i if side[at] > 0 else j] if side[at] else None
        pairs.append(
            PairRow(
                first=table.systems[i],
                second=table.systems[j],
                difference=float(difference[at]),
                low=_number(low, at),
                high=_number(high, at),
                effect=_number(by_instance["effect"], at),
                wins=int(wins[at]),
                ties=int(table.n - wins[at] - losses[at]),
                losses=int(losses[at]),
                p={name: float(p[name][at]) for name in settings.tests if name in p},
                p_value=_number(p.get(settings.test), at),
                p_adjusted=_number(adjusted, at),
                significant=bool(significant[at]),
                better=favoured if significant[at] else None,
                detectable=_number(detectable, at),
                favoured=favoured if p else None,
                opposed=bool(opposed[at]),
            )
        )
    return pairs


def _number(values: Matrix | None, at: int) -> float | None:
    return None if values is None or np.isnan(values[at]) else float(values[at])


def adjusted_p(p: Matrix, settings: CompareSettings) -> Matrix:
    """p values of all pairs, corrected for their number as the settings say."""
    return holm(p) if settings.correction == "holm" else p


def _test_instances(
    sample: Sample, i: NDArray[np.intp], j: NDArray[np.intp], settings: CompareSettings
) -> dict[str, NDArray[Any]]:
    """What is computed from the scores on instances, for some pairs.

    Effects, wins, losses, `errors` (standard errors of the mean differences), p values by test, and `side`: of the
    statistic of the test that decides, 1 for the first system, -1 for the second, unless that is the difference of
    the scores itself.
    """
    values, documents = sample.table.oriented, sample.table.documents
    first, second = pair_columns(values, i), pair_columns(values, j)
    signs = outcomes(first, second, tolerance=settings.tie_tolerance)
    differences = np.where(signs == 0, 0.0, first - second)
    wins, losses = (signs > 0).sum(axis=0), (signs < 0).sum(axis=0)
    if sample.units < 2:
        nothing = np.full(i.size, np.nan)
        return {"effect": nothing, "wins": wins, "losses": losses, "errors": nothing}
    sums = sum_by_unit(differences, documents)
    means, deviations = t_statistics(differences, np.ones(len(differences)))
    deviations *= np.sqrt(len(differences))
    effect = np.divide(means, deviations, out=np.full_like(means, np.nan), where=deviations > 0)
    _, errors = t_statistics(sums, sample.sizes)
    ties = len(differences) - wins - losses
    # The system that Bradley-Terry of the two would name, so the policy for ties has its say.
    side_with_ties = np.sign(wins - losses - (ties if settings.ties == "second" else 0)).astype(np.float64)
    turned = side_with_ties < 0
    tests: dict[str, tuple[Callable[[], Matrix], Callable[[], Matrix]]] = {
        "t": (lambda: paired_t(sums, sample.sizes), lambda: np.sign(means)),
        "wilcoxon": (lambda: signed_rank_test(differences)[0], lambda: signed_rank_test(differences)[1]),
        "sign": (lambda: sign_test(wins, losses), lambda: np.sign(wins - losses).astype(np.float64)),
        "sign-ties-in": (
            lambda: sign_test(np.where(turned, losses, wins), np.where(turned, wins, losses), ties),
            lambda: side_with_ties,
        ),
        "mood": (lambda: mood(first, second), lambda: mood_side(first, second)),
    }
    results = {"effect": effect, "wins": wins, "losses": losses, "errors": errors}
    results |= {name: tests[name][0]() for name in settings.tests if name in tests}
    return results | ({"side": tests[settings.test][1]()} if settings.test in tests else {})


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


def _verdicts(
    adjusted: Matrix | None, difference: Matrix, side: Matrix, units: int, settings: CompareSettings
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which differences are significant, and where the test is on the other side than the difference of the scores.

    A test of ranks or wins may favour the system with the lower mean, where a few wild scores make the mean. Neither
    system is called better then.
    """
    if adjusted is None or units < LEAST_FOR_A_VERDICT:
        return np.zeros(difference.size, dtype=bool), np.zeros(difference.size, dtype=bool)
    differ = (adjusted < settings.alpha) & (side != 0)
    agreed = side == np.sign(difference)
    return differ & agreed & (np.abs(difference) >= settings.smallest_difference), differ & ~agreed


def _detectable(errors: Matrix, units: int, settings: CompareSettings) -> Matrix | None:
    """Smallest true difference that a t test would find with a chance of 80 per cent.

    With a correction it must pass the strictest step of Holm's procedure: alpha over the number of pairs.
    """
    if units < LEAST_UNITS:
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
