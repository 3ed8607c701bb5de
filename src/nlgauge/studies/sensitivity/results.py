"""Results of a sensitivity study: variation of scores and ranks between the settings of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nlgauge.core.result import Result
from nlgauge.core.short_signature import format_signature
from nlgauge.errors import InputError
from nlgauge.io.canvas import (
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    save_figure,
    series_styles,
    shorten,
)
from nlgauge.io.table import Cell, Table
from nlgauge.stats.numeric import coefficient_of_variation, relative_difference
from nlgauge.studies.compare.rankings import Flip

#: Maximum number of flips listed that are not significant.
_LISTED = 10

_WHAT = {
    "segment": "agreement with human judgements on segments",
    "topic": "agreement with human judgements on the systems of a topic",
    "system": "agreement with human judgements on systems",
    "score": "score of each system",
}


_LEVELS = {
    "segment": "agreement with human judgements, segments",
    "topic": "agreement with human judgements, topics",
    "system": "agreement with human judgements, systems",
    "score": "scores of systems",
}

#: Panels of one figure; more would not be read.
_MOST_STRIPS = 8

#: Inches for the dots of a metric in a row of the figure, at least and at most, and for all of them together.
_LANES = (0.07, 0.16)
_HIGHEST = 10.0


@dataclass(frozen=True)
class SettingInfo:
    """One setting of one metric, with its signatures."""

    metric: str
    sweep: str
    setting: str
    signatures: Mapping[str, str]
    """Recipe part of the signature, by language pair."""
    zero_weight: int
    """Segments with a text that the setting leaves empty."""


class GroupEffect(NamedTuple):
    """Variation of a number in one group: a language pair or a system."""

    values: tuple[float | None, ...]
    """One per setting; None if undefined."""
    cv: float | None
    """Coefficient of variation over the settings, in per cent."""
    rd: tuple[float | None, ...]
    """Relative difference of each setting to the base, in per cent; 0 for the base itself."""
    best: str | None
    """First setting with the highest agreement; None for scores."""


class AverageEffect(NamedTuple):
    """Unweighted means over groups."""

    values: tuple[float | None, ...]
    """One per setting."""
    cv: float | None
    """Mean of the groups' CV, as published."""
    rd: tuple[float | None, ...]
    """Mean of the groups' RD, by setting."""


@dataclass(frozen=True)
class SettingEffect:
    """Variation of a number over the settings of a sweep, in each group (language pair or system)."""

    metric: str
    sweep: str
    level: str
    """Agreement with human judgements by language pair (segment, topic or system), or scores of systems (score)."""
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
        """Measure the effect on values: by group, one per setting."""
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
            tuple(_mean([row.values[i] for row in rows]) for i in range(len(settings))),
            _mean([row.cv for row in rows]),
            tuple(_mean([row.rd[i] for row in rows]) for i in range(len(settings))),
        )
        return cls(metric, sweep, level, settings, groups, average, ddof)

    @property
    def largest_rd(self) -> float | None:
        """Largest absolute RD over groups and settings."""
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
    """Mean score by system, a value per setting; higher is better (distances are negated)."""
    taus: tuple[float | None, ...]
    """Kendall's tau-b between the ranking of each setting and of the base."""
    flips: tuple[Flip, ...]


@dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """Complete results of a study, with tables and figures."""

    format = "nlgauge-sensitivity-1"

    data: str
    study: str
    agreement: str | None
    """Measure of agreement with human judgements; None if the data has none."""
    settings: tuple[SettingInfo, ...]
    movements: tuple[SettingEffect, ...]
    rankings: tuple[SettingRanking, ...]
    stopwords: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Size of each stop-word list, by setting and language."""
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        metrics = list(dict.fromkeys(item.metric for item in self.settings))
        sweeps = list(dict.fromkeys(item.sweep for item in self.settings))
        return f"<Sensitivity {self.study} on {self.data}: {', '.join(metrics)} under {', '.join(sweeps)}>"

    def effect(self, metric: str, sweep: str, level: str) -> SettingEffect:
        """The effect of a sweep on a metric at a level."""
        for effect in self.movements:
            if (effect.metric, effect.sweep, effect.level) == (metric, sweep, level):
                return effect
        available = "; ".join(f"{effect.metric}, {effect.sweep}, {effect.level}" for effect in self.movements)
        msg = f"the study has no result for {metric}, {sweep}, {level}; it has: {available}"
        raise InputError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """Overview, a table per metric, sweep and level, then rankings and flips."""
        tables = [_overview(self)]
        tables += [_effect(effect, self) for effect in self.movements]
        if self.rankings:
            tables += [_ranks(self), *_flips(self)]
        tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *self.notes, *_signatures(self)))
        return tables

    def figure(self) -> Any:
        """A dot plot of the variation of each metric over the settings of each sweep, on one scale.

        A row per sweep and level, and in it a line of dots per metric: small dots are language pairs or systems, the
        large one is their mean.
        """
        keys = list(dict.fromkeys((effect.sweep, effect.level) for effect in self.movements))
        if not keys:
            msg = f"the study of {self.data} has no effect of any setting, so there is nothing to draw"
            raise InputError(msg)
        styles = series_styles(effect.metric for effect in self.movements)
        lane = max(_LANES[0], min(_LANES[1], _HIGHEST / (len(keys) * len(styles))))
        figure, (axes,) = new_panels(1, 1, width=8.0, height=0.9 + len(keys) * (0.25 + lane * len(styles)))
        for row, key in enumerate(keys):
            effects = [effect for effect in self.movements if (effect.sweep, effect.level) == key]
            _dot_row(axes, row, effects, styles)
        several_levels = len({level for _, level in keys}) > 1
        labels = [f"{sweep}\n{_LEVELS.get(level, level)}" if several_levels else sweep for sweep, level in keys]
        axes.set_yticks(range(len(keys)), labels, fontsize=10, parse_math=False)
        axes.set_ylim(len(keys) - 0.5, -0.5)
        axes.set_xlim(left=0.0)
        axes.tick_params(axis="x", labelsize=10)
        axes.set_xlabel("variation over the settings: CV (%)", fontsize=10)
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
        axes.grid(visible=False, axis="y")
        what = "" if several_levels else f" of {_LEVELS.get(keys[0][1], keys[0][1])}"
        finish_figure(
            figure,
            title=f"{self.data}: variation{what} under other preprocessing",
            caption="CV: standard deviation over the settings in per cent of the mean. Small dots: language pairs or "
            "systems; large dots: their mean. No intervals.",
            legend=(legend_entries(styles, kind="mark"), list(styles)),
        )
        return figure

    def rank_figure(self) -> Any:
        """Strips: the score of each system under each setting, with a line where two systems swap places.

        A panel per metric, sweep and language pair; rankings without a swap are left out if others have one.
        """
        drawable = [ranking for ranking in self.rankings if len(ranking.systems) > 1]
        if not drawable:
            msg = f"the study of {self.data} has no ranking of two systems or more, so there is nothing to draw"
            raise InputError(msg)
        flipping = [ranking for ranking in drawable if ranking.flips]
        rankings = sorted(flipping or drawable, key=lambda ranking: -len(ranking.flips))[:_MOST_STRIPS]
        rows, columns = panel_grid(len(rankings))
        figure, panels = new_panels(rows, columns, width=5.5 * columns if columns > 1 else 7.5, height=3.0)
        systems = list(dict.fromkeys(system for ranking in rankings for system in ranking.systems))
        styles = series_styles(systems)
        for axes, ranking in zip(panels, rankings, strict=False):
            _strip(axes, ranking, styles)
        for axes in panels[len(rankings) :]:
            axes.set_visible(False)
        finish_figure(
            figure,
            title=f"{self.data}: scores of systems by setting",
            caption=_caption(len(drawable), len(flipping), len(rankings)),
            legend=(legend_entries(styles, kind="mark"), systems),
        )
        return figure

    def save_figure(self, path: str | Path) -> None:
        """Write the dot plot and, if systems are ranked, the strips as NAME-ranks."""
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
    present = [(value, -i) for i, value in enumerate(row) if value is not None]
    return settings[-max(present)[1]] if present else None


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present and len(present) == len(values) else None


def _signatures(result: Sensitivity) -> list[str]:
    """Signatures of the first setting of each sweep; the others differ only in the setting, and are in JSON."""
    firsts: dict[tuple[str, str], SettingInfo] = {}
    for info in result.settings:
        firsts.setdefault((info.metric, info.sweep), info)
    settings_of: dict[tuple[str, str], list[str]] = {}
    for info in firsts.values():
        signature = next(iter(info.signatures.values()), "")
        settings_of.setdefault((info.metric, signature), []).append(f"{info.sweep} {info.setting}")
    return [
        f"signature of {metric} ({', '.join(settings)}): {format_signature(signature)}"
        for (metric, signature), settings in settings_of.items()
        if signature
    ]


def _overview(result: Sensitivity) -> Table:
    rows: list[list[Cell]] = []
    for effect in result.movements:
        values = [value for value in effect.average.values if value is not None]
        spread = max(values) - min(values) if values else None
        own = [rank for rank in result.rankings if (rank.metric, rank.sweep) == (effect.metric, effect.sweep)]
        flips = [flip for rank in own for flip in rank.flips]
        marks: list[Cell] = [len(flips), sum(flip.significant for flip in flips)] if result.rankings else []
        rows.append(
            [
                effect.metric,
                effect.sweep,
                effect.level,
                len(effect.settings),
                effect.average.cv,
                effect.largest_rd,
                spread,
                *marks,
            ]
        )
    columns = ["metric", "sweep", "level", "settings", "CV %", "largest RD %", "range"]
    caption = f"{result.study} on {result.data}: effect of settings on " + (result.agreement or "scores")
    notes = [
        "CV: standard deviation over the settings, in per cent of the mean",
        "RD: change from the first setting, in per cent",
    ]
    if result.rankings:
        columns += ["flips", "significant"]
        notes.append("flips: pairs of systems that swap ranks")
    return Table(columns, rows, caption, notes)


def _effect(effect: SettingEffect, result: Sensitivity) -> Table:
    two = len(effect.settings) == 2
    rows: list[list[Cell]] = []
    for group, row in effect.groups.items():
        rows.append([group, *row.values, *([row.rd[1]] if two else []), row.cv, row.best or ""])
    if len(effect.groups) > 1:
        average = effect.average
        rows.append(["average", *average.values, *([average.rd[1]] if two else []), average.cv, ""])
    columns = ["", *effect.settings, *(["RD %"] if two else []), "CV %", "best"]
    if effect.level == "score":
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    caption = f"{effect.metric}, {effect.sweep}: {_WHAT[effect.level]}"
    if result.agreement and effect.level != "score":
        caption += f" ({result.agreement})"
    sizes = [
        f"{setting}: "
        + ", ".join(f"{count} words" + f" ({lang})" * bool(lang) for lang, count in sizes_of_list.items())
        for setting in effect.settings
        if effect.sweep == "stopwords" and setting != "none" and (sizes_of_list := result.stopwords.get(setting))
    ]
    return Table(columns, rows, caption, notes=sizes)


def _ranks(result: Sensitivity) -> Table:
    rows: list[list[Cell]] = []
    for ranking in result.rankings:
        for setting, tau in list(zip(ranking.settings, ranking.taus, strict=True))[1:]:
            flips = [flip for flip in ranking.flips if flip.setting == setting]
            significant = sum(flip.significant for flip in flips)
            rows.append([ranking.metric, ranking.sweep, ranking.langpair, setting, tau, len(flips), significant])
    columns = ["metric", "sweep", "pair", "setting", "tau with base", "flips", "significant"]
    notes = [] if any(ranking.flips for ranking in result.rankings) else ["No two systems swap ranks."]
    return Table(columns, rows, "Rankings of systems compared with the first setting of the sweep (base)", notes)


def _flips(result: Sensitivity) -> list[Table]:
    """A table of flips, if there are any."""
    flips = [(ranking, flip) for ranking in result.rankings for flip in ranking.flips]
    if not flips:
        return []
    weak = [pair for pair in flips if not pair[1].significant]
    shown = [pair for pair in flips if pair[1].significant] + weak[:_LISTED]
    rows: list[list[Cell]] = []
    for ranking, flip in shown:
        labels: list[Cell] = [ranking.metric, ranking.sweep, ranking.langpair, flip.setting, flip.ahead, flip.behind]
        tested = "untested" if flip.p is None else "yes" if flip.significant else "no"
        rows.append([*labels, flip.base_difference, flip.difference, flip.p, tested])
    columns = ["metric", "sweep", "pair", "setting", "ahead", "behind", "base diff", "diff", "p", "significant"]
    notes = [f"not shown: {len(weak) - _LISTED} more flips that are not significant"] if len(weak) > _LISTED else []
    if any(flip.p is None for _, flip in shown):
        units = "documents" if result.options.get("documents") else "segments"
        notes.append(f"untested: the two systems have too few {units} in common for a paired test")
    return [Table(columns, rows, "Flips: pairs of systems that swap ranks", notes)]


def _caption(drawable: int, flipping: int, shown: int) -> str:
    text = "Points: mean score of a system, higher is better. "
    if not flipping:
        text += "No two systems swap ranks under any setting."
    else:
        text += (
            "A line joins the scores of a system under the first setting and under a setting where it swaps ranks "
            "with another system. Thick lines: both orders are statistically significant."
        )
    if shown < (flipping or drawable):
        order = "first" if not flipping else "most flips"
        text += f" Shown: {shown} of {flipping or drawable} rankings ({order})."
    if 0 < flipping < drawable:
        text += f" Not shown: {drawable - flipping} of {drawable} rankings, in which no systems swap ranks."
    return text


def _dot_row(axes: Any, row: int, effects: list[SettingEffect], styles: Mapping[str, SeriesStyle]) -> None:
    """The dots of one sweep at one level, a line of dots per metric."""
    if row:
        axes.axhline(row - 0.5, color="#bbbbbb", linewidth=0.6)
    height = 0.8 / len(styles)
    by_metric = {effect.metric: effect for effect in effects}
    for number, (metric, style) in enumerate(styles.items()):
        place = row + (number - (len(styles) - 1) / 2) * height
        groups = by_metric[metric].groups.values() if metric in by_metric else ()
        values = [group.cv for group in groups if group.cv is not None]
        if not values:
            text = f"  {shorten(metric)}: {'no value' if metric in by_metric else 'does not have this setting'}"
            axes.annotate(text, (0, place), va="center", fontsize=8, color="#666666").set_parse_math(False)
            continue
        if len(values) > 1:
            axes.plot((min(values), max(values)), (place, place), "-", color=style.colour, linewidth=1, alpha=0.5)
            axes.plot(values, [place] * len(values), style.mark, color=style.colour, markersize=3.5, alpha=0.5)
        axes.plot(float(np.mean(values)), place, style.mark, color=style.colour, markersize=8, clip_on=False)


def _strip(axes: Any, ranking: SettingRanking, styles: dict[str, SeriesStyle]) -> None:
    settings = range(len(ranking.settings))
    for system, scores in ranking.systems.items():
        axes.plot(settings, scores, styles[system].mark, color=styles[system].colour, markersize=4)
    for flip in ranking.flips:
        index = ranking.settings.index(flip.setting)
        for system in (flip.ahead, flip.behind):
            scores = ranking.systems[system]
            width = 1.8 if flip.significant else 0.7
            axes.plot(
                (0, index), (scores[0], scores[index]), "-", color=styles[system].colour, linewidth=width, alpha=0.7
            )
    labels = [shorten(setting, 24) for setting in ranking.settings]
    axes.set_xticks(list(settings), labels, rotation=30, ha="right", rotation_mode="anchor", fontsize=7)
    axes.tick_params(axis="y", labelsize=8)
    axes.margins(x=0.1)
    count = len(ranking.flips)
    title = f"{shorten(ranking.metric)}, {ranking.sweep}, {ranking.langpair}: {count} flip{'s' * (count != 1)}"
    axes.set_title(title, loc="left", fontsize=8, parse_math=False)
