"""When a comparison of two systems may stop: a rule, and the decision that it makes on paired differences.

Segments, or whole documents, are looked at in a random order. After each block the interval of a confidence sequence
(`stats/anytime.py`) for the mean difference is computed; the comparison stops if it lies on one side of 0, or within
the margin. If nothing is certain before all segments are used, Student's paired t test decides.

Both together err with probability alpha: the sequence has `alpha * (1 - final_share)` and the last test
`alpha * final_share`, each divided by the number of pairs of systems. With too few segments for a look before the
end, the test has all of alpha. The interval of a decision is that of the part that made it.

`decide` is a function of numbers only, so a rule can be tried on saved scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from nlgauge._version import __version__
from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.signature import Signature
from nlgauge.errors import RecipeError
from nlgauge.stats.anytime import ConfidenceSequence
from nlgauge.stats.numeric import Vector, vector
from nlgauge.stats.paired_tests import paired_t, t_statistics
from nlgauge.stats.resampling import Units, unit_numbers
from nlgauge.studies.compare.paired_tests import LEAST_FOR_A_VERDICT

#: better, worse: of the first system. equivalent: the difference is within the margin. not-worse: worse by less than
#: the margin, or better.
Outcome: TypeAlias = Literal["better", "worse", "equivalent", "not-worse", "undecided"]

#: What made a decision: the interval before the end, the test on all segments, or nothing.
DecidedBy: TypeAlias = Literal["sequence", "test", "nothing"]


@dataclass(frozen=True, kw_only=True)
class StopRule(OptionSet):
    """When a comparison stops; `signature` has all of it."""

    called: ClassVar[str] = "options of early stopping"

    alpha: float = option(0.05, Float(above=0, below=1), help="significance level", metavar="P")
    margin: float | None = option(
        None, Float(above=0), help="smallest difference that matters; smaller ones are equivalent", limit=1e6
    )
    goal: Literal["difference", "not-worse"] = option(
        "difference",
        Choice("difference", "not-worse"),
        help="not-worse: whether the second system is worse than the first by more than the margin",
        hidden=True,
    )
    min_segments: int = option(0, Int(0), help="fewest segments for a decision", metavar="N", limit=1e9)
    first_look: int = option(
        50, Int(2), help="segments, or documents, before the first look", hidden=True, metavar="N", limit=1e9
    )
    step: int = option(10, Int(1), help="fewest segments, or documents, between looks", hidden=True, limit=1e9)
    growth: float = option(
        0.1, Float(0, most=1), help="share of the segments used so far that the next block has at least", hidden=True
    )
    tuned_for: int = option(
        200, Int(1), help="segments, or documents, at which the interval is narrowest", hidden=True, limit=1e9
    )
    final_share: float = option(
        0.8, Float(above=0, below=1), help="share of alpha that is left to the test on all segments", hidden=True
    )
    seed: int = seed_option()

    def check(self) -> None:
        """Refuse a goal without its margin."""
        if self.goal == "not-worse" and self.margin is None:
            msg = "goal 'not-worse' needs margin, the largest loss that is accepted"
            raise RecipeError(msg)

    def sequence(self, pairs: int) -> ConfidenceSequence:
        """The confidence sequence of each of so many pairs."""
        alpha = self.alpha * (1 - self.final_share) / pairs
        return ConfidenceSequence(alpha=alpha, tuned_for=self.tuned_for, first_look=self.first_look)

    def signature(self, *, pairs: int = 1, unit: str = "segment", documents: str = "") -> str:
        """The rule in one line; `documents` is a digest of which segments share one.

        >>> StopRule(margin=0.01).signature()[:56]
        'until-certain|alpha:0.05|margin:0.01|goal:difference|min'
        """
        drawn = {"pairs": str(pairs), "unit": unit} | ({"documents": documents} if documents else {})
        fields = {"sequence": "waudby-smith-2024", "test": "t"} | drawn | {"nlgauge": __version__}
        return str(Signature("until-certain", self.signed() | fields))


@dataclass(frozen=True)
class Decision:
    """The decision about a pair of systems, made on the segments used so far."""

    outcome: Outcome
    decided_by: DecidedBy
    difference: float
    """Mean difference of the segments used; above 0 if the first system is better."""
    low: float
    high: float
    """Interval of the difference that is valid although the comparison could stop at any time."""
    p_value: float | None
    """Of the test on all segments; None if the comparison stopped before."""
    units: int
    """Segments used; documents, where these are drawn."""
    segments: int
    """Segments used."""


class Order:
    """The random order in which segments, or whole documents, are looked at."""

    def __init__(self, segments: int, rule: StopRule, documents: Units | None = None) -> None:
        """Draw an order, which depends on the seed and the number of segments or documents only."""
        numbers = np.arange(segments) if documents is None else unit_numbers(documents, segments)
        members: list[list[int]] = [[] for _ in range(int(numbers.max()) + 1)]
        for segment, number in enumerate(numbers.tolist()):
            members[number].append(segment)
        drawn = np.random.default_rng(rule.seed).permutation(len(members))
        self.units: list[list[int]] = [members[number] for number in drawn]
        """The segments of each unit, in the order drawn."""
        self.sizes: Vector = np.array([len(unit) for unit in self.units], dtype=np.float64)
        self._rule = rule

    @property
    def segments(self) -> list[int]:
        """All segments in the order drawn."""
        return [segment for unit in self.units for segment in unit]

    def looks(self) -> Iterator[int]:
        """Numbers of units at which the comparison looks; the last has all units."""
        rule, total = self._rule, len(self.units)
        used = np.cumsum(self.sizes)
        count = rule.first_look
        while count < total:
            if used[count - 1] >= rule.min_segments:
                yield count
            count += max(rule.step, int(rule.growth * count))
        yield total

    def totals(self, values: Vector) -> Vector:
        """Sum by unit the values of the first segments in the order drawn; these are whole units."""
        starts = np.concatenate([[0], np.cumsum(self.sizes).astype(np.intp)])
        ends = starts[1:][starts[1:] <= len(values)]
        return np.add.reduceat(values, starts[: len(ends)])


def decide(differences: ArrayLike, rule: StopRule, *, documents: Units | None = None, pairs: int = 1) -> Decision:
    """Apply a rule to paired differences of all segments, as if they were scored one block after the other.

    `differences` are of the first system's scores minus the second's, higher is better. The order is drawn with the
    rule's seed. `pairs` is the number of pairs of systems that share alpha.

    >>> decision = decide([0.5, 1.5] * 500, StopRule())
    >>> decision.outcome, decision.segments
    ('better', 50)
    """
    values = vector(differences, "decide")
    order = Order(len(values), rule, documents)
    totals = order.totals(values[np.array(order.segments)])
    for count in order.looks():
        decision = look(totals[:count], order.sizes[:count], rule, units=len(order.units), pairs=pairs)
        if decision is not None:
            return decision
    msg = "the last look has all segments and decides"  # pragma: no cover
    raise AssertionError(msg)  # pragma: no cover


def look(totals: Vector, sizes: Vector, rule: StopRule, *, units: int, pairs: int = 1) -> Decision | None:
    """Decide by the units used so far, of `units`; None if the comparison goes on.

    `totals` are sums of differences by unit, `sizes` the number of segments in each.
    """
    count, segments = len(totals), int(sizes.sum())
    if count < units:
        mean, error = _mean_and_error(totals, sizes)
        width = float(rule.sequence(pairs).half_width(count, count * error**2))
        outcome = judge(mean - width, mean + width, rule)
        if outcome == "undecided" or segments < rule.min_segments:
            return None
        return Decision(outcome, "sequence", mean, mean - width, mean + width, None, count, segments)
    mean, width, p_value = _test(totals, sizes, alpha=_final_alpha(rule, units) / pairs)
    enough = count >= LEAST_FOR_A_VERDICT and segments >= rule.min_segments
    outcome = judge(mean - width, mean + width, rule) if enough else "undecided"
    decided_by: DecidedBy = "nothing" if outcome == "undecided" else "test"
    return Decision(outcome, decided_by, mean, mean - width, mean + width, p_value, count, segments)


def judge(low: float, high: float, rule: StopRule) -> Outcome:
    """The outcome that an interval of the difference shows."""
    margin = rule.margin
    if rule.goal == "not-worse" and margin is not None:
        # The difference is that of the new system minus the base.
        return "not-worse" if low > -margin else "worse" if high < -margin else "undecided"
    if low > 0 or high < 0:
        return "better" if low > 0 else "worse"
    if margin is not None and -margin < low and high < margin:
        return "equivalent"
    return "undecided"


def _final_alpha(rule: StopRule, units: int) -> float:
    """The significance level of the test on all segments."""
    return rule.alpha if units <= rule.first_look else rule.alpha * rule.final_share


def _mean_and_error(totals: Vector, sizes: Vector) -> tuple[float, float]:
    means, errors = t_statistics(totals[:, None], sizes)
    return float(means[0]), float(errors[0])


def _test(totals: Vector, sizes: Vector, *, alpha: float) -> tuple[float, float, float | None]:
    """Mean, half width of Student's t interval, and p value; a single unit has no interval."""
    from scipy.stats import t as student

    if len(totals) < 2:
        return float(totals[0] / sizes[0]), math.inf, None
    mean, error = _mean_and_error(totals, sizes)
    return mean, float(student.isf(alpha / 2, len(totals) - 1)) * error, float(paired_t(totals[:, None], sizes)[0])
