"""Comparison of systems over several runs each, such as training seeds.

The score of one run is a draw. Reimers and Gurevych (2017) show that the seed alone can reverse a comparison; so the
runs of either system are compared as distributions, next to what was spent on them.
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
from nlgauge.data.score_files import read_score_rows
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.table import Table
from nlgauge.stats.numeric import SAME
from nlgauge.stats.paired_tests import holm
from nlgauge.stats.resampling import Interval
from nlgauge.stats.validation import check_level, check_resampling, vector
from nlgauge.studies.compare.comparison import ComparedSystems
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.compare.system_scores import Matrix, SystemScores
from nlgauge.studies.compare.systems import own_idf_notes
from nlgauge.studies.compare.tables import DIFFERENCE, FOR_PROGRAMS, INTERVAL, budget_names, join_tables, row_table

#: Fewer runs have no interval, and show nothing significant.
_LEAST_RUNS = 4


@dataclass(frozen=True, eq=False)
class SystemRuns:
    """The scores of a system's runs, and what each of them cost."""

    system: str
    scores: Matrix
    """One per run; of runs x instances the means."""
    budget: Mapping[str, str | float] = field(default_factory=dict)
    """Such as {"GPU hours": 12, "parameters": "110M", "sentences": 4_500_000}."""

    def __post_init__(self) -> None:
        what = f"runs of system {self.system!r}"
        rows = [float(np.mean(vector(np.atleast_1d(np.asarray(run)), what))) for run in _listed(self.scores, what)]
        object.__setattr__(self, "scores", np.array(rows))


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
    further = ("pairs",)
    computed = ("signature",)

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

    @property
    def signature(self) -> str:
        """How runs were compared."""
        return (
            f"compare-runs|test:permutation|correction:holm|alpha:{self.alpha:g}|level:{self.level:g}"
            f"|permutations:{self.permutations}|seed:{self.seed}"
        )

    def tables(self, form: str = "text") -> list[Table]:
        """Systems over their runs, and pairs of systems; for programs one of the two."""
        if form in FOR_PROGRAMS:
            table = self.pairs_table(complete=True) if form == "pairs" else self.table()
            return [join_tables([(self.metric, table)])]
        return [self.table(), *([self.pairs_table()] if self.pairs else [])]

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
            f"with a star, or bold: permutation test of runs, p < {self.alpha:g}, corrected for all pairs by Holm",
            "P(first better): that a run of the first system beats a run of the second",
            f"signature: {self.signature}",
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
) -> RunComparison:
    """Which system is better over its runs? A run is a score, or a row of scores of instances.

    >>> found = compare_runs({"a": [0.71, 0.73, 0.72, 0.74, 0.70], "b": [0.61, 0.66, 0.63, 0.62, 0.65]})
    >>> found.pairs[0].better, round(found.pairs[0].p_value, 4)
    ('a', 0.0079)
    """
    check_level(level)
    check_level(1 - alpha)
    check_resampling(permutations, seed)
    found = (
        [SystemRuns(name, np.asarray(scores)) for name, scores in runs.items()] if isinstance(runs, Mapping) else runs
    )
    _check(found)
    sign = 1 if higher_is_better else -1
    ordered = sorted(found, key=lambda one: -sign * float(one.scores.mean()))
    pairs = [
        _pair(sign, one, other, level=level, permutations=permutations, seed=seed)
        for one, other in itertools.combinations(ordered, 2)
    ]
    adjusted = holm([pair.p_value for pair in pairs]).tolist() if pairs else []
    enough = {one.system: one.scores.size >= _LEAST_RUNS for one in ordered}
    return RunComparison(
        metric,
        higher_is_better,
        tuple(_row(one, level, seed) for one in ordered),
        tuple(
            _decided(pair, p, alpha, enough=enough[pair.first] and enough[pair.second])
            for pair, p in zip(pairs, adjusted, strict=True)
        ),
        tuple(_notes(ordered)),
        alpha,
        level,
        permutations,
        seed,
    )


def _listed(scores: ArrayLike, what: str) -> list[Any]:
    rows = list(np.asarray(scores)) if np.ndim(scores) else []
    if not rows:
        msg = f"{what}: expected at least one run"
        raise InputError(msg)
    return rows


def _check(runs: Sequence[SystemRuns]) -> None:
    names = [one.system for one in runs]
    if not names:
        msg = "there are no runs to compare"
        raise InputError(msg)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"two systems are called {twice!r}; put their runs together, or give each a name of its own"
        raise InputError(msg)


