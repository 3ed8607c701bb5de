"""Figures of sensitivity studies, of stress tests, and of scores on adversarial triples.

`plot_variation` has a panel per sweep and level: bars of the CV over the settings (of the RD for two settings), a
group per language pair or system, a bar per metric. They are the bar charts of the reproducibility study (its Figures
1 and 2), for any data. `plot_ranks` has a panel per metric, sweep and language pair: a column per setting, a point
per system at its score, a line where two systems swap places. Rankings without a swap are left out if others have
one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.errors import InputError
from nlgauge.io.canvas import (
    WIDEST,
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    save_figure,
    series_styles,
    shorten,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels

if TYPE_CHECKING:
    from nlgauge.studies.sensitivity.results import Ranking, Sensitivity, SettingEffect
    from nlgauge.studies.stress.suite import Fall, StressTest
    from nlgauge.studies.stress.triples import TripleStudy, TripleWins

_LEVELS = {
    "segment": "agreement with people, segments",
    "topic": "agreement with people, topics",
    "system": "agreement with people, systems",
    "score": "scores of systems",
}

#: Panels of one figure; more would not be read.
_MOST_STRIPS = 8


def plot_variation(result: Sensitivity, path: Path) -> None:
    """Bars: how far each metric moves over the settings of each sweep."""
    keys = list(dict.fromkeys((one.sweep, one.level) for one in result.effects))
    if not keys:
        msg = f"the study of {result.data} has no effect of any setting, so there is nothing to draw"
        raise InputError(msg)
    panels = [_panel([one for one in result.effects if (one.sweep, one.level) == key]) for key in keys]
    figure = draw_bar_panels(
        panels,
        series_styles(one.metric for one in result.effects),
        title=f"{result.data}: what preprocessing moves",
        caption="CV: standard deviation over the settings of a sweep in per cent of the mean; RD: difference to the "
        "first setting in per cent of it, where there are two settings. No intervals.",
        height=2.6,
    )
    save_figure(figure, path)


def plot_ranks(result: Sensitivity, path: Path) -> None:
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
    save_figure(figure, path)


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
    names = list(dict.fromkeys(group for one in parts for group in one.values))
    groups: dict[str, dict[str, Bar]] = {name: {} for name in names}
    averages: dict[str, Bar] = {}
    for one in parts:
        found = {group: row[1] for group, row in one.rd.items()} if two else one.cv
        mean = one.mean_rd[1] if two else one.mean_cv
        for name in names:
            if (value := found.get(name)) is not None:
                groups[name][one.metric] = Bar(value)
        averages |= {one.metric: Bar(mean)} if mean is not None else {}
    several = len(names) > 1 and "average" not in groups
    if several:
        groups["average"] = averages
    title = f"{parts[0].sweep}: {_LEVELS.get(parts[0].level, parts[0].level)}"
    axis = f"RD to {parts[0].settings[0]} (%)" if two else "CV (%)"
    return BarPanel(title, axis, groups, rule_before="average" if several else None)


def _strip(axes: Any, ranking: Ranking, styles: dict[str, SeriesStyle]) -> None:
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


def plot_stress(test: StressTest, path: Path) -> None:
    """A group of bars for each perturbation, a bar for each metric, on the scale from 0 to an unrelated text."""
    groups: dict[str, dict[str, Bar]] = {}
    for one in test.metrics:
        own = () if one.paraphrase is None else (one.paraphrase,)
        for fall in (*own, *one.falls):
            bar = _bar(fall)
            if bar is not None:
                groups.setdefault(fall.perturbation, {})[one.metric] = bar
    figure = draw_bar_panels(
        [BarPanel("", "of the way to an unrelated text", groups)],
        series_styles([one.metric for one in test.metrics]),
        title="how far metrics fall when texts are perturbed",
        caption=f"{test.size} texts, against {test.against}; seed {test.seed}. Bars: mean fall over the texts that a "
        f"perturbation could change, divided by the fall to an unrelated text; lines: {test.level:.0%} intervals.",
    )
    save_figure(figure, path)


def _bar(fall: Fall) -> Bar | None:
    if fall.way is None or fall.mean is None:
        return None
    if fall.fall is None or fall.mean == 0:
        return Bar(fall.way)
    scale = fall.way / fall.mean
    return Bar(fall.way, fall.fall.low * scale, fall.fall.high * scale)


_SERIES = ("paraphrase: m(A, B)", "lookalike: m(A, C)")
_BINS = 30


def plot_triples(study: TripleStudy, path: Path) -> None:
    """A panel for each metric: both distributions, with lines at their means."""
    rows, columns = panel_grid(len(study.metrics), most_columns=3)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.6 * columns), height=2.3)
    styles = series_styles(_SERIES)
    for axes, one in zip(panels, study.metrics, strict=False):
        _draw(axes, one, [style.colour for style in styles.values()])
        found = study.interval(one)
        within = "" if found is None else f" ({found.low:.0%} to {found.high:.0%})"
        axes.set_title(f"{shorten(one.metric)}: B wins {one.share:.1%}{within}", loc="left", fontsize=8)
        axes.tick_params(labelsize=7)
    for axes in panels[len(study.metrics) :]:
        axes.set_visible(False)
    finish_figure(
        figure,
        title=f"{study.triples.name}: scores of paraphrases with little overlap, and of lookalikes with much",
        caption=f"{len(study.triples)} triples. Bars: share of triples per bin; dashed: means. In brackets: "
        f"{study.level:.0%} intervals of the share (bootstrap, seed {study.seed}).",
        legend=(legend_entries(styles, kind="bar"), list(styles)),
    )
    save_figure(figure, path)


def _draw(axes: Any, one: TripleWins, colours: list[str]) -> None:
    both = np.concatenate([one.paraphrase, one.lookalike])
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    for values, colour in zip((one.paraphrase, one.lookalike), colours, strict=True):
        share = np.full(len(values), 1 / len(values))
        axes.hist(values, bins=edges, weights=share, color=colour, alpha=0.55)
        axes.axvline(float(values.mean()), color=colour, linestyle="--", linewidth=1.2)
