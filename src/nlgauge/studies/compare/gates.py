"""The gate for a new version of a system: it fails if the new system is significantly worse than the old one.

With a margin it is a test of non-inferiority: the interval of the difference must lie above minus the margin to pass,
and below it to fail. Otherwise the gate is undecided.

Each metric is decided by itself, at the full significance level: p values are corrected neither for other systems nor
for other metrics. So a metric that fails alone also fails with others. More metrics never make a gate more lenient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

from nlgauge.core.result import Result
from nlgauge.errors import RecipeError
from nlgauge.io.numbers import format_count
from nlgauge.io.table import Paragraphs, Table
from nlgauge.studies.calibrate.curves import HumanAgreement
from nlgauge.studies.compare.comparison import CompareSettings, MetricComparison, PairRow, SystemComparison
from nlgauge.studies.compare.paired_tests import LEAST_FOR_A_VERDICT, detectable_errors, smallest_p, strictest_alpha
from nlgauge.studies.compare.systems import pair_agreement
from nlgauge.studies.compare.tables import row_table

GateDecision = Literal["passed", "failed", "undecided"]


class NoDecision(NamedTuple):
    """Why there is no decision."""

    result: Literal["not-run"]
    sentence: str


@dataclass(frozen=True)
class GateNotRun(Result):
    """A gate that could not run."""

    format = "nlgauge-gate-not-run-1"

    gate: NoDecision

    def tables(self, form: str = "text") -> list[Table]:
        """The reason."""
        return [Table(["result", "sentence"], [list(self.gate)])]


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
    human_agreement: HumanAgreement | None = None
    """How often human raters preferred the same one of two systems that differ as much; None without a curve."""

    excused: bool | None = None
    """A significant drop of a size on which human raters agree too rarely (`min_agreement`)."""

    optional: ClassVar[tuple[str, ...]] = ("human_agreement", "excused")


@dataclass(frozen=True)
class GateResult(Result):
    """The decision, and why."""

    format = "nlgauge-gate-1"
    optional = ("margin", "min_segments", "min_agreement")

    result: GateDecision
    """Failed if any metric failed, else undecided if any is undecided, else passed."""
    sentence: str
    base: str
    new: str
    rows: tuple[GateRow, ...]
    alpha: float
    smallest_difference: float
    margin: float | None = None
    """Loss that is accepted; the gate then fails only if the new system is worse by more."""
    min_segments: int | None = None
    """Fewest segments for a decision."""
    min_agreement: float | None = None
    """Smaller human agreement on a difference of this size excuses a significant drop."""

    @property
    def passed(self) -> bool:
        """Decided, and the new system is not significantly worse by any metric."""
        return self.result == "passed"

    @property
    def failed(self) -> bool:
        """The new system is significantly worse by at least one metric."""
        return self.result == "failed"

    @property
    def headline(self) -> str:
        """The decision and its reason in a line."""
        return f"gate {self.result}: {self.sentence}"

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric; for people after the decision in words."""
        columns = {name: name for name in ("metric", "difference", "low", "high")}
        columns |= {"p": "p_value", "n": "n", "result": "result"}
        if form in ("tsv", "csv"):
            return [row_table(self.rows, columns)]
        return [self.paragraph(), row_table(self.rows, columns, f"{self.new} compared with {self.base}")]

    def paragraph(self) -> Paragraphs:
        """The headline, with the decision in bold."""
        return Paragraphs([f": {self.sentence}"], lead=f"gate {self.result}")