def _row(one: SystemRuns, level: float, seed: int) -> RunRow:
    scores, interval = one.scores, None
    mean, n = float(scores.mean()), scores.size
    deviation = float(scores.std(ddof=1)) if n > 1 else None
    if deviation is not None and n >= _LEAST_RUNS:
        from scipy.stats import t

        reach = float(t.ppf((1 + level) / 2, n - 1)) * deviation / math.sqrt(n)
        interval = Interval(mean, mean - reach, mean + reach, level, 0, seed)
    return RunRow(
        one.system,
        n,
        mean,
        deviation,
        interval,
        float(scores.min()),
        float(np.median(scores)),
        float(scores.max()),
        dict(one.budget),
    )


def _pair(sign: int, one: SystemRuns, other: SystemRuns, *, level: float, permutations: int, seed: int) -> RunPair:
    a, b = sign * one.scores, sign * other.scores
    difference = float(a.mean() - b.mean())
    low = high = None
    if min(a.size, b.size) >= _LEAST_RUNS:
        low, high = _welch(a, b, level)
    beaten = np.sign(a[:, None] - b[None, :])
    p = _permutation_p(a, b, permutations=permutations, seed=seed)
    probability = float((beaten.mean() + 1) / 2)
    return RunPair(one.system, other.system, difference, low, high, probability, p, p, False, None)


def _decided(pair: RunPair, adjusted: float, alpha: float, *, enough: bool) -> RunPair:
    significant = enough and adjusted < alpha
    better = pair.first if significant else None
    return replace(pair, p_adjusted=adjusted, significant=significant, better=better)


def _welch(a: Matrix, b: Matrix, level: float) -> tuple[float, float]:
    from scipy.stats import t

    one, other = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    difference, error = float(a.mean() - b.mean()), math.sqrt(one + other)
    if error == 0:
        return difference, difference
    freedom = (one + other) ** 2 / (one**2 / (a.size - 1) + other**2 / (b.size - 1))
    reach = float(t.ppf((1 + level) / 2, freedom)) * error
    return difference - reach, difference + reach


def _permutation_p(a: Matrix, b: Matrix, *, permutations: int, seed: int) -> float:
    """Share of the ways to deal out all runs to two systems that set their means at least as far apart."""
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


def _notes(runs: Sequence[SystemRuns]) -> list[str]:
    said = []
    few = [one.system for one in runs if one.scores.size < _LEAST_RUNS]
    if few:
        said.append(
            f"{', '.join(few)}: fewer than {_LEAST_RUNS} runs, so no interval and nothing that is called significant"
        )
    for name in dict.fromkeys(name for one in runs for name in one.budget):
        values = {one.system: one.budget.get(name) for one in runs}
        if len(set(map(str, values.values()))) > 1:
            shown = ", ".join(f"{system} {'unknown' if value is None else value}" for system, value in values.items())
            said.append(f"not at equal {name}: {shown}")
    return said


def compare_run_tables(
    tables: Sequence[SystemScores],
    systems: Mapping[str, str],
    *,
    budgets: Budgets | None = None,
    settings: CompareSettings | None = None,
) -> list[RunComparison]:
    """Systems over their runs, a comparison per metric.

    `systems` has the system of each column. The score of a run is that of all its output: for BLEU and chrF the
    score of the corpus, for other metrics the mean.
    """
    settings = settings or CompareSettings()
    found: list[RunComparison] = []
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
        )
        found.append(replace(compared, notes=(*compared.notes, *own_idf_notes(table.signature))))
    return found


#: By system and by what is counted, such as {"big": {"GPU hours": 12, "parameters": "110M"}}.
Budgets = dict[str, dict[str, str | float]]


def read_budgets(path: str | os.PathLike[str], systems: Sequence[str]) -> Budgets:
    """The budgets of these systems; an empty cell is not known, and a system that is not there is an error."""
    name = os.fspath(path)
    budgets: Budgets = {}
    for row in read_score_rows(name):
        system = row.label("system")
        if system in budgets:
            msg = f"{row.at('system')}: the budget of {system!r} stands there already; keep one"
            raise FileFormatError(msg)
        if system not in systems:
            msg = f"{row.at('system')}: there is no system {system!r} to compare; there are {', '.join(systems)}"
            raise InputError(msg)
        values = {key: value for key, value in row.values.items() if key != "system" and value not in ("", None)}
        budgets[system] = {
            key: value if isinstance(value, int | float) else str(value) for key, value in values.items()
        }
    return budgets
