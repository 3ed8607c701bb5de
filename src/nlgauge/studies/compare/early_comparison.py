"""Results of a comparison that stops when it is certain, with the gate on them.

Every table and sentence states how many of the segments were used. Means are over these, and are never called the
score of a system: that is the score of the whole test set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from nlgauge.core.registry import metric_title
from nlgauge.core.result import Result
from nlgauge.core.short_signature import format_signature
from nlgauge.errors import InputError
from nlgauge.io.numbers import decimals_for, format_count, format_level, format_p, format_signed
from nlgauge.io.table import Cell, Paragraphs, Table
from nlgauge.studies.compare.gates import GateResult, GateRow
from nlgauge.studies.compare.sentences import plain
from nlgauge.studies.compare.stopping import DecidedBy, Outcome, StopRule
from nlgauge.studies.compare.tables import Details, row_table


@dataclass(frozen=True)
class SystemSoFar:
    """One system under one metric, on the segments used."""

    system: str
    mean: float
    """Mean over the segments used; not the system's score on the test set."""
    segments: int
    """Segments used."""


@dataclass(frozen=True)
class PairVerdict:
    """Two systems under one metric."""

    first: str
    second: str
    outcome: Outcome
    """Of the first system; `not-worse` than the second by more than the margin."""
    decided_by: DecidedBy
    difference: float
    """First minus second on the segments used, turned so that above 0 means that the first is better."""
    low: float
    """Lower end of an interval that is valid although the comparison could stop at any time."""
    high: float
    p_value: float | None
    """Of the test on all segments, uncorrected; None if the comparison stopped before."""
    segments: int
    """Segments used for this decision."""
    of_segments: int
    """Segments of the test set."""
    documents: int | None
    """Documents used, where whole documents are drawn."""
    reason: str
    """Why the comparison of this pair stopped."""

    @property
    def stopped_early(self) -> bool:
        """Whether the decision needed only some of the segments."""
        return self.segments < self.of_segments

    @property
    def better(self) -> str | None:
        """The better system; None if neither is known to be better."""
        return {"better": self.first, "worse": self.second}.get(self.outcome)

    @property
    def used(self) -> str:
        """How many segments were used, in words."""
        documents = "" if self.documents is None else f" ({format_count(self.documents, 'document')})"
        if self.stopped_early:
            return f"stopped after {self.segments:,} of {format_count(self.of_segments, 'segment')}{documents}"
        return f"all {format_count(self.of_segments, 'segment')}{documents} used"

    def turned(self) -> PairVerdict:
        """The pair with its systems swapped."""
        outcome: dict[Outcome, Outcome] = {"better": "worse", "worse": "better"}
        return replace(
            self,
            first=self.second,
            second=self.first,
            outcome=outcome.get(self.outcome, self.outcome),
            difference=-self.difference,
            low=-self.high,
            high=-self.low,
        )