def gate(
    comparison: SystemComparison,
    *,
    base: str,
    new: str,
    metric: str | None = None,
    alpha: float = 0.05,
    smallest_difference: float = 0.0,
    margin: float | None = None,
    min_segments: int = 0,
    min_agreement: float | None = None,
) -> GateResult:
    """Is `new` significantly worse than `base`, by at least the smallest difference that counts?

    With `margin` the question is whether `new` is worse by more than the margin, in the units of the metric. The
    interval of the difference decides, so the comparison needs level 1 - alpha. `min_segments` are needed for any
    decision. With `min_agreement`, a drop fails the gate only if human raters preferred the same system in at least
    this share of the pairs that differ as much; without a curve of the recipe, every significant drop fails.
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
    if margin is not None:
        _check_margin(margin, smallest_difference, alpha, comparison.settings.level)
    if min_agreement is not None and not 0.5 < min_agreement <= 1:
        msg = f"min_agreement must be above 0.5 and at most 1, got {min_agreement!r}"
        raise RecipeError(msg)
    metrics = comparison.metrics if metric is None else (comparison.metric(metric),)
    least = min_segments or None
    result = GateResult("passed", "", base, new, (), alpha, smallest_difference, margin, least, min_agreement)
    result = replace(result, rows=tuple(_decide(metric, comparison.settings, result) for metric in metrics))
    results = [row.result for row in result.rows]
    if "failed" in results:
        return replace(result, result="failed", sentence=_why_failed(comparison, result))
    if "undecided" in results:
        return replace(result, result="undecided", sentence=_why_undecided(result.rows))
    return replace(result, sentence=_why_passed(comparison, result))


def _check_margin(margin: float, smallest_difference: float, alpha: float, level: float) -> None:
    if not 0 < margin < math.inf:
        msg = f"margin must be a number above 0, got {margin!r}"
        raise RecipeError(msg)
    if smallest_difference:
        msg = f"margin is {margin:g} and smallest_difference is {smallest_difference:g}; give one of them"
        raise RecipeError(msg)
    if not math.isclose(level, 1 - alpha):
        needed = f"{1 - alpha:g}"
        msg = f"a gate with margin needs intervals of level {needed}, got {level:g}; compare with level={needed}"
        raise RecipeError(msg)


def _decide(metric: MetricComparison, settings: CompareSettings, gate: GateResult) -> GateRow:
    """Decide by one metric alone."""
    pair = metric.pair(gate.base, gate.new)
    pair = pair if pair.first == gate.new else pair.turned()
    units = metric.n if metric.documents is None else metric.documents
    reason = _undecided(metric, pair, settings, units=units, gate=gate)
    worse = pair.p_value is not None and pair.p_value < gate.alpha and pair.favoured == gate.base
    failed = worse and pair.difference < 0 and -pair.difference >= gate.smallest_difference
    if gate.margin is not None:
        failed = pair.high is not None and pair.high < -gate.margin
    agreement = pair_agreement(metric, pair, settings)
    excused = False
    if failed and gate.min_agreement is not None and agreement is not None:
        excused = agreement.share < gate.min_agreement
    detectable = pair.detectable
    if detectable is not None:
        # The pair's own value assumes a correction for the number of pairs, which a gate does not make.
        of_pairs = detectable_errors(strictest_alpha(settings, len(metric.pairs)), units)
        detectable *= detectable_errors(gate.alpha, units) / of_pairs
    return GateRow(
        metric=metric.metric,
        difference=pair.difference,
        low=pair.low,
        high=pair.high,
        p_value=pair.p_value,
        n=units,
        detectable=detectable,
        result="undecided" if reason else "failed" if failed and not excused else "passed",
        reason=reason,
        human_agreement=agreement,
        excused=True if excused and not reason else None,
    )


def _undecided(
    metric: MetricComparison, pair: PairRow, settings: CompareSettings, *, units: int, gate: GateResult
) -> str:
    """Why the test cannot decide; empty where it can."""
    alpha = gate.alpha
    if metric.n < (gate.min_segments or 0):
        return f"{format_count(metric.n, 'segment')}, at least {gate.min_segments:,} are required (min_segments)"
    if units < LEAST_FOR_A_VERDICT or pair.p_value is None:
        too_few = "is too few" if units == 1 else "are too few"
        return f"{_counted(metric)} {too_few} to decide, at least {LEAST_FOR_A_VERDICT} are needed"
    if gate.margin is not None:
        if pair.low is None or pair.high is None:
            return f"{_counted(metric)} are too few for an interval"
        if pair.low > -gate.margin or pair.high < -gate.margin:
            return ""
        ends = f"{pair.low:+.4g} to {pair.high:+.4g}"
        return f"the interval {ends} contains the margin, {-gate.margin:g}; use more segments or a wider margin"
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


def _why_failed(comparison: SystemComparison, gate: GateResult) -> str:
    failed = [(row, comparison.metric(row.metric)) for row in gate.rows if row.result == "failed"]
    numbers = "; ".join(_numbers(row, metric, comparison.settings.level) for row, metric in failed)
    sentence = f"{gate.new} is significantly worse than {gate.base}: {numbers}; alpha {gate.alpha:g}"
    meaning = _meaning([row for row, _ in failed], gate)
    if gate.margin is not None:
        return f"{gate.new} is worse than {gate.base} by more than {gate.margin:g}: {numbers}{meaning}"
    pairs = len(comparison.metrics[0].pairs)
    if pairs > 1 and not all(metric.pair(gate.base, gate.new).significant for _, metric in failed):
        sentence += f" (the gate tests this pair alone, stars in the tables are corrected for {pairs} pairs)"
    return sentence + meaning


def _meaning(rows: Sequence[GateRow], gate: GateResult) -> str:
    """What the differences of failed metrics mean to human raters."""
    sentences = [row.human_agreement.sentence for row in rows if row.human_agreement is not None]
    without = [row.metric for row in rows if row.human_agreement is None]
    if gate.min_agreement is not None and without:
        sentences.append(
            f"Human agreement with {', '.join(without)} is unknown for these settings, so every significant drop "
            "fails; 'nlgauge study calibrate' can measure it"
        )
    return "".join(f". {sentence}".removesuffix(".") for sentence in sentences)


def _excused(gate: GateResult) -> list[str]:
    """Statements about significant drops that human raters agree on too rarely to fail the gate."""
    return [
        row.human_agreement.sentence.removesuffix(".")
        for row in gate.rows
        if row.excused and row.human_agreement is not None
    ]


def _why_undecided(rows: tuple[GateRow, ...]) -> str:
    metrics: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            metrics.setdefault(row.reason, []).append(row.metric)
    if len(rows) == 1 or list(metrics.values()) == [[row.metric for row in rows]]:
        return next(iter(metrics))
    return "; ".join(f"by {', '.join(names)}: {reason}" for reason, names in metrics.items())


def _why_passed(comparison: SystemComparison, gate: GateResult) -> str:
    excused = _excused(gate)
    if excused:
        return (
            f"{gate.new} is significantly worse than {gate.base}, but by a difference with a human agreement below "
            f"{gate.min_agreement:.0%}: {'. '.join(excused)}"
        )
    if gate.margin is not None:
        numbers = "; ".join(
            _numbers(row, comparison.metric(row.metric), comparison.settings.level, margin=True) for row in gate.rows
        )
        return f"{gate.new} is not worse than {gate.base} by more than {gate.margin:g}: {numbers}"
    rows, sentence = gate.rows, "no significant drop"
    if gate.smallest_difference:
        sentence += f" of {gate.smallest_difference:g} or more"
    if len(comparison.metrics[0].systems) > 2:
        sentence += f" from {gate.base} to {gate.new}"
    if len(rows) > 1:
        sentence += f" by any of {len(rows)} metrics"
    elif len(comparison.metrics) > 1:
        sentence += f" by {rows[0].metric}, the only gate metric"
    detectable = [row for row in rows if row.detectable is not None]
    drops = [f"{row.detectable:.2g}{f' by {row.metric}' if len(rows) > 1 else ''}" for row in detectable]
    if drops:
        sentence += f" (this test set can detect a drop of {' or '.join(drops)} with 80 % power)"
    return sentence


def _numbers(row: GateRow, metric: MetricComparison, level: float, *, margin: bool = False) -> str:
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f" ({100 * level:g} % interval {row.low:+.4g} to {row.high:+.4g})"
    of_zero = " for a difference of 0" if margin else ""
    return f"{row.metric} {row.difference:+.4g}{interval}, p = {row.p_value:.4g}{of_zero}, {_counted(metric)}"


def _counted(metric: MetricComparison) -> str:
    count, unit = (metric.n, "segment") if metric.documents is None else (metric.documents, "document")
    return f"{count} {unit}{'s' * (count != 1)}"
