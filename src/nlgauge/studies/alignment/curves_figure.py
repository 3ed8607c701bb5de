"""The figure of the curves of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.io.canvas import COLOURS, finish_figure, new_panels, save_figure

if TYPE_CHECKING:
    from nlgauge.studies.alignment.flow_losses import Fitted


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
