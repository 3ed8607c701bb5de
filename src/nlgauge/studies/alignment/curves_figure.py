"""The curves of a fit, as values and as a figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgauge.core.result import Result
from nlgauge.io.canvas import COLOURS, finish_figure, new_panels, save_figure
from nlgauge.io.table import Cell, Table
from nlgauge.studies.alignment.flow_losses import Epoch, Fitted


@dataclass(frozen=True)
class FitCurves(Result):
    """Loss and criterion of a fit by epoch."""

    format = "nlgauge-fit-curves-1"

    digest: str
    """Of the map."""
    best_epoch: int
    ended: str
    """Why the fit ended."""
    epochs: tuple[Epoch, ...]

    @classmethod
    def of(cls, fitted: Fitted[Any]) -> FitCurves:
        """Those of a fit."""
        return cls(fitted.map.digest, fitted.best, fitted.ended, fitted.curve)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per epoch."""
        rows: list[list[Cell]] = [
            [point.epoch, point.round, None if point.loss != point.loss else point.loss, point.criterion]
            for point in self.epochs
        ]
        return [Table(["epoch", "round", "loss", "criterion"], rows)]


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
