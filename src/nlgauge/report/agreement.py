"""Figure of an agreement curve: how often human raters prefer the same system, with the difference marked.

Paths are drawn on a canvas of 100 x 100 that is stretched to its place; dots and numbers keep their shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nlgauge.io.numbers import format_level, format_number
from nlgauge.io.table import Table
from nlgauge.report.elements import Html, export, joined, tag
from nlgauge.report.figures import Scale, axis
from nlgauge.studies.calibrate.curves import find_curve, load_curves
from nlgauge.studies.compare.sentences import metric_decimals, title_of

if TYPE_CHECKING:
    from nlgauge.studies.calibrate.curves import AgreementCurve
    from nlgauge.studies.compare.comparison import CompareSettings, MetricComparison

#: Agreements at the bottom and the top of the figure.
_LOWEST, _HIGHEST = 0.45, 1.0

#: Points of the curve.
_POINTS = 80

#: Differences beyond this many times the marked one are left out, unless the curve still rises there.
_BEYOND = 3.0
_FLAT = 0.98


def agreement_figure(metric: MetricComparison, settings: CompareSettings, *, name: str) -> Html | None:
    """The curve of a metric with the difference of two systems; None without a statement."""
    statement = metric.human_agreement
    match = find_curve(load_curves(settings.curves), metric.signature)
    if statement is None or match is None:
        return None
    curve = match[1]
    decimals = metric_decimals(metric)
    size = min(statement.difference, curve.largest)
    scale = Scale(0.0, _reach(curve, size))
    sizes = np.linspace(0.0, scale.high, _POINTS)
    low, high = (np.interp(sizes, curve.band.sizes, ends) for ends in (curve.band.low, curve.band.high))
    outline = [*_points(scale, sizes, high), *reversed(_points(scale, sizes, low))]
    x, y = scale.position(size), _height(statement.share)
    label = f"{statement.title}: difference {format_number(size, decimals)}, same preference in {statement.share:.0%}"
    shapes = tag(
        "svg",
        tag("path", d=f"M{'L'.join(outline)}Z", class_="band"),
        tag("path", d=f"M{'L'.join(_points(scale, sizes, curve.fit.predict(sizes)))}", class_="curve"),
        tag("path", d=f"M{x} 100L{x} {y}", class_="marked"),
        viewBox="0 0 100 100", preserveAspectRatio="none", width="100%", height="140",
    )  # fmt: skip
    marks: list[Html] = []
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        place = f"{_height(share)}%"
        marks.append(tag("line", x1="0%", x2="100%", y1=place, y2=place, class_="grid"))
        marks.append(
            tag("text", f"{share:.0%}", x="100%", y=place, dx=-2.0, dy=-2.0, class_="tick-label", text_anchor="end")
        )
    marks.append(shapes)
    marks += [
        tag(
            "circle",
            cx=f"{scale.position(part.predicted)}%",
            cy=f"{_height(part.observed)}%",
            r=2.5,
            class_="pairs-dot",
        )
        for part in curve.observed
        if part.predicted <= scale.high and part.observed >= _LOWEST
    ]
    marks.append(tag("circle", cx=f"{x}%", cy=f"{y}%", r=5.0, class_="dot"))
    figure = tag("svg", *marks, class_="agreement", width="100%", height="140", role="img", aria_label=label)
    note = (
        f"Across: difference in {title_of(metric)}. Up: share of {statement.pairs} {statement.raters} pairs in "
        f"which raters preferred the same system, with {format_level(statement.level)} interval. Small dots: a "
        f"tenth of the pairs each. Large dot: {statement.first} and {statement.second}. Curve {statement.curve}."
    )
    rows = zip(*(values.tolist() for values in (sizes, curve.fit.predict(sizes), low, high)), strict=True)
    table = Table(["difference", "agreement", "low", "high"], [list(row) for row in rows], "Human agreement")
    return joined([figure, axis(scale, 4), tag("p", note, class_="note"), export(table, name=f"{name}-agreement")])


def _reach(curve: AgreementCurve, size: float) -> float:
    """The largest difference that is drawn: the flat part of a curve says little."""
    top = 0.5 + 0.5 * curve.fit.ceiling * _FLAT
    flat = curve.fit.size_at(top) or curve.largest
    return min(curve.largest, max(_BEYOND * size, 1.5 * flat))


def _height(share: float) -> float:
    return round(100 * (_HIGHEST - max(share, _LOWEST)) / (_HIGHEST - _LOWEST), 2)


def _points(scale: Scale, sizes: Sequence[float] | np.ndarray, shares: np.ndarray) -> list[str]:
    return [f"{scale.position(float(x))} {_height(float(y))}" for x, y in zip(sizes, shares, strict=True)]
