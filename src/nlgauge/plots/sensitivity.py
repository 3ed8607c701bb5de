"""Figures of a sensitivity study.

`plot_variation` has a panel per sweep and level: bars of the CV over the settings (of the RD where there are but two
settings), a group per language pair or system, a bar per metric. They are the bar charts of the reproducibility study
(its Figures 1 and 2), for any data. `plot_ranks` has a panel per metric, sweep and language pair: a column per
setting, a point per system at its score, a line where two systems swap places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlgauge.plots.canvas import COLOURS, draw_bars, new_panels, save_figure
from nlgauge.sensitivity.results import Ranking, Sensitivity, SettingEffect

__all__ = ["plot_ranks", "plot_variation"]

_LEVELS = {
    "segment": "agreement with people, segments",
    "topic": "agreement with people, topics",
    "system": "agreement with people, systems",
    "score": "scores of systems",
}

#: Panels of one figure; more would not be read.
_MOST_PANELS = 24
_MOST_STRIPS = 8

#: Once the colours are used up, the next systems have another mark.
_MARKS = "os^Dv"


def plot_variation(result: Sensitivity, path: Path) -> None:
    """Bars: how far each metric moves over the settings of each sweep."""
    keys = list(dict.fromkeys((one.sweep, one.level) for one in result.effects))[:_MOST_PANELS]
    groups = {key: [one for one in result.effects if (one.sweep, one.level) == key] for key in keys}
    widest = max(len(_names(parts)) * len(parts) for parts in groups.values())
    figure, panels = new_panels(len(keys), 1, width=max(6.0, 1.5 + 0.24 * widest), height=2.6)
    metrics = list(dict.fromkeys(one.metric for one in result.effects))
    for axes, ((sweep, level), parts) in zip(panels, groups.items(), strict=True):
        _bars(axes, parts, metrics)
        axes.set_title(f"{sweep}: {_LEVELS.get(level, level)}", loc="left", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False, fontsize=8)
    figure.suptitle(f"{result.data}: what preprocessing moves", fontsize=10, x=0.01, ha="left")
    save_figure(figure, path)


def plot_ranks(result: Sensitivity, path: Path) -> None:
    """Strips: the score of each system under each setting, with a line where two systems swap places."""
    there = [one for one in result.rankings if len(one.systems) > 1]
    rankings = sorted(there, key=lambda one: -len(one.flips))[:_MOST_STRIPS]
    columns = 1 if len(rankings) < 2 else 2
    figure, panels = new_panels(math.ceil(len(rankings) / columns) or 1, columns, width=5.6 * columns, height=2.9)
    for axes, ranking in zip(panels, rankings, strict=False):
        _strip(axes, ranking)
    for axes in panels[len(rankings) :]:
        axes.set_visible(False)
    if len({tuple(ranking.systems) for ranking in rankings}) == 1:  # one legend for all
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    else:
        for axes in panels[: len(rankings)]:
            axes.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    title = f"{result.data}: scores by setting; a line where two systems swap places (bold: significant)"
    if len(rankings) < len(there):
        title += f"\nthe {len(rankings)} of {len(there)} rankings with most flips"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    save_figure(figure, path)


def _names(parts: Sequence[SettingEffect]) -> list[str]:
    names = list(dict.fromkeys(group for one in parts for group in one.values))
    return [*names, "average"] if len(names) > 1 else names


def _bars(axes: Any, parts: Sequence[SettingEffect], metrics: Sequence[str]) -> None:
    names = _names(parts)
    two = all(len(one.settings) == 2 for one in parts)
    bars = {}
    for one in parts:
        found = {group: row[1] for group, row in one.rd.items()} if two else one.cv
        mean = one.mean_rd[1] if two else one.mean_cv
        bars[one.metric] = [mean if name == "average" and name not in found else found.get(name) for name in names]
    draw_bars(axes, names, bars, metrics)
    axes.set_ylabel(f"RD to {parts[0].settings[0]} (%)" if two else "CV (%)", fontsize=8)


def _strip(axes: Any, ranking: Ranking) -> None:
    settings = range(len(ranking.settings))
    for number, (system, scores) in enumerate(ranking.systems.items()):
        colour, mark = COLOURS[number % len(COLOURS)], _MARKS[number // len(COLOURS) % len(_MARKS)]
        axes.plot(settings, scores, mark, color=colour, markersize=4, label=system)
    for flip in ranking.flips:
        at = ranking.settings.index(flip.setting)
        for system in (flip.ahead, flip.behind):
            scores = ranking.systems[system]
            colour = COLOURS[list(ranking.systems).index(system) % len(COLOURS)]
            width = 1.8 if flip.significant else 0.7
            axes.plot((0, at), (scores[0], scores[at]), "-", color=colour, linewidth=width, alpha=0.7)
    axes.set_xticks(list(settings), ranking.settings, rotation=30, ha="right", fontsize=7)
    count = len(ranking.flips)
    title = f"{ranking.metric}, {ranking.sweep}, {ranking.langpair}: {count} flip{'s' * (count != 1)}"
    axes.set_title(title, loc="left", fontsize=8)
