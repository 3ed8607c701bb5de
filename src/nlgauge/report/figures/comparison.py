"""Figures of agreement with human judgements, and of the curves of a fit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.io.canvas import (
    COLOURS,
    finish_figure,
    new_panels,
    save_figure,
    series_styles,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels

if TYPE_CHECKING:
    from nlgauge.studies.alignment.flow_losses import Fitted
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
