"""Comparison of systems over several runs each, such as training seeds.

The score of one run is a draw. Reimers and Gurevych (2017) show that the seed alone can reverse a comparison; so the
runs of either system are compared as distributions, next to what was spent on them. `best_of` names a cost of a run
and adds a comparison at equal budget (`expected_best.py`).
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.core.result import Result
from nlgauge.core.short_signature import format_signature
from nlgauge.data.score_files import read_score_rows
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.table import Table
from nlgauge.stats.numeric import SAME, check_level, check_resampling, vector
from nlgauge.stats.paired_tests import holm
from nlgauge.stats.resampling import Interval
from nlgauge.studies.compare.comparison import ComparedSystems, CompareSettings
from nlgauge.studies.compare.expected_best import LEAST_RUNS, RUNS, EqualBudget, compare_budgets, draw_budgets
from nlgauge.studies.compare.system_scores import Matrix, SystemScores
from nlgauge.studies.compare.systems import own_idf_notes
from nlgauge.studies.compare.tables import DIFFERENCE, FOR_PROGRAMS, INTERVAL, budget_names, join_tables, row_table


@dataclass(frozen=True, eq=False)
class SystemRuns:
    """The scores of a system's runs, and their budget."""

    system: str
    scores: Matrix
    """One score per run; of a matrix of runs and instances the means."""
    budget: Mapping[str, str | float] = field(default_factory=dict)
    """Such as {"GPU hours": 12, "parameters": "110M", "sentences": 4_500_000}."""

    def __post_init__(self) -> None:
        what = f"runs of system {self.system!r}"
        if not np.ndim(self.scores) or not len(self.scores):
            msg = f"{what}: expected at least one run"
            raise InputError(msg)
        means = [float(np.mean(vector(np.atleast_1d(np.asarray(run)), what))) for run in self.scores]
        object.__setattr__(self, "scores", np.array(means))


@dataclass(frozen=True)
class RunRow:
    """One system over its runs."""

    system: str
    runs: int
    mean: float
    deviation: float | None
    """Standard deviation between runs."""
    interval: Interval | None
    """Student's t interval of the mean; None for fewer than four runs."""
    lowest: float
    median: float
    highest: float
    budget: Mapping[str, str | float]


@dataclass(frozen=True)
class RunPair:
    """Two systems over their runs."""

    first: str
    second: str
    difference: float
    """Of the means, turned so that above 0 means that the first is better."""
    low: float | None
    """Of Welch's interval of the difference; None where a system has fewer than four runs."""
    high: float | None
    probability: float
    """That a run of the first beats a run of the second; ties count half."""
    p_value: float
    """Two-sided permutation test of the difference of means; all ways to deal out the runs if they are few."""
    p_adjusted: float
    significant: bool
    better: str | None


