"""Results of a sensitivity study: how far numbers and ranks move between the settings of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from nlgauge.errors import InputError
from nlgauge.io.formats import html_table
from nlgauge.stats.summaries import coefficient_of_variation, relative_difference
from nlgauge.studies.compare.rankings import Flip


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


@dataclass(frozen=True)
class SettingEffect:
    """How far a number moves over the settings of a sweep, in each group (a language pair, or a system)."""

    metric: str
    sweep: str
    level: str
    """Agreement with people by language pair (segment, topic or system), or the score of a system (score)."""
    settings: tuple[str, ...]
    """The first is the base of `rd`."""
    values: Mapping[str, tuple[float | None, ...]]
    """By group, a value per setting; None where there is none."""
    ddof: int = 1

    @property
    def cv(self) -> dict[str, float | None]:
        """Coefficient of variation over the settings, in per cent, by group."""
        return {group: _cv(row, self.ddof) for group, row in self.values.items()}

    @property
    def rd(self) -> dict[str, tuple[float | None, ...]]:
        """Relative difference of each setting to the base, in per cent, by group; 0 for the base itself."""
        return {group: tuple(_rd(value, row[0]) for value in row) for group, row in self.values.items()}

    @property
    def best(self) -> dict[str, str | None]:
        """Setting with the highest agreement, the first of equals, by group; None for scores, which have no best."""
        if self.level == "score":
            return dict.fromkeys(self.values)
        return {group: _best(row, self.settings) for group, row in self.values.items()}

    @property
    def average(self) -> tuple[float | None, ...]:
        """Unweighted mean over groups, by setting."""
        return tuple(_mean([row[at] for row in self.values.values()]) for at in range(len(self.settings)))

    @property
    def mean_cv(self) -> float | None:
        """Mean of the groups' CV: the data set's, as published."""
        return _mean(list(self.cv.values()))

    @property
    def largest_rd(self) -> float | None:
        """RD furthest from 0 over groups and settings, without its sign."""
        return max((abs(value) for row in self.rd.values() for value in row if value is not None), default=None)

    @property
    def mean_rd(self) -> tuple[float | None, ...]:
        """Mean of the groups' RD, by setting."""
        rows = list(self.rd.values())
        return tuple(_mean([row[at] for row in rows]) for at in range(len(self.settings)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "metric": self.metric,
            "sweep": self.sweep,
            "level": self.level,
            "settings": list(self.settings),
            "groups": {
                group: {
                    "values": list(row),
                    "cv": self.cv[group],
                    "rd": list(self.rd[group]),
                    "best": self.best[group],
                }
                for group, row in self.values.items()
            },
            "average": {"values": list(self.average), "cv": self.mean_cv, "rd": list(self.mean_rd)},
            "ddof": self.ddof,
        }


@dataclass(frozen=True)
class Ranking:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {
            "settings": list(self.settings),
            "systems": {name: list(row) for name, row in self.systems.items()},
            "taus": list(self.taus),
            "flips": [asdict(flip) for flip in self.flips],
        }


@dataclass(frozen=True, repr=False)
class Sensitivity:
    """Everything that a study found; tables and figures are drawn from it."""

    data: str
    study: str
    agreement: str | None
    """What agreement with people is measured by; None where there are no human scores."""
    settings: tuple[SettingInfo, ...]
    effects: tuple[SettingEffect, ...]
    rankings: tuple[Ranking, ...]
    stopwords: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Size of each list of stop words, by setting and language."""
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        metrics = list(dict.fromkeys(one.metric for one in self.settings))
        sweeps = list(dict.fromkeys(one.sweep for one in self.settings))
        return f"<Sensitivity {self.study} on {self.data}: {', '.join(metrics)} under {', '.join(sweeps)}>"

    def _repr_html_(self) -> str:
        rows = []
        for one in self.effects:
            furthest = max((abs(value) for value in one.mean_rd if value is not None), default=None)
            rows.append((one.metric, one.sweep, one.level, len(one.settings), one.mean_cv, furthest))
        columns = ["metric", "sweep", "level", "settings", "CV %", "largest average RD %"]
        return html_table(columns, rows, caption=f"{self.study} on {self.data}", notes=self.notes, width=2)

    def effect(self, metric: str, sweep: str, level: str) -> SettingEffect:
        """The effect on that metric, of that sweep, at that level."""
        for one in self.effects:
            if (one.metric, one.sweep, one.level) == (metric, sweep, level):
                return one
        known = "; ".join(f"{one.metric}, {one.sweep}, {one.level}" for one in self.effects)
        msg = f"the study has no result for {metric}, {sweep}, {level}; it has: {known}"
        raise InputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the same study of the same data gives the same JSON bytes."""
        return {
            "data": self.data,
            "study": self.study,
            "agreement": self.agreement,
            "settings": [asdict(one) for one in self.settings],
            "movements": [one.to_dict() for one in self.effects],
            "rankings": [one.to_dict() for one in self.rankings],
            "stopwords": {name: dict(sizes) for name, sizes in self.stopwords.items()},
            "notes": list(self.notes),
            "options": dict(self.options),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Sensitivity:
        """A result from what `to_dict` made of it; JSON between the two changes nothing."""
        try:
            return cls(
                **{name: record[name] for name in ("data", "study", "agreement", "stopwords", "options")},
                settings=tuple(map(_info, record["settings"])),
                effects=tuple(map(_effect, record["movements"])),
                rankings=tuple(map(_ranking, record["rankings"])),
                notes=tuple(record["notes"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            msg = f"the dict is not one of Sensitivity.to_dict(): {error!r}"
            raise InputError(msg) from error


def _info(record: Mapping[str, Any]) -> SettingInfo:
    return SettingInfo(**record)


def _effect(record: Mapping[str, Any]) -> SettingEffect:
    groups = {group: tuple(row["values"]) for group, row in record["groups"].items()}
    named = {name: record[name] for name in ("metric", "sweep", "level", "ddof")}
    return SettingEffect(**named, settings=tuple(record["settings"]), values=groups)


def _ranking(record: Mapping[str, Any]) -> Ranking:
    systems = {name: tuple(row) for name, row in record["systems"].items()}
    lists = {"settings": tuple(record["settings"]), "taus": tuple(record["taus"])}
    flips = tuple(Flip(**flip) for flip in record["flips"])
    return Ranking(**{**record, **lists, "systems": systems, "flips": flips})


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
