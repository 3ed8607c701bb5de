"""Verdicts of a comparison in words: which system is better, by how much, and how sure that is.

A sentence is a list of texts. Names of systems and metrics among them have classes of their own, so that a page can
set them apart; joined, they are plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nlgauge.io.table import decimals_for, level_text, number, p_text

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import MetricComparison, PairRow, SystemComparison
    from nlgauge.studies.compare.settings import CompareSettings


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
_LISTED = 4

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
    """The sentence as text, with the minus sign that programs know.

    >>> plain(["By ", MetricName("m"), " −0.5"])
    'By m -0.5'
    """
    return "".join(part if isinstance(part, SystemName | MetricName) else part.replace("−", "-") for part in sentence)


def test_name(settings: CompareSettings) -> str:
    """The test that decides, in words."""
    return _TESTS[settings.test]


def metric_decimals(found: MetricComparison) -> int:
    """Decimals of everything that is said about a metric."""
    return decimals_for(row.score for row in found.systems)


def metric_verdict(found: MetricComparison, settings: CompareSettings) -> list[str]:
    """What one metric says: one sentence, or two."""
    metric = MetricName(found.metric)
    if len(found.systems) == 1:
        row = found.systems[0]
        said = ["By ", metric, ", ", SystemName(row.system), f" has {number(row.score, metric_decimals(found))}"]
        return [*said, "; there is no other system to compare it with."]
    if len(found.systems) == 2:
        return _of_two(found, found.pairs[0], metric, settings)
    return _of_many(found, metric, settings)


def _of_two(found: MetricComparison, pair: PairRow, metric: MetricName, settings: CompareSettings) -> list[str]:
    decimals = metric_decimals(found)
    row = pair if pair.difference >= 0 else pair.turned()
    numbers = f"difference {number(row.difference, decimals)}{_interval(row, decimals, settings)}"
    numbers += "" if pair.p_adjusted is None else f", {p_text(pair.p_adjusted)}"
    if pair.better is not None:
        worse = pair.second if pair.better == pair.first else pair.first
        return [SystemName(pair.better), " is better than ", SystemName(worse), " by ", metric, f" ({numbers})."]
    said: list[str] = ["By ", metric, " no difference between ", *names([pair.first, pair.second])]
    said.append(f" is shown ({numbers}).")
    if pair.detectable:  # 0 between copies of a system, which never differ
        size = number(pair.detectable, decimals)
        said.append(f" On these segments a difference of {size} would be found in 80 % of cases.")
    return said


def _of_many(found: MetricComparison, metric: MetricName, settings: CompareSettings) -> list[str]:
    first, *others = found.systems
    decimals = metric_decimals(found)
    shared = _first(found)
    if len(shared) > 1:
        place = f" share the first of {len(found.systems)} places ({number(first.score, decimals)})."
        return ["By ", metric, ", ", *names(shared), place]
    beaten = {
        pair.first if pair.better == pair.second else pair.second
        for pair in found.pairs
        if pair.better == first.system
    }
    level = [row.system for row in others if row.system not in beaten]
    said: list[str] = ["By ", metric, ", ", SystemName(first.system), f" comes first of {len(found.systems)} systems"]
    said.append(f" ({number(first.score, decimals)}{_interval(first.interval, decimals, settings)}). ")
    corrected = " after Holm's correction" if settings.correction == "holm" else ""
    tested = f"p < {settings.alpha:g}{corrected} over {len(found.pairs)} pairs"
    if not level:
        said.append(f"It is better than all others ({tested}).")
    elif not beaten:
        said.append(f"No difference from any other system is shown ({tested}).")
    else:
        said += [
            f"It is better than {len(beaten)} of the other {len(others)} ({tested}); no difference is shown from "
        ]
        said += [*names(level), "."]
    return said


def on_the_winner(comparison: SystemComparison) -> list[str] | None:
    """Whether metrics agree on who comes first; None where there is one metric or one system."""
    if len(comparison.metrics) < 2 or len(comparison.metrics[0].systems) < 2:
        return None
    winners: dict[tuple[str, ...], list[str]] = {}
    for found in comparison.metrics:
        winners.setdefault(_first(found), []).append(found.metric)
    if len(winners) == 1:
        who = "Both" if len(comparison.metrics) == 2 else f"All {len(comparison.metrics)}"
        return [f"{who} metrics put ", *names(next(iter(winners))), " first."]
    parts: list[str] = []
    for systems, metrics in winners.items():
        parts += ["; " if parts else "", *names(systems), " by ", *names(metrics)]
    return [Emphasis("The metrics disagree on who comes first: "), *parts, "."]


def plain_verdicts(comparison: SystemComparison) -> list[str]:
    """A sentence or two per metric, and whether metrics agree on who comes first; as text."""
    sentences = [metric_verdict(found, comparison.settings) for found in comparison.metrics]
    agreed = on_the_winner(comparison)
    return [plain(sentence) for sentence in [*sentences, *([] if agreed is None else [agreed])]]


def _first(found: MetricComparison) -> tuple[str, ...]:
    """Systems that share the first place; mostly one."""
    return tuple(row.system for row in found.systems if row.rank == 1)


def names(listed: Sequence[str]) -> list[str]:
    """Names as a list in a sentence.

    >>> "".join(names(["a", "b", "c"])), "".join(names(["a", "b", "c", "d", "e", "f"]))
    ('a, b and c', 'a, b, c, d and 2 more')
    """
    shown: list[str] = [SystemName(name) for name in listed[:_LISTED]]
    if len(listed) > _LISTED:
        shown.append(f"{len(listed) - _LISTED} more")
    first, *others = shown
    parts = [first]
    for at, name in enumerate(others, 2):
        parts += [" and " if at == len(shown) else ", ", name]
    return parts


def _interval(row: PairRow | Interval | None, decimals: int, settings: CompareSettings) -> str:
    if row is None or row.low is None or row.high is None:
        return ""
    return f", {level_text(settings.level)} {number(row.low, decimals)} to {number(row.high, decimals)}"