@dataclass(frozen=True)
class RunComparison(ComparedSystems[RunPair], Result):
    """Systems compared over several runs each."""

    format = "nlgauge-runs-1"
    further = ("pairs", "budgets")
    computed = ("signature",)
    optional = ("equal_budget", "best_of")

    metric: str
    higher_is_better: bool
    systems: tuple[RunRow, ...]
    """Best mean first."""
    pairs: tuple[RunPair, ...]
    notes: tuple[str, ...]
    alpha: float
    level: float
    permutations: int
    seed: int
    best_of: str | None = None
    """Budget of the comparison at equal budget: `runs`, or what a run costs."""
    equal_budget: EqualBudget | None = None

    @property
    def signature(self) -> str:
        """How runs were compared."""
        budget = "" if self.best_of is None else f"|best_of:{self.best_of}"
        return (
            f"compare-runs|test:permutation|correction:holm|alpha:{self.alpha:g}|level:{self.level:g}"
            f"|permutations:{self.permutations}|seed:{self.seed}{budget}"
        )

    def tables(self, form: str = "text") -> list[Table]:
        """Systems over their runs, pairs of systems, and systems at equal budget; for programs one of them."""
        if form in FOR_PROGRAMS:
            tables = {"pairs": lambda: self.pairs_table(complete=True), "budgets": self.budget_table}
            return [join_tables([(self.metric, tables.get(form, self.table)())])]
        tables_for_people = [self.table(), *([self.pairs_table()] if self.pairs else [])]
        return tables_for_people if self.equal_budget is None else [*tables_for_people, self.budget_table()]

    def figure(self) -> Any:
        """Expected score of the best run against the budget; only with `best_of`."""
        return draw_run_budgets([self])

    def budget_table(self) -> Table:
        """Expected score of the best run of each system, at budgets that all systems can spend."""
        if self.equal_budget is None:
            msg = "runs were not compared at equal budget; use best_of, such as best_of='runs'"
            raise InputError(msg)
        columns = {"budget": "budget", "system": "system", "runs": "runs", "expected best": "expected"}
        columns |= {"low": "low", "high": "high", "P(best)": "probability"}
        notes = [
            "expected best: expected score of the best of so many runs (Dodge et al. 2019)",
            f"low, high: {100 * self.level:.10g} % bootstrap interval over runs; P(best): share of resamples",
        ]
        if not self.equal_budget.rows:
            notes = [
                "no common budget: a run of one system costs more than all runs of another; add runs of the latter"
            ]
        caption = f"{self.metric}, at equal budget ({self.best_of})"
        return row_table(self.equal_budget.rows, columns, caption, notes)

    def table(self) -> Table:
        """Systems over their runs, best mean first, with what was spent on them."""
        columns = {"system": "system", "runs": "runs", "mean": "mean", **INTERVAL, "deviation": "deviation"}
        columns |= {name: name for name in ("lowest", "median", "highest")}
        columns |= {name: f"budget.{name}" for name in budget_names(row.budget for row in self.systems)}
        caption = f"{self.metric}, over runs{'' if self.higher_is_better else ' (distance: lower is better)'}"
        interval = f"low, high: {100 * self.level:.10g} % t interval over runs"
        return row_table(self.systems, columns, caption, [*self.notes, interval])

    def pairs_table(self, *, complete: bool = False) -> Table:
        """Every pair of systems over their runs; `complete` with the better system."""
        columns = DIFFERENCE | {"P(first better)": "probability", "p": "p_value", "p Holm": "p_adjusted"}
        notes = [
            f"star, or bold: permutation test of runs, p < {self.alpha:g}, Holm-corrected for all pairs",
            "P(first better): probability that a run of the first system beats a run of the second",
            f"signature: {format_signature(self.signature)}",
        ]
        columns |= {"better": "better"} if complete else {}
        return row_table(self.pairs, columns, f"{self.metric}, pairs over runs", notes, marked=not complete)


def compare_runs(
    runs: Sequence[SystemRuns] | Mapping[str, ArrayLike],
    *,
    metric: str = "score",
    higher_is_better: bool = True,
    alpha: float = 0.05,
    level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 12345,
    best_of: str | None = None,
) -> RunComparison:
    """Compare systems over their runs. A run is a score, or a row of scores of instances.

    `best_of` adds a comparison at equal budget: `"runs"`, or the key of `budget` that has the cost of one run.

    >>> comparison = compare_runs({"a": [0.71, 0.73, 0.72, 0.74, 0.70], "b": [0.61, 0.66, 0.63, 0.62, 0.65]})
    >>> comparison.pairs[0].better, round(comparison.pairs[0].p_value, 4)
    ('a', 0.0079)
    """
    check_level(level)
    check_level(1 - alpha)
    check_resampling(permutations, seed)
    if isinstance(runs, Mapping):
        runs = [SystemRuns(name, np.asarray(scores)) for name, scores in runs.items()]
    names = [system.system for system in runs]
    if not names:
        msg = "expected at least one system with runs, got none"
        raise InputError(msg)
    for name in names:
        if names.count(name) > 1:
            msg = f"two systems are called {name!r}; merge their runs, or give each another name"
            raise InputError(msg)
    sign = 1 if higher_is_better else -1
    ordered = sorted(runs, key=lambda system: -sign * float(system.scores.mean()))
    pairs = list(itertools.combinations(ordered, 2))
    p_values = [
        _permutation_p(sign * a.scores, sign * b.scores, permutations=permutations, seed=seed) for a, b in pairs
    ]
    adjusted = holm(p_values).tolist() if pairs else []
    return RunComparison(
        metric,
        higher_is_better,
        tuple(_row(system, level, seed) for system in ordered),
        tuple(
            _pair(sign, *pair, level, p, p_adjusted, alpha)
            for pair, p, p_adjusted in zip(pairs, p_values, adjusted, strict=True)
        ),
        tuple(_notes(ordered)),
        alpha,
        level,
        permutations,
        seed,
        best_of,
        None if best_of is None else _equal_budget(ordered, best_of, sign, level, permutations, seed),
    )


