"""A gate for a new version of a system: shut where it is significantly worse than the old one.

A gate asks one question, so only the two systems count: p values are not corrected for other systems in the
comparison, but for the number of metrics that may shut it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from nlgauge.compare.pairs import LEAST_FOR_A_VERDICT, detectable_errors, strictest_alpha
from nlgauge.compare.results import MetricComparison, SystemComparison
from nlgauge.compare.settings import CompareSettings
from nlgauge.errors import RecipeError
from nlgauge.files.html import HtmlCell, html_table
from nlgauge.stats import holm

__all__ = ["GateResult", "GateRow", "gate"]


@dataclass(frozen=True)
class GateRow:
    """The two systems under one metric."""

    metric: str
    difference: float
    """Of the scores, new minus base, turned so that below 0 means that the new system is worse."""
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    """Corrected for the number of metrics."""
    n: int
    """Instances; documents, where those were drawn."""
    detectable: float | None
    """A loss of this size would be found with a chance of 80 per cent."""
    worse: bool
    """Whether this metric shuts the gate."""
    opposed: bool = False
    """The test finds a difference, but not for the system with the better score: this metric decides nothing."""


@dataclass(frozen=True)
class GateResult:
    """Whether the new system may pass, and why."""

    passed: bool
    sentence: str
    base: str
    new: str
    rows: tuple[GateRow, ...]
    alpha: float
    smallest_difference: float

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [row.metric, row.difference, row.low, row.high, row.p_adjusted, row.n, "yes" if row.worse else "no"]
            for row in self.rows
        ]
        columns = ["metric", "difference", "low", "high", "p, corrected", "n", "worse"]
        state = "open" if self.passed else "closed"
        return html_table(
            columns, rows, caption=f"gate {state}: {self.new} beside {self.base}", notes=[self.sentence]
        )

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

    `metric` names the metric that decides; without a name each of them may shut the gate, with p values corrected by
    Holm for their number. Below ten instances nothing is significant, and the gate stays open.

    >>> from nlgauge.compare import compare_systems
    >>> old, new = [float(x % 7) for x in range(40)], [x % 7 - 1.0 - x % 3 / 9 for x in range(40)]
    >>> gate(compare_systems({"chrf": {"old": old, "new": new}}), base="old", new="new").passed
    False
    """
    if not 0 < alpha < 1:
        msg = f"alpha must lie between 0 and 1, got {alpha!r}"
        raise RecipeError(msg)
    if not smallest_difference >= 0:
        msg = f"smallest_difference must be 0 or more, got {smallest_difference!r}"
        raise RecipeError(msg)
    metrics = comparison.metrics if metric is None else (comparison.metric(metric),)
    p_values = [found.pair(base, new).p_value for found in metrics]
    adjusted = [float(value) for value in holm([1.0 if p is None else p for p in p_values])]
    rows = []
    for found, p in zip(metrics, adjusted, strict=True):
        row = _row(found, comparison.settings, base=base, new=new, p=p, alpha=alpha / len(metrics))
        counts = row.difference < 0 and -row.difference >= smallest_difference
        favoured = found.pair(base, new).favoured
        differ = p < alpha and row.n >= LEAST_FOR_A_VERDICT and favoured is not None
        opposed = differ and favoured != (new if row.difference > 0 else base if row.difference < 0 else None)
        rows.append(replace(row, worse=differ and counts and not opposed, opposed=opposed))
    shut = [row for row in rows if row.worse]
    level = comparison.settings.level
    unit = "document" if metrics[0].documents is not None else "instance"
    if shut:
        said = "; ".join(_said(row, level, unit) for row in shut)
        sentence = f"{new} is significantly worse than {base}: {said}; alpha {alpha:g}"
    else:
        said = "; ".join(_said(row, level, unit) + _why_open(row, alpha, smallest_difference) for row in rows)
        undecided = all(row.opposed for row in rows)
        verdict = (
            f"{new} against {base} is not decided" if undecided else f"{new} is not significantly worse than {base}"
        )
        sentence = f"{verdict}: {said}"
    if len(rows) > 1:
        sentence += f" (p corrected for {len(rows)} metrics)"
    return GateResult(not shut, sentence, base, new, tuple(rows), alpha, smallest_difference)


def _negated(value: float | None) -> float | None:
    return None if value is None else -value


def _row(
    found: MetricComparison, settings: CompareSettings, *, base: str, new: str, p: float, alpha: float
) -> GateRow:
    """The two systems, new minus base; `p` is corrected, `alpha` is what the strictest metric must be below."""
    pair = found.pair(base, new)
    ahead = pair.first == new
    units = found.n if found.documents is None else found.documents
    detectable = pair.detectable
    if detectable is not None:
        # That of the pair is for a correction by the number of pairs, which is no business of a gate.
        of_pairs = detectable_errors(strictest_alpha(settings, len(found.pairs)), units)
        detectable *= detectable_errors(alpha, units) / of_pairs
    return GateRow(
        metric=found.metric,
        difference=pair.difference if ahead else -pair.difference,
        low=pair.low if ahead else _negated(pair.high),
        high=pair.high if ahead else _negated(pair.low),
        p_value=pair.p_value,
        p_adjusted=None if pair.p_value is None else p,
        n=units,
        detectable=detectable,
        worse=False,
    )


def _said(row: GateRow, level: float, unit: str) -> str:
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f" ({100 * level:g} % interval {row.low:+.4g} to {row.high:+.4g})"
    p = "not tested" if row.p_adjusted is None else f"p = {row.p_adjusted:.4g}"
    return f"{row.metric} {row.difference:+.4g}{interval}, {p}, {row.n} {unit}{'s' * (row.n != 1)}"


def _why_open(row: GateRow, alpha: float, smallest: float) -> str:
    """What a reader may take a pass for, and must not."""
    if row.n < LEAST_FOR_A_VERDICT:
        return f", too few to tell (at least {LEAST_FOR_A_VERDICT})"
    if row.opposed:
        return ", but the test favours the system whose score is not the better one, so nothing is decided"
    if row.difference < 0 and row.p_adjusted is not None and row.p_adjusted < alpha:
        return f", less than the {smallest:g} that counts"
    return "" if row.detectable is None else f", a loss of {row.detectable:.2g} would be found with 80 %"
