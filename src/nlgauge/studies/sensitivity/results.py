"""Results of a sensitivity study: how far numbers and ranks move between the settings of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nlgauge.core.result import Result
from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Table
from nlgauge.stats.summaries import coefficient_of_variation, relative_difference
from nlgauge.studies.compare.rankings import Flip

#: Flips listed one by one where they are not significant.
_LISTED = 10

_WHAT = {
    "segment": "agreement with people on segments",
    "topic": "agreement with people on the systems of a topic",
    "system": "agreement with people on systems",
    "score": "score of each system",
}


@dataclass(frozen=True)
class SettingInfo:
    """One setting of one metric, and the recipes behind it."""

    metric: str
    sweep: str
    setting: str
    signatures: Mapping[str, str]
    """Recipe part of the signature, by language pair."""
    zero_weight: int
    """Segments in which the setting left nothing of a text."""


class GroupEffect(NamedTuple):
    """How far a number moves in one group, a language pair or a system."""

    values: tuple[float | None, ...]
    """One per setting; None where there is none."""
    cv: float | None
    """Coefficient of variation over the settings, in per cent."""
    rd: tuple[float | None, ...]
    """Relative difference of each setting to the base, in per cent; 0 for the base itself."""
    best: str | None
    """Setting with the highest agreement, the first of equals; None for scores, which have no best."""


class AverageEffect(NamedTuple):
    """Unweighted means over groups."""

    values: tuple[float | None, ...]
    """One per setting."""
    cv: float | None
    """Of the groups' CV: the data set's, as published."""
    rd: tuple[float | None, ...]
    """Of the groups' RD, by setting."""


@dataclass(frozen=True)
class SettingEffect:
    """How far a number moves over the settings of a sweep, in each group (a language pair, or a system)."""

    metric: str
    sweep: str
    level: str
    """Agreement with people by language pair (segment, topic or system), or the score of a system (score)."""
    settings: tuple[str, ...]
    """The first is the base of relative differences."""
    groups: Mapping[str, GroupEffect]
    average: AverageEffect
    ddof: int = 1

    @classmethod
    def of(
        cls,
        metric: str,
        sweep: str,
        level: str,
        settings: tuple[str, ...],
        values: Mapping[str, tuple[float | None, ...]],
        ddof: int = 1,
    ) -> SettingEffect:
        """The effect on values: by group, one per setting."""
        groups = {
            group: GroupEffect(
                row,
                _cv(row, ddof),
                tuple(_rd(value, row[0]) for value in row),
                None if level == "score" else _best(row, settings),
            )
            for group, row in values.items()
        }
        rows = groups.values()
        average = AverageEffect(
            tuple(_mean([row.values[at] for row in rows]) for at in range(len(settings))),
            _mean([row.cv for row in rows]),
            tuple(_mean([row.rd[at] for row in rows]) for at in range(len(settings))),
        )
        return cls(metric, sweep, level, settings, groups, average, ddof)

    @property
    def largest_rd(self) -> float | None:
        """RD furthest from 0 over groups and settings, without its sign."""
        return max(
            (abs(value) for row in self.groups.values() for value in row.rd if value is not None), default=None
        )


@dataclass(frozen=True)
class SettingRanking:
    """Systems of one language pair over the settings of a sweep."""

    metric: str
    sweep: str
    langpair: str
    settings: tuple[str, ...]
    systems: Mapping[str, tuple[float, ...]]
    """Mean score by system, a value per setting; higher is better (a distance has its sign changed)."""
    taus: tuple[float | None, ...]
    """Kendall's tau-b of each setting's ranking with the base's."""
    flips: tuple[Flip, ...]


@dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """Everything that a study found; tables and figures are drawn from it."""

    format = "nlgauge-sensitivity-1"

    data: str
    study: str
    agreement: str | None
    """What agreement with people is measured by; None where there are no human scores."""
    settings: tuple[SettingInfo, ...]
    movements: tuple[SettingEffect, ...]
    rankings: tuple[SettingRanking, ...]
    stopwords: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Size of each list of stop words, by setting and language."""
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        metrics = list(dict.fromkeys(one.metric for one in self.settings))
        sweeps = list(dict.fromkeys(one.sweep for one in self.settings))
        return f"<Sensitivity {self.study} on {self.data}: {', '.join(metrics)} under {', '.join(sweeps)}>"

    def effect(self, metric: str, sweep: str, level: str) -> SettingEffect:
        """The effect on that metric, of that sweep, at that level."""
        for one in self.movements:
            if (one.metric, one.sweep, one.level) == (metric, sweep, level):
                return one
        known = "; ".join(f"{one.metric}, {one.sweep}, {one.level}" for one in self.movements)
        msg = f"the study has no result for {metric}, {sweep}, {level}; it has: {known}"
        raise InputError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """Overview, a table per metric, sweep and level, then what happens to ranks."""
        tables = [_overview(self)]
        tables += [_effect(one, self) for one in self.movements]
        if self.rankings:
            tables += [_ranks(self), *_flips(self)]
        tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *self.notes, *_signatures(self)))
        return tables

    def figure(self) -> Any:
        """Bars: how far each metric moves over the settings of each sweep."""
        from nlgauge.studies.sensitivity.figures import draw_variation

        return draw_variation(self)

    def rank_figure(self) -> Any:
        """Strips: the score of each system under each setting, with a line where two systems swap places."""
        from nlgauge.studies.sensitivity.figures import draw_ranks

        return draw_ranks(self)

    def save_figure(self, path: str | Path) -> None:
        """Write the bars, and where systems are ranked the strips next to them, as NAME-ranks."""
        from nlgauge.io.canvas import save_figure

        super().save_figure(path)
        if any(len(ranking.systems) > 1 for ranking in self.rankings):
            save_figure(self.rank_figure(), Path(path).with_stem(f"{Path(path).stem}-ranks"))


def _cv(row: tuple[float | None, ...], ddof: int) -> float | None:
    present = [value for value in row if value is not None]
    try:
        return None if len(present) < len(row) else coefficient_of_variation(present, ddof=ddof)
    except InputError:  # a mean of 0, or one setting
        return None


def _rd(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None or base == 0 else relative_difference(value, base)


def _best(row: tuple[float | None, ...], settings: tuple[str, ...]) -> str | None:
    present = [(value, -at) for at, value in enumerate(row) if value is not None]
    return settings[-max(present)[1]] if present else None


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present and len(present) == len(values) else None


def _signatures(result: Sensitivity) -> list[str]:
    """That of each sweep's first setting, which the others differ from by their setting alone; JSON has them all."""
    firsts: dict[tuple[str, str], SettingInfo] = {}
    for one in result.settings:
        firsts.setdefault((one.metric, one.sweep), one)
    where: dict[tuple[str, str], list[str]] = {}
    for one in firsts.values():
        signature = next(iter(one.signatures.values()), "")
        where.setdefault((one.metric, signature), []).append(f"{one.sweep} {one.setting}")
    return [
        f"signature of {metric} ({', '.join(settings)}): {signature}"
        for (metric, signature), settings in where.items()
        if signature
    ]


