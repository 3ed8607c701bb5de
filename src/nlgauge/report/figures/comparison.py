"""Figures of agreement with human judgements, of ranked systems, and of the curves of a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.io.canvas import (
    COLOURS,
    WIDEST,
    finish_figure,
    new_panels,
    save_figure,
    series_styles,
    shorten,
)
from nlgauge.report.figures.bars import Bar, BarPanel, draw_bar_panels

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.alignment.flow_losses import Fitted
    from nlgauge.studies.compare.comparison import MetricComparison, SystemComparison, SystemRow
    from nlgauge.studies.meta.evaluation import AgreementTable

_LABELS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's \u03c1",
    "kendall": "Kendall's \u03c4",
    "acc-eq": "acc_eq",
    "differences": "r of differences",
    "spa": "SPA",
    "auc": "AUC",
}


def plot_agreement(result: AgreementTable, path: Path) -> None:
    """Draw one table."""
    groups = {
        langpair: {
            name: Bar(row[langpair].value, row[langpair].low, row[langpair].high, row[langpair].unbeaten)
            for name, row in result.cells.items()
        }
        for langpair in result.langpairs
    }
    averaged = len(groups) > 1
    if averaged:
        groups["average"] = {name: Bar(value) for name, value in result.averages.items()}
    # Sentinels are what a metric must not lose to: grey, so that they step back.
    styles = series_styles(result.cells, muted=[name for name in result.cells if name.startswith("sentinel")])
    panel = BarPanel("", _LABELS[result.agreement], groups, rule_before="average" if averaged else None)
    figure = draw_bar_panels(
        [panel],
        styles,
        title=f"{result.data}: agreement with {result.criterion}, {result.level} level",
        caption=_caption(result),
        height=2.7,
    )
    save_figure(figure, path)


def _caption(result: AgreementTable) -> str:
    cells = [cell for row in result.cells.values() for cell in row.values()]
    what = [f"Bars: {_LABELS[result.agreement]}"]
    if any(math.isfinite(cell.low) for cell in cells):
        what.append("whiskers: 95 % interval" + " (whole documents)" * bool(result.options.get("documents")))
    else:
        what.append("without intervals")
    if len(result.langpairs) > 1:
        what.append("average: unweighted mean, without an interval")
    mark = result.mark
    what += [f"*: {mark}"] if mark else []
    few = [note for note in result.notes if "no significance test" in note]
    return "; ".join([*what, *few]) + "."


#: Inches for a system, and for what stands above and below the systems of a panel.
_ROW, _FRAME = 0.24, 1.0


def plot_comparison(comparison: SystemComparison, path: Path) -> None:
    """Draw the rankings; the best system is at the top."""
    metrics = comparison.metrics
    most = max(len(found.systems) for found in metrics)
    figure, panels = new_panels(len(metrics), 2, width=min(WIDEST, 9.0), height=_FRAME + _ROW * most)
    for row, found in enumerate(metrics):
        score, strength = panels[2 * row], panels[2 * row + 1]
        _draw(score, found, [(one.score, one.interval) for one in found.systems])
        _draw(strength, found, [(one.bradley_terry, one.bt_interval) for one in found.systems])
        better = "" if found.higher_is_better else " (lower is better)"
        score.set_xlabel(f"{found.metric}{better}", fontsize=8)
        strength.set_xlabel(f"{found.metric}: Bradley-Terry strength", fontsize=8)
        strength.set_yticklabels([])
    settings = comparison.settings
    counted = ", ".join(
        dict.fromkeys(
            f"{found.n} instances" + ("" if found.documents is None else f" of {found.documents} documents")
            for found in metrics
        )
    )
    clusters = ""
    if any(found.systems[-1].cluster > 1 for found in metrics):
        clusters = "Dashed: every system above is significantly better than every system below (rank clusters). "
    caption = (
        f"Lines: {100 * settings.level:.10g} % intervals, none for fewer than four instances. Filled: not "
        f"significantly worse than the best (test {settings.test}, alpha {settings.alpha:g}, "
        f"{'Holm' if settings.correction == 'holm' else 'not corrected'}). {clusters}{counted}."
    )
    finish_figure(figure, title="Systems ranked", caption=caption)
    save_figure(figure, path)


def _draw(axes: Any, found: MetricComparison, values: Sequence[tuple[float, Interval | None]]) -> None:
    places = list(range(len(values)))
    for at, (value, interval) in zip(places, values, strict=True):
        if interval is not None:
            axes.plot([interval.low, interval.high], [at, at], color=COLOURS[0], linewidth=1.4)
        face = "white" if found.systems[at].worse_than_best else COLOURS[0]
        axes.plot([value], [at], marker="o", markersize=5, color=COLOURS[0], markerfacecolor=face, linestyle="none")
    for at in places[1:]:
        if found.systems[at].cluster != found.systems[at - 1].cluster:
            axes.axhline(at - 0.5, color="#888888", linewidth=0.8, linestyle="--")
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_yticks(places, [_label(row) for row in found.systems], fontsize=8)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a "$" in a name is a "$"
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    ends = [end for value, interval in values for end in ([value] if interval is None else interval[1:3])]
    if math.isclose(min(ends), max(ends)):
        axes.set_xlim(min(ends) - 0.5, max(ends) + 0.5)


def _label(row: SystemRow) -> str:
    return shorten(row.system)


def plot_curves(fitted: Fitted[Any], path: Path) -> None:
    """Two panels; the epoch whose state was kept is marked."""
    figure, (loss, criterion) = new_panels(1, 2, width=8.0, height=3.0)
    learned = fitted.curve[1:]
    loss.plot(
        [point.epoch for point in learned], [point.loss for point in learned], "o-", color=COLOURS[0], markersize=3
    )
    epochs = [point.epoch for point in fitted.curve]
    criterion.plot(epochs, [point.criterion for point in fitted.curve], "o-", color=COLOURS[1], markersize=3)
    for place, title in ((loss, "loss"), (criterion, "criterion")):
        place.axvline(fitted.best, linestyle="--", color="#999999", linewidth=0.8)
        place.set_title(title, loc="left", fontsize=9)
        place.set_xlabel("epoch", fontsize=8)
        place.tick_params(labelsize=8)
    finish_figure(
        figure,
        title=f"{fitted.map.origin.method}: epoch {fitted.best} was kept",
        caption="Epoch 0: the start, of a flow the centred rotation. Dashed: the state that was kept, the best one.",
    )
    save_figure(figure, path)
