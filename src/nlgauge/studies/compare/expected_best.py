"""Expected performance of the best of n runs, to compare systems at equal budget.

A system that was tuned with more runs has a better best run by chance alone. Dodge et al. (2019, "Show Your Work",
section 3) report what the best of n runs is expected to score, from the N runs that were made, v_(1) <= ... <= v_(N):

    V_n = sum_i v_(i) ((i / N)^n - ((i - 1) / N)^n)

These are n draws with replacement from the runs, so V_1 is the mean, and V_N is below the maximum. With the cost c of
a run, a budget b pays for n = floor(b / c) runs, and systems are compared at the same b. Intervals are percentiles of
a bootstrap of the runs: they contain the luck of the runs that were made, and are too narrow near N, because no
resample is better than the best run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.io.canvas import WIDEST, finish_figure, legend_entries, new_panels, series_styles
from nlgauge.stats.numeric import vector

#: Fewer runs have no interval.
LEAST_RUNS = 4

#: The budget that is counted in runs, and not in a column of the table of budgets.
RUNS = "runs"

#: Most budgets of a table.
_MOST_BUDGETS = 12


@dataclass(frozen=True)
class BestCurve:
    """Expected score of the best of 1, 2, ... runs of a system."""

    system: str
    cost: float
    """Cost of one run, in units of the budget."""
    values: tuple[float, ...]
    low: tuple[float, ...] | None
    """Lower ends of bootstrap intervals; None for fewer than four runs."""
    high: tuple[float, ...] | None

    def runs_for(self, budget: float) -> int:
        """Number of runs that a budget pays for."""
        return math.floor(budget / self.cost + 1e-9)


class BudgetRow(NamedTuple):
    """A system at a budget."""

    budget: float
    system: str
    runs: int
    """Runs that the budget pays for."""
    expected: float
    """Expected score of the best of these runs."""
    low: float | None
    high: float | None
    probability: float | None
    """Share of bootstrap resamples in which the system is the best at this budget; None where one has few runs."""


class EqualBudget(NamedTuple):
    """Curves of all systems, and their comparison at equal budgets."""

    curves: tuple[BestCurve, ...]
    rows: tuple[BudgetRow, ...]
    """By budget; best system first."""


def expected_best(scores: ArrayLike, *, higher_is_better: bool = True) -> NDArray[np.float64]:
    """Expected score of the best of n runs, for n from 1 to the number of runs, along the last axis.

    >>> expected_best([0.5, 0.7, 0.9]).round(4).tolist()
    [0.7, 0.7889, 0.8333]
    """
    values = np.sort(np.asarray(scores, dtype=np.float64), axis=-1)
    if not higher_is_better:
        values = values[..., ::-1]
    count = values.shape[-1]
    shares = np.arange(count + 1) / count
    weights = np.diff(shares[None, :] ** np.arange(1, count + 1)[:, None], axis=1)
    return np.asarray(values @ weights.T)


def compare_budgets(
    runs: Mapping[str, ArrayLike],
    costs: Mapping[str, float],
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 12345,
) -> EqualBudget:
    """Compare systems by the expected best of as many runs as a budget pays for.

    `runs` has the scores of each system's runs, `costs` what one run costs.

    >>> result = compare_budgets({"a": [0.6, 0.7, 0.8], "b": [0.7, 0.75, 0.8]}, {"a": 1, "b": 3})
    >>> [(row.budget, row.system, row.runs, round(row.expected, 3)) for row in result.rows]
    [(3.0, 'a', 3, 0.767), (3.0, 'b', 1, 0.75)]
    """
    draws: dict[str, NDArray[np.float64]] = {}
    curves: dict[str, BestCurve] = {}
    for number, (system, values) in enumerate(runs.items()):
        scores = vector(np.asarray(values, dtype=np.float64), f"runs of system {system!r}")
        cost = float(costs[system])
        if not (math.isfinite(cost) and cost > 0):
            msg = f"the cost of a run of {system!r} must be above 0, got {cost:g}"
            raise InputError(msg)
        low = high = None
        if scores.size >= LEAST_RUNS:
            # A system's draws depend on its place, not on the scores of others.
            rng = np.random.default_rng([seed, number])
            resampled = scores[rng.integers(scores.size, size=(resamples, scores.size))]
            draws[system] = expected_best(resampled, higher_is_better=higher_is_better)
            ends = np.quantile(draws[system], [(1 - level) / 2, (1 + level) / 2], axis=0)
            low, high = (tuple(side.tolist()) for side in ends)
        expected = expected_best(scores, higher_is_better=higher_is_better)
        curves[system] = BestCurve(system, cost, tuple(expected.tolist()), low, high)
    sign = 1 if higher_is_better else -1
    rows: list[BudgetRow] = []
    for budget in _common_budgets(list(curves.values())):
        places = {system: curve.runs_for(budget) - 1 for system, curve in curves.items()}
        shares = _shares_of_best(sign, draws, places) if len(draws) == len(curves) else {}
        at_budget = [
            _at_budget(curves[system], budget, place, shares.get(system)) for system, place in places.items()
        ]
        rows += sorted(at_budget, key=lambda row: -sign * row.expected)
    return EqualBudget(tuple(curves.values()), tuple(rows))


def _at_budget(curve: BestCurve, budget: float, place: int, share: float | None) -> BudgetRow:
    low, high = (None if ends is None else ends[place] for ends in (curve.low, curve.high))
    return BudgetRow(budget, curve.system, place + 1, curve.values[place], low, high, share)


def _common_budgets(curves: Sequence[BestCurve]) -> list[float]:
    """Budgets that pay for a run of every system, and for no more runs than any system has."""
    least = max(curve.cost for curve in curves)
    most = min((len(curve.values) + 1) * curve.cost for curve in curves)
    budgets = {
        float(f"{number * curve.cost:.12g}")
        for curve in curves
        for number in range(1, len(curve.values) + 1)
        if least <= number * curve.cost * (1 + 1e-9) and number * curve.cost < most * (1 - 1e-9)
    }
    ordered = sorted(budgets)
    if len(ordered) <= _MOST_BUDGETS:
        return ordered
    places = np.unique(np.linspace(0, len(ordered) - 1, _MOST_BUDGETS).round().astype(int))
    return [ordered[place] for place in places]


def _shares_of_best(
    sign: int, draws: Mapping[str, NDArray[np.float64]], places: Mapping[str, int]
) -> dict[str, float]:
    """Share of resamples in which each system is the best; ties are shared."""
    values = sign * np.column_stack([draws[system][:, place] for system, place in places.items()])
    best = values == values.max(axis=1, keepdims=True)
    return dict(zip(places, (best / best.sum(axis=1, keepdims=True)).mean(axis=0).tolist(), strict=True))


def draw_budgets(results: Mapping[str, EqualBudget], *, unit: str, level: float) -> Any:
    """Figure of the expected best score against the budget: a panel per metric, a curve per system."""
    figure, panels = new_panels(len(results), 1, width=min(WIDEST, 7.0), height=3.2)
    styles = series_styles(curve.system for result in results.values() for curve in result.curves)
    for axes, (metric, result) in zip(panels, results.items(), strict=True):
        for curve in result.curves:
            style = styles[curve.system]
            budgets = curve.cost * np.arange(1, len(curve.values) + 1)
            axes.plot(budgets, curve.values, color=style.colour, marker=style.mark, markersize=4, linewidth=1.4)
            if curve.low is not None and curve.high is not None:
                axes.fill_between(budgets, curve.low, curve.high, color=style.colour, alpha=0.15, linewidth=0)
        if max(curve.cost * len(curve.values) for curve in result.curves) > 20 * min(
            curve.cost for curve in result.curves
        ):
            axes.set_xscale("log")
        axes.set_xlabel(f"budget: {unit}", fontsize=8)
        axes.set_ylabel(f"expected best {metric}", fontsize=8)
        axes.tick_params(labelsize=8)
    finish_figure(
        figure,
        title="Expected performance of the best run at equal budget",
        caption=f"A mark is one more run. Bands: {100 * level:.10g} % bootstrap intervals over runs (at least "
        f"{LEAST_RUNS}); near the last run they are too narrow.",
        legend=(legend_entries(styles, kind="mark"), list(styles)),
    )
    return figure