def _overview(result: Sensitivity) -> Table:
    rows: list[list[Cell]] = []
    for one in result.movements:
        values = [value for value in one.average.values if value is not None]
        spread = max(values) - min(values) if values else None
        flips = [
            flip
            for rank in result.rankings
            if (rank.metric, rank.sweep) == (one.metric, one.sweep)
            for flip in rank.flips
        ]
        marks: list[Cell] = [len(flips), sum(flip.significant for flip in flips)] if result.rankings else []
        rows.append(
            [one.metric, one.sweep, one.level, len(one.settings), one.average.cv, one.largest_rd, spread, *marks]
        )
    columns = ["metric", "sweep", "level", "settings", "CV %", "largest RD %", "range"]
    caption = f"{result.study} on {result.data}: how far settings move " + (result.agreement or "scores")
    return Table([*columns, *(["flips", "significant"] if result.rankings else [])], rows, caption)


def _effect(one: SettingEffect, result: Sensitivity) -> Table:
    two = len(one.settings) == 2
    rows: list[list[Cell]] = []
    for group, row in one.groups.items():
        rows.append([group, *row.values, *([row.rd[1]] if two else []), row.cv, row.best or ""])
    if len(one.groups) > 1:
        average = one.average
        rows.append(["average", *average.values, *([average.rd[1]] if two else []), average.cv, ""])
    columns = ["", *one.settings, *(["RD %"] if two else []), "CV %", "best"]
    if one.level == "score":
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    caption = f"{one.metric}, {one.sweep}: {_WHAT[one.level]}"
    if result.agreement and one.level != "score":
        caption += f" ({result.agreement})"
    sizes = [
        f"{setting}: {', '.join(f'{count} words {lang}'.rstrip() for lang, count in known.items())}"
        for setting in one.settings
        if one.sweep == "stopwords" and setting != "none" and (known := result.stopwords.get(setting))
    ]
    return Table(columns, rows, caption, notes=sizes)


def _ranks(result: Sensitivity) -> Table:
    rows: list[list[Cell]] = []
    for one in result.rankings:
        for setting, tau in list(zip(one.settings, one.taus, strict=True))[1:]:
            flips = [flip for flip in one.flips if flip.setting == setting]
            significant = sum(flip.significant for flip in flips)
            rows.append([one.metric, one.sweep, one.langpair, setting, tau, len(flips), significant])
    columns = ["metric", "sweep", "pair", "setting", "tau with base", "flips", "significant"]
    notes = [] if any(one.flips for one in result.rankings) else ["No pair of systems flips."]
    return Table(columns, rows, "Rankings of systems beside that of the sweep's first setting", notes)


def _flips(result: Sensitivity) -> list[Table]:
    """A table where there are flips, none where there are not."""
    found = [(one, flip) for one in result.rankings for flip in one.flips]
    if not found:
        return []
    weak = [pair for pair in found if not pair[1].significant]
    shown = [pair for pair in found if pair[1].significant] + weak[:_LISTED]
    rows: list[list[Cell]] = [
        [
            one.metric,
            one.sweep,
            one.langpair,
            flip.setting,
            flip.ahead,
            flip.behind,
            flip.base_difference,
            flip.difference,
            flip.p,
            "untested" if flip.p is None else "yes" if flip.significant else "no",
        ]
        for one, flip in shown
    ]
    columns = ["metric", "sweep", "pair", "setting", "ahead", "behind", "base diff", "diff", "p", "significant"]
    notes = [f"{len(weak) - _LISTED} more that are not significant"] if len(weak) > _LISTED else []
    if any(flip.p is None for _, flip in shown):
        units = "documents" if result.options.get("documents") else "segments"
        notes.append(f"untested: the two systems have too few {units} in common for a paired test")
    return [Table(columns, rows, "Pairs of systems whose order flips", notes)]