def _equal_budget(
    systems: Sequence[SystemRuns], best_of: str, sign: int, level: float, resamples: int, seed: int
) -> EqualBudget:
    costs = {}
    for runs in systems:
        cost = 1.0 if best_of == RUNS else runs.budget.get(best_of)
        try:
            costs[runs.system] = float("" if cost is None else cost)
        except ValueError:
            what = "is missing" if cost is None else f"is {cost!r}, not a number"
            known = ", ".join((RUNS, *budget_names(runs.budget for runs in systems)))
            msg = f"the cost {best_of!r} of a run of {runs.system!r} {what}; possible budgets: {known}"
            raise InputError(msg) from None
    scores = {runs.system: runs.scores for runs in systems}
    return compare_budgets(scores, costs, higher_is_better=sign > 0, level=level, resamples=resamples, seed=seed)


def draw_run_budgets(comparisons: Sequence[RunComparison]) -> Any:
    """Figure of comparisons at equal budget, a panel per metric."""
    results = {compared.metric: compared.equal_budget for compared in comparisons}
    drawn = {metric: result for metric, result in results.items() if result is not None}
    if not drawn:
        msg = "a figure of runs shows them at equal budget; use best_of, such as best_of='runs'"
        raise InputError(msg)
    first = comparisons[0]
    return draw_budgets(drawn, unit=str(first.best_of), level=first.level)


def _row(runs: SystemRuns, level: float, seed: int) -> RunRow:
    scores, interval = runs.scores, None
    mean, n = float(scores.mean()), scores.size
    deviation = float(scores.std(ddof=1)) if n > 1 else None
    if deviation is not None and n >= LEAST_RUNS:
        reach = _quantile(level, n - 1) * deviation / math.sqrt(n)
        interval = Interval(mean, mean - reach, mean + reach, level, 0, seed)
    lowest, median, highest = float(scores.min()), float(np.median(scores)), float(scores.max())
    return RunRow(runs.system, n, mean, deviation, interval, lowest, median, highest, dict(runs.budget))


def _quantile(level: float, freedom: float) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, freedom))


def _pair(
    sign: int, first: SystemRuns, second: SystemRuns, level: float, p: float, p_adjusted: float, alpha: float
) -> RunPair:
    a, b = sign * first.scores, sign * second.scores
    difference, reach = float(a.mean() - b.mean()), None
    if min(a.size, b.size) >= LEAST_RUNS:
        # Welch's interval.
        error_a, error_b = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
        error = error_a + error_b
        spread = error_a**2 / (a.size - 1) + error_b**2 / (b.size - 1)
        reach = _quantile(level, error**2 / spread) * math.sqrt(error) if error else 0.0
    probability = float((np.sign(a[:, None] - b[None, :]).mean() + 1) / 2)
    low, high = (None, None) if reach is None else (difference - reach, difference + reach)
    significant = reach is not None and p_adjusted < alpha
    better = first.system if significant else None
    tested = (p, p_adjusted, significant, better)
    return RunPair(first.system, second.system, difference, low, high, probability, *tested)