@dataclass(frozen=True)
class MetricVerdicts:
    """All pairs of systems under one metric."""

    metric: str
    signature: str
    """Recipe part of the signature of the scores."""
    higher_is_better: bool
    systems: tuple[SystemSoFar, ...]
    pairs: tuple[PairVerdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The metric as papers print it."""
        return metric_title(self.metric, self.signature)

    def pair(self, first: str, second: str) -> PairVerdict:
        """The verdict about two systems, the first in front."""
        for row in self.pairs:
            if {row.first, row.second} == {first, second}:
                return row if row.first == first else row.turned()
        known = ", ".join(row.system for row in self.systems)
        msg = f"no pair of {first!r} and {second!r} under {self.metric!r}; systems: {known}"
        raise InputError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class EarlyComparison(Result):
    """Systems compared on as many segments as a certain verdict needs."""

    format = "nlgauge-early-comparison-1"
    computed = ("verdicts",)
    optional = ("gate",)
    further: ClassVar[tuple[str, ...]] = ("systems",)

    metrics: tuple[MetricVerdicts, ...]
    rule: StopRule
    segments: int
    """Segments of the test set."""
    documents: int | None
    """Documents of the test set, where whole documents are drawn."""
    scored: float
    """Share of all system outputs that were scored."""
    signature: str
    """The rule, with the number of pairs and the seed of the order; each metric has the signature of its scores."""
    gate: GateResult | None = None

    def __repr__(self) -> str:
        metrics = ", ".join(metric.metric for metric in self.metrics)
        return f"<EarlyComparison by {metrics}: {self.scored:.0%} of outputs scored>"

    def metric(self, name: str | None = None) -> MetricVerdicts:
        """The verdicts of a metric; by default of the first."""
        for metric in self.metrics:
            if name in (None, metric.metric):
                return metric
        msg = f"no comparison by {name!r}; metrics: {', '.join(metric.metric for metric in self.metrics)}"
        raise InputError(msg)

    @property
    def verdicts(self) -> list[str]:
        """The verdict about each pair by each metric, in a sentence."""
        return [plain([_sentence(row, metric, self.rule)]) for metric in self.metrics for row in metric.pairs]

    def tables(self, form: str = "text") -> list[Table]:
        """Verdicts, pairs, means of the segments used, and a legend; for programs the pairs, or `systems`."""
        if form == "systems":
            return [_system_table(self.metrics)]
        pairs = [_pair_table(metric) for metric in self.metrics]
        if form in ("tsv", "csv"):
            rows = [
                [metric.metric, *row, metric.signature]
                for metric, table in zip(self.metrics, pairs, strict=True)
                for row in table.rows
            ]
            return [Table(["metric", *_PAIR_COLUMNS, "signature"], rows)]
        gate = [] if self.gate is None else [self.gate.paragraph()]
        signatures = [format_signature(metric.signature) for metric in self.metrics if metric.signature]
        details = Details(self._legend(), [*signatures, format_signature(self.signature)])
        return [*gate, Paragraphs(self.verdicts), *pairs, _system_table(self.metrics), details]

    def flat_columns(self) -> dict[str, Any]:
        """A row per metric and pair."""
        rows = [(metric.metric, row) for metric in self.metrics for row in metric.pairs]
        columns: dict[str, Any] = {"metric": [metric for metric, _ in rows]}
        return columns | {title: [getattr(row, name) for _, row in rows] for title, name in _PAIR_COLUMNS.items()}

    def _legend(self) -> list[str]:
        rule, pairs = self.rule, len(self.metrics[0].pairs)
        corrected = f", for all {pairs} pairs together" if pairs > 1 else ""
        unit = "segments" if self.documents is None else "documents"
        lines = [
            f"{unit} in random order (seed {rule.seed}); low, high: {format_level(1 - rule.alpha)} interval of the "
            f"difference, which stays valid although scoring can stop early{corrected}",
            "mean: over the segments used, not the score of the test set",
        ]
        return [*lines, *dict.fromkeys(note for metric in self.metrics for note in metric.notes)]


_PAIR_COLUMNS = {
    "first": "first",
    "second": "second",
    "first is": "outcome",
    "difference": "difference",
    "low": "low",
    "high": "high",
    "p": "p_value",
    "segments": "segments",
    "of": "of_segments",
    "reason": "reason",
}


def _pair_table(metric: MetricVerdicts) -> Table:
    return row_table(metric.pairs, _PAIR_COLUMNS, f"{metric.title}: pairs")


def _system_table(metrics: Sequence[MetricVerdicts]) -> Table:
    rows: list[list[Cell]] = [
        [metric.metric, row.system, row.mean, row.segments] for metric in metrics for row in metric.systems
    ]
    return Table(["metric", "system", "mean of segments used", "segments"], rows, "systems, on the segments used")


def _sentence(row: PairVerdict, metric: MetricVerdicts, rule: StopRule) -> str:
    decimals = decimals_for(system.mean for system in metric.systems)
    if row.better == row.second:
        row = row.turned()
    systems = f"{row.first} and {row.second}"
    verdict = {
        "better": f"{row.first} is better than {row.second}",
        "equivalent": f"{systems} are equivalent: they differ by less than {rule.margin}",
        "not-worse": f"{row.first} is not worse than {row.second} by more than {rule.margin}",
        "worse": f"{row.first} is worse than {row.second} by more than {rule.margin}",
        "undecided": f"No verdict about {systems}",
    }[row.outcome]
    return f"{verdict} ({metric.title}): {numbers(row, decimals)}; {row.used}."


def numbers(row: PairVerdict, decimals: int) -> str:
    """Difference, interval and p value of a pair, from the side of the system that has the better score.

    Statements and gates name the pair in different orders; the numbers are the same in both.
    """
    if (row.difference, row.second) < (0, row.first):
        row = row.turned()
    low, high = (format_signed(end, decimals) for end in (row.low, row.high))
    interval = f", interval {low} to {high}" if low and high else ""
    p_value = "" if row.p_value is None else f", {format_p(row.p_value)}"
    difference = format_signed(row.difference, decimals)
    return plain([f"difference {difference} in favour of {row.first}{interval}{p_value}"])


#: The result of a gate by what is known about the new system.
_GATE: Mapping[Outcome, Literal["passed", "failed", "undecided"]] = {
    "better": "passed",
    "equivalent": "passed",
    "not-worse": "passed",
    "worse": "failed",
    "undecided": "undecided",
}


def gate_early(comparison: EarlyComparison, *, base: str, new: str, metric: str | None = None) -> EarlyComparison:
    """Add the gate's decision: is `new` worse than `base`, by more than the rule's margin if it has one?

    Each metric decides by itself, on its own segments. Without a margin, a test on all segments that finds no
    difference passes, as in `gate`; with a margin it leaves the gate undecided.
    """
    rule = comparison.rule
    metrics = comparison.metrics if metric is None else (comparison.metric(metric),)
    rows = tuple(_gate_row(verdicts, verdicts.pair(new, base), rule) for verdicts in metrics)
    results = [row.result for row in rows]
    result: Literal["passed", "failed", "undecided"] = (
        "failed" if "failed" in results else "undecided" if "undecided" in results else "passed"
    )
    deciding = [
        f"{verdicts.metric} {_gate_reason(verdicts, verdicts.pair(new, base))}"
        for verdicts, row in zip(metrics, rows, strict=True)
        if row.result == result
    ]
    by_margin = "" if rule.margin is None else f" by more than {rule.margin:g}"
    claim = {
        "failed": f"{new} is worse than {base}{by_margin}: ",
        "passed": f"{new} is not worse than {base}{by_margin}: "
        if rule.margin is not None
        else "no significant drop: ",
        "undecided": f"not certain whether {new} is worse than {base}{by_margin}: ",
    }[result]
    sentence = f"{claim}{'; '.join(deciding)}; alpha {rule.alpha:g}"
    gate = GateResult(result, sentence, base, new, rows, rule.alpha, 0.0, rule.margin, rule.min_segments or None)
    return replace(comparison, gate=gate)


def _gate_row(metric: MetricVerdicts, pair: PairVerdict, rule: StopRule) -> GateRow:
    result = _GATE[pair.outcome]
    enough = pair.reason not in TOO_FEW
    if result == "undecided" and rule.goal == "difference" and enough:
        result = "passed"  # the test on all segments found no difference
    return GateRow(
        metric=metric.metric,
        difference=pair.difference,
        low=pair.low,
        high=pair.high,
        p_value=pair.p_value,
        n=pair.segments if pair.documents is None else pair.documents,
        detectable=None,
        result=result,
        reason=pair.reason if result == "undecided" else "",
    )


def _gate_reason(metric: MetricVerdicts, pair: PairVerdict) -> str:
    decimals = decimals_for(system.mean for system in metric.systems)
    return f"{numbers(pair, decimals)}, {pair.used}"


#: Reasons of pairs that no test was able to decide.
TOO_FEW = ("fewer segments than min_segments", "too few segments for a verdict")
