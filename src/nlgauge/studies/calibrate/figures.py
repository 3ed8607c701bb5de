"""Figures of agreement curves: the curve with its band, and reliability diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.io.canvas import COLOURS, finish_figure, new_panels
from nlgauge.io.numbers import format_level

if TYPE_CHECKING:
    from nlgauge.stats.agreement_curve import ReliabilityBin
    from nlgauge.studies.calibrate.curves import AgreementCurve, AgreementCurves

#: Names of what was left out.
_LEFT_OUT = {"year": "left-out years", "langpair": "left-out language pairs", "system": "left-out systems"}

_COLUMNS = {"width": 3.6, "height": 3.0}


def draw_curves(curves: AgreementCurves) -> Any:
    """A row of panels per metric: the curve, and a reliability diagram for each way of leaving out."""
    ways = max(len(curve.left_out) for curve in curves.curves)
    figure, panels = new_panels(
        len(curves.curves), 1 + ways, width=_COLUMNS["width"] * (1 + ways), height=_COLUMNS["height"]
    )
    for row, curve in enumerate(curves.curves):
        own = panels[row * (1 + ways) : (row + 1) * (1 + ways)]
        draw_curve(own[0], curve)
        for panel, left_out in zip(own[1:], curve.left_out, strict=False):
            _draw_reliability(panel, left_out.bins, f"{_LEFT_OUT[left_out.groups]}: error {left_out.error:.3f}")
    origin = curves.origin
    band = f"{format_level(origin.level)} interval ({origin.resampled} resampled)"
    finish_figure(
        figure,
        title=f"Human agreement by size of the difference: {origin.name}",
        caption=f"Left: curve with {band}; points: a tenth of the pairs each. Right: predictions of pairs that were "
        "left out of the fit, a tenth of the pairs each, with 95 % Wilson intervals of independent pairs; dashed: "
        "perfect calibration.",
    )
    return figure


def draw_statement(
    curve: AgreementCurve, origin_name: str, *, title: str, difference: float, share: float, level: float
) -> Any:
    """The curve, with the difference of two systems marked."""
    figure, (panel,) = new_panels(1, 1, width=5.4, height=2.7)
    draw_curve(panel, curve)
    size = min(difference, curve.largest)
    panel.plot([size, size], [0.45, share], color=COLOURS[5], linewidth=1.2, linestyle="--")
    panel.plot([size], [share], marker="o", markersize=6, color=COLOURS[5], linestyle="none")
    panel.set_xlabel(f"difference in {title}", fontsize=8)
    finish_figure(
        figure,
        title=f"{title}: human agreement among {origin_name} system pairs",
        caption=f"Curve of {curve.pairs} pairs with {format_level(level)} interval; points: a tenth of the pairs "
        "each; orange: the difference of the two systems.",
    )
    return figure


def draw_curve(panel: Any, curve: AgreementCurve) -> None:
    """A curve, its band and the observed shares."""
    sizes = np.linspace(0.0, curve.largest, 200)
    panel.fill_between(curve.band.sizes, curve.band.low, curve.band.high, color=COLOURS[4], alpha=0.35, linewidth=0)
    panel.plot(sizes, curve.fit.predict(sizes), color=COLOURS[0], linewidth=1.6)
    panel.plot(
        [part.predicted for part in curve.observed],
        [part.observed for part in curve.observed],
        marker="o",
        markersize=4,
        color="#333333",
        linestyle="none",
    )
    panel.set_xlim(0.0, curve.largest)
    panel.set_ylim(0.45, 1.02)
    panel.set_xlabel(f"difference in {curve.metric}", fontsize=8)
    panel.set_ylabel("same preference", fontsize=8)
    panel.tick_params(labelsize=8)


def _draw_reliability(panel: Any, bins: Sequence[ReliabilityBin], title: str) -> None:
    panel.plot([0.5, 1.0], [0.5, 1.0], color="#888888", linewidth=0.9, linestyle="--")
    for part in bins:
        low, high = wilson(part.observed, part.pairs)
        panel.plot([part.predicted, part.predicted], [low, high], color=COLOURS[0], linewidth=1.2)
    panel.plot(
        [part.predicted for part in bins],
        [part.observed for part in bins],
        marker="o",
        markersize=4,
        color=COLOURS[0],
        linestyle="none",
    )
    panel.set_xlim(0.48, 1.02)
    panel.set_ylim(0.3, 1.02)
    panel.set_title(title, fontsize=8)
    panel.set_xlabel("predicted", fontsize=8)
    panel.set_ylabel("observed", fontsize=8)
    panel.tick_params(labelsize=8)


def wilson(share: float, count: int, *, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a share.

    >>> [round(end, 4) for end in wilson(0.9, 100)]  # Newcombe 1998, method 3
    [0.8256, 0.9448]
    """
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    reach = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return float(centre - reach), float(centre + reach)
