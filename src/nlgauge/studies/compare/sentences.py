"""The outcome of a comparison in sentences: which system is better, and whether the difference is significant.

A sentence is a list of texts. Names of systems and metrics in it have classes of their own, so that a page can set
them apart; `plain` joins the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nlgauge.core.registry import metric_title
from nlgauge.io.numbers import decimals_for, format_level, format_number, format_p

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import CompareSettings, MetricComparison, PairRow, SystemComparison


class SystemName(str):
    """A system, as its user calls it."""

    __slots__ = ()


class MetricName(str):
    """A metric."""

    __slots__ = ()


class Emphasis(str):
    """Words that a reader must not miss."""

    __slots__ = ()


#: So many names are listed in a sentence; more are counted.
_LISTED = 8

_TESTS = {
    "bootstrap": "paired bootstrap",
    "randomisation": "approximate randomisation",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test without ties",
    "sign-ties-in": "sign test with ties",
    "mood": "Mood's median test",
}


def plain(sentence: Sequence[str]) -> str:
    """The sentence as text, with an ASCII minus sign in its numbers.

    >>> plain(["Lower ", MetricName("m"), " −0.5"])
    'Lower m -0.5'
    """
    return "".join(part if isinstance(part, SystemName | MetricName) else part.replace("−", "-") for part in sentence)


def test_name(settings: CompareSettings) -> str:
    """The test that decides, by its usual name."""
    return _TESTS[settings.test]


def decision_rule(settings: CompareSettings, pairs: int) -> str:
    """Test, significance level and correction, for a legend."""
    rule = f"{test_name(settings)}, p < {settings.alpha:g}"
    if pairs > 1:
        rule += f", Holm-corrected for {pairs} pairs" if settings.correction == "holm" else ", not corrected"
    if settings.smallest_difference:
        rule += f", difference at least {settings.smallest_difference:g}"
    return rule


def title_of(comparison: MetricComparison) -> str:
    """The metric as papers print it."""
    return metric_title(comparison.metric, comparison.signature)


def metric_decimals(comparison: MetricComparison) -> int:
    """Decimals of all numbers about a metric."""
    return decimals_for(row.score for row in comparison.systems)


def metric_verdict(comparison: MetricComparison, settings: CompareSettings) -> list[str]:
    """The outcome by one metric, in one sentence or a few."""
    metric = MetricName(title_of(comparison))
    if len(comparison.systems) == 1:
        row = comparison.systems[0]
        score = format_number(row.score, metric_decimals(comparison))
        return [
            SystemName(row.system),
            " has a ",
            metric,
            f" of {score}; there is no other system to compare it with.",
        ]
    if len(comparison.systems) == 2:
        return _verdict_of_two(comparison, comparison.pairs[0], metric, settings)
    return _verdict_of_many(comparison, metric, settings)


def _verdict_of_two(
    comparison: MetricComparison, pair: PairRow, metric: MetricName, settings: CompareSettings
) -> list[str]:
    decimals = metric_decimals(comparison)
    row = pair if pair.difference >= 0 else pair.turned()
    numbers = f": difference {format_number(row.difference, decimals)}{_interval(row, decimals, settings)}"
    numbers += "" if pair.p_adjusted is None else f", {format_p(pair.p_adjusted)}"
    if pair.better is not None:
        worse = pair.second if pair.better == pair.first else pair.first
        better = [SystemName(pair.better), " is significantly better than ", SystemName(worse)]
        return [*better, " (", metric, f"){numbers}."]
    systems = names([pair.first, pair.second])
    if pair.p_adjusted is None and comparison.n < 2:
        size = format_number(row.difference, decimals)
        return [
            *("The difference between ", *systems, " (", metric),
            f") is {size}; it was not tested, because there is only 1 segment.",
        ]
    if pair.p_adjusted is None:
        return ["The difference between ", *systems, " (", metric, f") was not tested{numbers}."]
    sentence = ["No significant difference between ", *systems, " (", metric, f"){numbers}."]
    if pair.detectable:  # 0 between copies of a system, which never differ
        size = format_number(pair.detectable, decimals)
        sentence.append(f" This test set can detect a difference of {size} with 80 % power.")
    return sentence


def _verdict_of_many(comparison: MetricComparison, metric: MetricName, settings: CompareSettings) -> list[str]:
    first, *others = comparison.systems
    decimals = metric_decimals(comparison)
    shared = _winners(comparison)
    if len(shared) > 1:
        place = f" of {len(comparison.systems)} systems ({format_number(first.score, decimals)})."
        return [*names(shared), " share the best ", metric, place]
    beaten = {
        pair.first if pair.better == pair.second else pair.second
        for pair in comparison.pairs
        if pair.better == first.system
    }
    level = [row.system for row in others if row.system not in beaten]
    worse = [row.system for row in others if row.system in beaten]
    numbers = f" of {len(comparison.systems)} systems ({format_number(first.score, decimals)}"
    numbers += f"{_interval(first.interval, decimals, settings)})"
    best = [SystemName(first.system), " has the best ", metric, numbers]
    pairs = len(comparison.pairs)
    corrected = f", Holm-corrected for {pairs} pairs" if settings.correction == "holm" else ""
    level_of_test = f" (p < {settings.alpha:g}{corrected})."
    if not level:
        return [*best, " and is significantly better than all others", level_of_test]
    if not beaten:
        return [*best, "; no other system is significantly worse", level_of_test]
    equal = ["; no significant difference from ", *names(level)]
    return [*best, *equal, "; significantly better than ", *names(worse), level_of_test]


def agreement_on_winner(comparison: SystemComparison) -> list[str] | None:
    """Whether metrics agree on the best system; None where there is one metric or one system."""
    if len(comparison.metrics) < 2 or len(comparison.metrics[0].systems) < 2:
        return None
    winners: dict[tuple[str, ...], list[str]] = {}
    for metric in comparison.metrics:
        winners.setdefault(_winners(metric), []).append(title_of(metric))
    if len(winners) == 1:
        metrics = "Both" if len(comparison.metrics) == 2 else f"All {len(comparison.metrics)}"
        return [f"{metrics} metrics rank ", *names(next(iter(winners))), " first."]
    parts: list[str] = []
    for systems, titles in winners.items():
        parts += ["; " if parts else "", *names(systems), " (", *names(titles, MetricName), ")"]
    return [Emphasis("The metrics disagree on the best system: "), *parts, "."]


def human_sentence(comparison: MetricComparison) -> list[str] | None:
    """How often human raters preferred the same system at this difference; None without a curve of this recipe."""
    statement = comparison.human_agreement
    if statement is None:
        return None
    text = statement.sentence.removeprefix(statement.title)
    between: list[str] = []
    if len(comparison.systems) > 2:  # one pair of several
        between = [" of ", *names([statement.first, statement.second])]
    return [MetricName(statement.title), *between, text]


def plain_verdicts(comparison: SystemComparison) -> list[str]:
    """The verdict of each metric, what it means to human raters, and whether metrics agree on the best system."""
    sentences: list[list[str] | None] = []
    for metric in comparison.metrics:
        sentences += [metric_verdict(metric, comparison.settings), human_sentence(metric)]
    sentences.append(agreement_on_winner(comparison))
    return [plain(sentence) for sentence in sentences if sentence is not None]


def _winners(comparison: MetricComparison) -> tuple[str, ...]:
    """Systems that share the first place; mostly one."""
    return tuple(row.system for row in comparison.systems if row.rank == 1)


def names(listed: Sequence[str], kind: type[SystemName] | type[MetricName] = SystemName) -> list[str]:
    """Names as a list in a sentence.

    >>> "".join(names(["a", "b", "c"])), "".join(names(list("abcdefghij")))
    ('a, b and c', 'a, b, c, d, e, f, g, h and 2 more')
    """
    shown: list[str] = [kind(name) for name in listed[:_LISTED]]
    if len(listed) > _LISTED:
        shown.append(f"{len(listed) - _LISTED} more")
    first, *others = shown
    parts = [first]
    for position, name in enumerate(others, 2):
        parts += [" and " if position == len(shown) else ", ", name]
    return parts


def _interval(row: PairRow | Interval | None, decimals: int, settings: CompareSettings) -> str:
    if row is None or row.low is None or row.high is None:
        return ""
    low, high = format_number(row.low, decimals), format_number(row.high, decimals)
    return f", {format_level(settings.level)} interval {low} to {high}"
