"""Figures of sensitivity studies.

`draw_variation` has a panel per sweep and level: bars of the CV over the settings (of the RD for two settings), a
group per language pair or system, a bar per metric. They are the bar charts of the reproducibility study (its Figures
1 and 2), for any data. `draw_ranks` has a panel per metric, sweep and language pair: a column per setting, a point
per system at its score, a line where two systems swap places. Rankings without a swap are left out if others have
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlgauge.errors import InputError
from nlgauge.io.canvas import (
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    series_styles,
    shorten,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels

if TYPE_CHECKING:
    from nlgauge.studies.sensitivity.results import Sensitivity, SettingEffect, SettingRanking

_LEVELS = {
    "segment": "agreement with people, segments",
    "topic": "agreement with people, topics",
    "system": "agreement with people, systems",
    "score": "scores of systems",
}

#: Panels of one figure; more would not be read.
_MOST_STRIPS = 8


def draw_variation(result: Sensitivity) -> Any:
    """Bars: how far each metric moves over the settings of each sweep."""
    keys = list(dict.fromkeys((one.sweep, one.level) for one in result.movements))
    if not keys:
        msg = f"the study of {result.data} has no effect of any setting, so there is nothing to draw"
        raise InputError(msg)
    panels = [_panel([one for one in result.movements if (one.sweep, one.level) == key]) for key in keys]
    return draw_bar_panels(
        panels,
        series_styles(one.metric for one in result.movements),
        title=f"{result.data}: what preprocessing moves",
        caption="CV: standard deviation over the settings of a sweep in per cent of the mean; RD: difference to the "
        "first setting in per cent of it, where there are two settings. No intervals.",
        height=2.6,
    )


def draw_ranks(result: Sensitivity) -> Any:
    """Strips: the score of each system under each setting, with a line where two systems swap places."""
    there = [one for one in result.rankings if len(one.systems) > 1]
    if not there:
        msg = f"the study of {result.data} has no ranking of two systems or more, so there is nothing to draw"
        raise InputError(msg)
    flipping = [one for one in there if one.flips]
    rankings = sorted(flipping or there, key=lambda one: -len(one.flips))[:_MOST_STRIPS]
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
        title=f"{result.data}: scores of systems by setting",
        caption=_caption(len(there), len(flipping), len(rankings)),
        legend=(legend_entries(styles, kind="mark"), systems),
    )
    return figure


def _caption(there: int, flipping: int, shown: int) -> str:
    text = "Points: mean score of a system, higher is better. "
    if not flipping:
        text += "No flip: no two systems swap places under any setting"
    else:
        text += (
            "Flips: lines join a system's score under the first setting with that under a setting where it swaps "
            "places with another system; thick where both orders are significant"
        )
    if shown < (flipping or there):
        most = "the first" if not flipping else "those with most flips"
        text += f". Shown are {shown} of {flipping or there} rankings, {most}"
    if 0 < flipping < there:
        text += f". In {there - flipping} of {there} rankings nothing flips"
    return f"{text}."


def _panel(parts: list[SettingEffect]) -> BarPanel:
    """One sweep at one level."""
    two = all(len(one.settings) == 2 for one in parts)
    names = list(dict.fromkeys(group for one in parts for group in one.groups))
    groups: dict[str, dict[str, Bar]] = {name: {} for name in names}
    averages: dict[str, Bar] = {}
    for one in parts:
        mean = one.average.rd[1] if two else one.average.cv
        for name, row in one.groups.items():
            if (value := row.rd[1] if two else row.cv) is not None:
                groups[name][one.metric] = Bar(value)
        averages |= {one.metric: Bar(mean)} if mean is not None else {}
    several = len(names) > 1 and "average" not in groups
    if several:
        groups["average"] = averages
    title = f"{parts[0].sweep}: {_LEVELS.get(parts[0].level, parts[0].level)}"
    axis = f"RD to {parts[0].settings[0]} (%)" if two else "CV (%)"
    return BarPanel(title, axis, groups, rule_before="average" if several else None)


def _strip(axes: Any, ranking: SettingRanking, styles: dict[str, SeriesStyle]) -> None:
    settings = range(len(ranking.settings))
    for system, scores in ranking.systems.items():
        axes.plot(settings, scores, styles[system].mark, color=styles[system].colour, markersize=4)
    for flip in ranking.flips:
        at = ranking.settings.index(flip.setting)
        for system in (flip.ahead, flip.behind):
            scores = ranking.systems[system]
            width = 1.8 if flip.significant else 0.7
            axes.plot((0, at), (scores[0], scores[at]), "-", color=styles[system].colour, linewidth=width, alpha=0.7)
    labels = [shorten(setting, 24) for setting in ranking.settings]
    axes.set_xticks(list(settings), labels, rotation=30, ha="right", rotation_mode="anchor", fontsize=7)
    axes.tick_params(axis="y", labelsize=8)
    axes.margins(x=0.1)
    count = len(ranking.flips)
    title = f"{shorten(ranking.metric)}, {ranking.sweep}, {ranking.langpair}: {count} flip{'s' * (count != 1)}"
    axes.set_title(title, loc="left", fontsize=8, parse_math=False)
