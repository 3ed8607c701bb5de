"""How a fit went: the loss and the criterion over epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlgauge.plots.canvas import COLOURS, finish_figure, new_panels, save_figure
from nlgauge.transforms.fit.flow_options import Fitted

__all__ = ["plot_curves"]


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
