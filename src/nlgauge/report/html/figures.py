"""Figures as inline SVG that are as wide as their place: positions in per cent, so that no dot is stretched.

The page forbids style attributes; colours are classes of its style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.report.html.elements import Html, tag
from nlgauge.report.numbers import number, ticks

__all__ = ["Scale", "axis", "highest_share", "histogram", "interval_bar", "scale_over"]

#: Most ticks of an axis.
_TICKS = 7

#: Most steps of a histogram.
_MOST_BINS = 48


class Scale(NamedTuple):
    """From numbers to per cent of a figure's width."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Position in per cent, within the figure."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


def scale_over(values: Sequence[float], *, margin: float = 0.06) -> Scale:
    """A scale on which all values have their place, with a margin at both ends.

    >>> scale_over([0.0, 1.0], margin=0.1)
    Scale(low=-0.1, high=1.1)
    """
    low, high = min(values), max(values)
    room = margin * (high - low) or abs(high) * margin or 1.0
    return Scale(low - room, high + room)


def interval_bar(scale: Scale, score: float, low: float | None, high: float | None, *, label: str) -> Html:
    """A dot for the score, a bar for its interval."""
    marks: list[Html] = [_grid(scale, 26)]
    if low is not None and high is not None:
        marks.append(_line(scale.at(low), scale.at(high), 13, "bar"))
    marks.append(tag("circle", cx=f"{scale.at(score)}%", cy=13.0, r=4.5, class_="dot"))
    return tag("svg", *marks, class_="interval", width="100%", height="26", role="img", aria_label=label)


def axis(scale: Scale, decimals: int) -> Html:
    """Ticks with their numbers, below a column of figures of the same scale."""
    marks = []
    found = ticks(scale.low, scale.high, most=_TICKS)
    digits = max((len(_short(tick, decimals).partition(".")[2]) for tick in found), default=0)
    for order, tick in enumerate(found):
        at = f"{scale.at(tick)}%"
        anchor = "start" if scale.at(tick) < 4 else "end" if scale.at(tick) > 96 else None
        marks.append(tag("line", x1=at, x2=at, y1=0.0, y2=4.0, class_="tick"))
        # Where the page is narrow, every second number is left out.
        label = "tick-label second" if order % 2 else "tick-label"
        marks.append(tag("text", number(tick, digits), x=at, y=16.0, class_=label, text_anchor=anchor))
    return tag("svg", *marks, class_="axis", width="100%", height="20", aria_hidden="true")


def histogram(scale: Scale, values: NDArray[np.float64], most: float, *, label: str) -> Html:
    """How often which scores occur; `most` is the share that fills the height, the same for all systems."""
    counts, edges = np.histogram(values, bins=_bins(len(values)), range=scale)
    heights = 30.0 * counts / len(values) / most
    steps = [f"M{scale.at(float(edges[0]))} 32"]
    for height, right in zip(heights, edges[1:], strict=True):
        steps.append(f"V{32 - height:.1f}H{scale.at(float(right))}")
    path = tag("path", d="".join(steps) + "V32Z", class_="hill")
    mean = scale.at(float(values.mean()))
    line = tag("line", x1=mean, x2=mean, y1=2.0, y2=32.0, class_="mean")
    return tag(
        "svg", path, line, class_="histogram", viewBox="0 0 100 32", preserveAspectRatio="none",
        width="100%", height="32", role="img", aria_label=label,
    )  # fmt: skip


def highest_share(scale: Scale, columns: Sequence[NDArray[np.float64]]) -> float:
    """The largest share of one system's scores within one step of its histogram."""
    shares = [np.histogram(one, bins=_bins(len(one)), range=scale)[0].max() / len(one) for one in columns]
    return max(float(max(shares)), 1e-9)


def _bins(count: int) -> int:
    """Steps for so many values: twice their root, so that few values do not become a comb."""
    return min(_MOST_BINS, max(8, 2 * math.isqrt(count)))


def _grid(scale: Scale, height: int) -> Html:
    lines = [
        tag("line", x1=f"{scale.at(tick)}%", x2=f"{scale.at(tick)}%", y1=0.0, y2=float(height), class_="grid")
        for tick in ticks(scale.low, scale.high, most=_TICKS)
    ]
    return tag("g", *lines)


def _line(left: float, right: float, height: float, class_: str) -> Html:
    return tag("line", x1=f"{left}%", x2=f"{right}%", y1=height, y2=height, class_=class_)


def _short(tick: float, decimals: int) -> str:
    text = number(tick, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text