def _permutation_p(a: Matrix, b: Matrix, *, permutations: int, seed: int) -> float:
    """Share of all assignments of the runs to two systems whose means differ at least as much."""
    pool = np.concatenate([a, b])
    total, n = pool.sum(), a.size
    ways = math.comb(pool.size, n)
    if ways <= permutations:
        sums = np.array([pool[list(chosen)].sum() for chosen in itertools.combinations(range(pool.size), n)])
    else:
        rng = np.random.default_rng(seed)
        sums = np.array([pool[rng.permutation(pool.size)[:n]].sum() for _ in range(permutations)])
    reached = np.abs(sums / n - (total - sums) / b.size)
    limit = abs(a.mean() - b.mean()) * (1 - SAME) - SAME * np.abs(pool).max()
    count = int((reached >= limit).sum())
    return count / ways if ways <= permutations else (count + 1) / (permutations + 1)


def _notes(systems: Sequence[SystemRuns]) -> list[str]:
    notes = []
    few = [runs.system for runs in systems if runs.scores.size < LEAST_RUNS]
    if few:
        notes.append(f"{', '.join(few)}: fewer than {LEAST_RUNS} runs, so no interval and no significance")
    for name in budget_names(runs.budget for runs in systems):
        values = {runs.system: runs.budget.get(name) for runs in systems}
        if len(set(map(str, values.values()))) > 1:
            shown = ", ".join(f"{system} {'unknown' if value is None else value}" for system, value in values.items())
            notes.append(f"different {name}: {shown}")
    return notes


def compare_run_tables(
    tables: Sequence[SystemScores],
    systems: Mapping[str, str],
    *,
    budgets: Budgets | None = None,
    settings: CompareSettings | None = None,
    best_of: str | None = None,
) -> list[RunComparison]:
    """Compare systems over their runs, once per metric.

    `systems` has the system of each column, `best_of` the budget for a comparison at equal budget. A run has the
    score of all its output: for BLEU and chrF that of the corpus, for other metrics the mean.
    """
    settings = settings or CompareSettings()
    comparisons: list[RunComparison] = []
    for table in tables:
        counts = table.counts
        totals = table.values.mean(axis=0) if counts is None else table.corpus_score(counts.sum(axis=0))
        scores: dict[str, list[float]] = {}
        for run, value in zip(table.systems, totals.tolist(), strict=True):
            scores.setdefault(systems[run], []).append(value)
        runs = [SystemRuns(name, np.array(values), (budgets or {}).get(name, {})) for name, values in scores.items()]
        compared = compare_runs(
            runs,
            metric=table.metric,
            higher_is_better=table.higher_is_better,
            alpha=settings.alpha,
            level=settings.level,
            permutations=settings.permutations,
            seed=settings.seed,
            best_of=best_of,
        )
        comparisons.append(replace(compared, notes=(*compared.notes, *own_idf_notes(table.signature))))
    return comparisons


#: Budgets of systems, such as {"big": {"GPU hours": 12, "parameters": "110M"}}.
Budgets = dict[str, dict[str, str | float]]


def read_budgets(path: str | os.PathLike[str], systems: Sequence[str]) -> Budgets:
    """Read the budgets of systems; an empty cell is unknown, and another system is an error."""
    name = os.fspath(path)
    budgets: Budgets = {}
    for row in read_score_rows(name):
        system = row.label("system")
        if system in budgets:
            msg = f"{row.location('system')}: duplicate budget of {system!r}; keep one"
            raise FileFormatError(msg)
        if system not in systems:
            msg = f"{row.location('system')}: unknown system {system!r}; systems: {', '.join(systems)}"
            raise InputError(msg)
        values = {key: value for key, value in row.values.items() if key != "system" and value not in ("", None)}
        budgets[system] = {
            key: value if isinstance(value, int | float) else str(value) for key, value in values.items()
        }
    return budgets
