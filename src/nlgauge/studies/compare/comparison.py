"""Results of a comparison as plain data: systems, pairs of systems, metrics, rankings, and the gate.

The gate for a new version of a system fails if the new system is significantly worse than the old one. Each metric is
decided by itself, at the full significance level: p values are corrected neither for other systems nor for other
metrics. So a metric that fails alone also fails with others. More metrics never make a gate more lenient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from nlgauge.errors import InputError, RecipeError
from nlgauge.io.formats import HtmlCell, html_table
from nlgauge.stats.resampling import Interval
from nlgauge.studies.compare.paired_tests import LEAST_FOR_A_VERDICT, detectable_errors, smallest_p, strictest_alpha
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.compare.system_scores import Matrix


@dataclass(frozen=True)
class SystemRow:
    """One system under one metric."""

    system: str
    score: float
    """The system's score: the mean over instances, or the score of the whole corpus (BLEU, chrF)."""
    interval: Interval | None
    """Of the score; None for fewer than four instances (or documents)."""
    mean: float
    median: float
    bradley_terry: float
    """Strength; the strengths of all systems sum to 1."""
    bt_interval: Interval | None
    elo: float | None
    trueskill: float | None
    """Mean of the skill."""
    rank: int
    """From 1; systems whose values are equal share the better one."""
    cluster: int
    """From 1, as in WMT: every system of a cluster is significantly better than every system of later clusters."""
    worse_than_best: bool
    """Significantly worse than the system that comes first, or than one of those that share the first rank."""
    wins: int
    """Over all other systems and all instances."""
    ties: int
    losses: int
    never_won: bool
    never_lost: bool
    outliers: float
    """Share of the system's scores that lie more than 1.5 interquartile ranges outside of the middle half."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {name: _interval(getattr(self, name)) for name in ("interval", "bt_interval")}


@dataclass(frozen=True)
class PairRow:
    """Two systems under one metric; `first` comes before `second` in the ranking."""

    first: str
    second: str
    difference: float
    """Of the systems' scores, first minus second, turned so that above 0 means that the first is better."""
    low: float | None
    """Of the interval of the difference; None for fewer than four instances."""
    high: float | None
    effect: float | None
    """Cohen's d_z: mean paired difference over its standard deviation; None where there is no deviation.

    It is of the scores of instances, and may have another sign than the difference of corpus scores (BLEU, chrF).
    """
    wins: int
    """Instances on which the first is better."""
    ties: int
    losses: int
    p: Mapping[str, float]
    """Two-sided, by name of the test, uncorrected; empty for fewer than two instances."""
    p_value: float | None
    """Of the test that decides."""
    p_adjusted: float | None
    """The same corrected for the number of pairs."""
    significant: bool
    better: str | None
    """The system that is significantly better."""
    detectable: float | None
    """Smallest true difference that would be found with a chance of 80 per cent; None without any spread."""
    favoured: str | None = None
    """The system on whose side the statistic of the test that decides is, significant or not; None for neither."""
    opposed: bool = False
    """The test finds a difference, but in favour of the system whose score is not the better one: no verdict."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return self.__dict__ | {"p": dict(self.p)}


@dataclass(frozen=True)
class Diagnostics:
    """What the scores of a metric look like, before anybody wins."""

    outliers: float
    """Share of all scores that lie more than 1.5 interquartile ranges outside of the middle half."""
    ties: float
    """Share of comparisons (pairs of systems on an instance) that tie."""
    instance_deviation: float | None
    """Mean over instances of the standard deviation between systems: how far systems are apart on an instance."""
    difficulty_deviation: float | None
    """Standard deviation of the instances' means: how unequal instances are. Pairing takes it out."""
    rank_deviations: Mapping[str, float]
    """By system the standard deviation of its rank on an instance."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return self.__dict__ | {"rank_deviations": dict(self.rank_deviations)}


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparison:
    """All systems under one metric."""

    metric: str
    signature: str
    higher_is_better: bool
    n: int
    """Instances."""
    documents: int | None
    """Documents that the instances come from, where that is known."""
    systems: tuple[SystemRow, ...]
    """Best first."""
    pairs: tuple[PairRow, ...]
    """All pairs, in the order of `systems`."""
    win_matrix: Matrix
    """In the order of `systems`: share of instances on which the row's system beats the column's."""
    condorcet: str | None
    """The system that beats every other one on more instances than it loses to it."""
    bt_winner: str
    connected: bool
    """Whether wins lead from every system to every other one; else strengths have no finite maximum."""
    notes: tuple[str, ...]
    diagnostics: Diagnostics

    def __repr__(self) -> str:
        count = len(self.systems)
        best = f"{self.winner} {'alone ' * self.separated}ahead"
        return f"<MetricComparison {self.metric}: {count} system{'s' * (count != 1)} on {self.n} instances, {best}>"

    def _repr_html_(self) -> str:
        columns = ["cluster", "system", "score", "low", "high", "Bradley-Terry", "wins", "ties", "losses"]
        rows: list[list[HtmlCell]] = [
            [
                row.cluster,
                row.system,
                row.score,
                None if row.interval is None else row.interval.low,
                None if row.interval is None else row.interval.high,
                row.bradley_terry,
                row.wins,
                row.ties,
                row.losses,
            ]
            for row in self.systems
        ]
        return html_table(columns, rows, caption=f"{self.metric}, {self.n} instances", notes=self.notes)

    @property
    def winner(self) -> str:
        """The system that comes first."""
        return self.systems[0].system

    @property
    def separated(self) -> bool:
        """Whether the first system is significantly better than all others."""
        return sum(row.cluster == 1 for row in self.systems) == 1 < len(self.systems)

    def pair(self, first: str, second: str) -> PairRow:
        """The row of two systems, whichever of them comes first in it."""
        for row in self.pairs:
            if {row.first, row.second} == {first, second}:
                return row
        names = [row.system for row in self.systems]
        strange = next((name for name in (first, second) if name not in names), None)
        what = f"no system {strange!r}" if strange else "nothing to compare a system with itself"
        msg = f"there is {what} in the comparison by {self.metric!r}; it has {names}"
        raise InputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        nested = {
            "systems": [row.to_dict() for row in self.systems],
            "pairs": [row.to_dict() for row in self.pairs],
            "win_matrix": np.asarray(self.win_matrix).tolist(),
            "diagnostics": self.diagnostics.to_dict(),
            "notes": list(self.notes),
        }
        return self.__dict__ | nested


@dataclass(frozen=True)
class RankingDisagreement:
    """Two ways to rank the same systems."""

    first: str
    """Such as "bertscore mean" or "bertscore BT"."""
    second: str
    share_of_pairs: float | None
    """Of all pairs of systems, those that one ranking orders one way and the other the other way; None if a ranking
    ties all systems."""
    different_winner: bool
    different_top3: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison:
    """Systems compared by one or several metrics."""

    metrics: tuple[MetricComparison, ...]
    disagreements: tuple[RankingDisagreement, ...]
    """Of a metric's rankings by score and by Bradley-Terry, and of the rankings by score of each two metrics."""
    settings: CompareSettings
    signature: str
    """How systems were compared; how they were scored is in the signature of each metric."""

    def __repr__(self) -> str:
        return f"<SystemComparison by {', '.join(found.metric for found in self.metrics)} | {self.signature}>"

    def _repr_html_(self) -> str:
        return "".join(found._repr_html_() for found in self.metrics)

    @property
    def winners(self) -> dict[str, str]:
        """By metric the system that comes first."""
        return {found.metric: found.winner for found in self.metrics}

    def metric(self, name: str | None = None) -> MetricComparison:
        """The comparison by a metric; without a name by the first one."""
        if name is None:
            return self.metrics[0]
        for found in self.metrics:
            if found.metric == name:
                return found
        msg = f"systems were not compared by {name!r}, but by {[found.metric for found in self.metrics]}"
        raise InputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python values; the same input gives the same JSON bytes."""
        return {
            "metrics": [found.to_dict() for found in self.metrics],
            "disagreements": [found.to_dict() for found in self.disagreements],
            "settings": self.settings.to_dict(),
            "signature": self.signature,
        }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else interval._asdict()


GateDecision = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class GateRow:
    """The two systems under one metric."""

    metric: str
    difference: float
    """Of the scores, new minus base, turned so that below 0 means that the new system is worse."""
    low: float | None
    high: float | None
    p_value: float | None
    """Two-sided, of this pair and this metric alone: not corrected."""
    n: int
    """Segments; documents, where those were drawn."""
    detectable: float | None
    """A drop of this size would be found with a chance of 80 per cent."""
    result: GateDecision
    reason: str = ""
    """Why this metric is undecided."""


@dataclass(frozen=True)
class GateResult:
    """The decision, and why."""

    result: GateDecision
    """Failed if any metric failed, else undecided if any is undecided, else passed."""
    sentence: str
    base: str
    new: str
    rows: tuple[GateRow, ...]
    alpha: float
    smallest_difference: float

    @property
    def passed(self) -> bool:
        """Decided, and the new system is not significantly worse by any metric."""
        return self.result == "passed"

    @property
    def failed(self) -> bool:
        """The new system is significantly worse by at least one metric."""
        return self.result == "failed"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [row.metric, row.difference, row.low, row.high, row.p_value, row.n, row.result] for row in self.rows
        ]
        columns = ["metric", "difference", "low", "high", "p", "n", "result"]
        caption = f"gate {self.result}: {self.new} compared with {self.base}"
        return html_table(columns, rows, caption=caption, notes=[self.sentence])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"rows": [asdict(row) for row in self.rows]}


def gate(
    comparison: SystemComparison,
    *,
    base: str,
    new: str,
    metric: str | None = None,
    alpha: float = 0.05,
    smallest_difference: float = 0.0,
) -> GateResult:
    """Is `new` significantly worse than `base`, by at least the smallest difference that counts?

    `metric` names the metric that decides; without a name the gate fails if any metric fails. A metric is undecided
    if its test cannot fail: with fewer than ten segments (documents, where those are drawn), with a test whose
    smallest possible p value is not below `alpha`, or where the test favours the system with the lower score.

    >>> from nlgauge.studies.compare import compare_systems
    >>> old, new = [float(x % 7) for x in range(40)], [x % 7 - 1.0 - x % 3 / 9 for x in range(40)]
    >>> gate(compare_systems({"chrf": {"old": old, "new": new}}), base="old", new="new").result
    'failed'
    """
    if not 0 < alpha < 1:
        msg = f"alpha must lie between 0 and 1, got {alpha!r}"
        raise RecipeError(msg)
    if not smallest_difference >= 0:
        msg = f"smallest_difference must be 0 or more, got {smallest_difference!r}"
        raise RecipeError(msg)
    metrics = comparison.metrics if metric is None else (comparison.metric(metric),)
    rows = tuple(
        _decide(found, comparison.settings, base=base, new=new, alpha=alpha, smallest=smallest_difference)
        for found in metrics
    )
    results = [row.result for row in rows]
    result: GateDecision = "failed" if "failed" in results else "undecided" if "undecided" in results else "passed"
    if result == "failed":
        sentence = _why_failed(comparison, rows, base=base, new=new, alpha=alpha)
    elif result == "undecided":
        sentence = _why_undecided(rows)
    else:
        sentence = _why_passed(comparison, rows, base=base, new=new, smallest=smallest_difference)
    return GateResult(result, sentence, base, new, rows, alpha, smallest_difference)


def _decide(
    found: MetricComparison, settings: CompareSettings, *, base: str, new: str, alpha: float, smallest: float
) -> GateRow:
    """One metric by itself."""
    pair = found.pair(base, new)
    ahead = pair.first == new
    difference = pair.difference if ahead else -pair.difference
    units = found.n if found.documents is None else found.documents
    reason = _undecided(found, pair, settings, units=units, alpha=alpha)
    worse = pair.p_value is not None and pair.p_value < alpha and pair.favoured == base and difference < 0
    result: GateDecision = "undecided" if reason else "failed" if worse and -difference >= smallest else "passed"
    detectable = pair.detectable
    if detectable is not None:
        # That of the pair is for a correction by the number of pairs, which is no business of a gate.
        of_pairs = detectable_errors(strictest_alpha(settings, len(found.pairs)), units)
        detectable *= detectable_errors(alpha, units) / of_pairs
    return GateRow(
        metric=found.metric,
        difference=difference,
        low=pair.low if ahead else _negated(pair.high),
        high=pair.high if ahead else _negated(pair.low),
        p_value=pair.p_value,
        n=units,
        detectable=detectable,
        result=result,
        reason=reason,
    )


def _undecided(found: MetricComparison, pair: PairRow, settings: CompareSettings, *, units: int, alpha: float) -> str:
    """Why the test cannot decide; empty where it can."""
    if units < LEAST_FOR_A_VERDICT or pair.p_value is None:
        too_few = "is too few" if units == 1 else "are too few"
        return f"{_counted(found)} {too_few} to decide, at least {LEAST_FOR_A_VERDICT} are needed"
    differing = pair.wins + pair.losses
    least = smallest_p(settings, units=units, differing=differing) if differing else 0.0
    if least >= alpha:
        more_draws = 2.0 ** (1 - min(units, differing)) < alpha and settings.test in ("randomisation", "bootstrap")
        remedy = "use more permutations" if more_draws else "use more segments"
        return f"the smallest possible p value of test {settings.test} is {least:.2g}, not below {alpha:g}; {remedy}"
    better = pair.first if pair.difference > 0 else pair.second if pair.difference < 0 else None
    if pair.p_value < alpha and pair.favoured is not None and pair.favoured != better:
        score = f"{better} has the better score" if better is not None else "the scores are equal"
        return f"test {settings.test} favours {pair.favoured}, but {score}"
    return ""


def _why_failed(comparison: SystemComparison, rows: tuple[GateRow, ...], *, base: str, new: str, alpha: float) -> str:
    failed = [row for row in rows if row.result == "failed"]
    said = "; ".join(_numbers(row, comparison.metric(row.metric), comparison.settings.level) for row in failed)
    sentence = f"{new} is significantly worse than {base}: {said}; alpha {alpha:g}"
    pairs = len(comparison.metrics[0].pairs)
    starred = all(comparison.metric(row.metric).pair(base, new).significant for row in failed)
    if pairs > 1 and not starred:
        sentence += f" (the gate tests this pair alone, stars in the tables are corrected for {pairs} pairs)"
    return sentence


def _why_undecided(rows: tuple[GateRow, ...]) -> str:
    metrics: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            metrics.setdefault(row.reason, []).append(row.metric)
    if len(rows) == 1 or list(metrics.values()) == [[row.metric for row in rows]]:
        return next(iter(metrics))
    return "; ".join(f"by {', '.join(names)}: {reason}" for reason, names in metrics.items())


def _why_passed(
    comparison: SystemComparison, rows: tuple[GateRow, ...], *, base: str, new: str, smallest: float
) -> str:
    sentence = "no significant drop"
    if smallest:
        sentence += f" of {smallest:g} or more"
    if len(comparison.metrics[0].systems) > 2:
        sentence += f" from {base} to {new}"
    if len(rows) > 1:
        sentence += f" by any of {len(rows)} metrics"
    elif len(comparison.metrics) > 1:
        sentence += f" by {rows[0].metric}, the only gate metric"
    known = [row for row in rows if row.detectable is not None]
    drops = [f"{row.detectable:.2g}{f' by {row.metric}' if len(rows) > 1 else ''}" for row in known]
    if drops:
        sentence += f" (this test set can detect a drop of {' or '.join(drops)} with 80 % power)"
    return sentence


def _numbers(row: GateRow, found: MetricComparison, level: float) -> str:
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f" ({100 * level:g} % interval {row.low:+.4g} to {row.high:+.4g})"
    return f"{row.metric} {row.difference:+.4g}{interval}, p = {row.p_value:.4g}, {_counted(found)}"


def _counted(found: MetricComparison) -> str:
    count, unit = (found.n, "segment") if found.documents is None else (found.documents, "document")
    return f"{count} {unit}{'s' * (count != 1)}"


def _negated(value: float | None) -> float | None:
    return None if value is None else -value
