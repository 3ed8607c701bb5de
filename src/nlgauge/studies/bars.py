"""Groups of bars in rows of panels: a group per language pair or system, a bar per metric.

A row holds as many groups as can be read; more groups go on in the next row, on the same scale. Bars of a group are
centred over its name, however many of the metrics have a value there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from nlgauge.io.canvas import WIDEST, SeriesStyle, finish_figure, legend_entries, new_panels, shorten

#: Bars and groups that can be told apart across a page.
_MOST_BARS = 48
_MOST_GROUPS = 16
#: Rows of one figure; more would not be read.
_MOST_ROWS = 24
#: Inches: many rows are drawn flatter, down to what can still be read.
_HIGHEST, _FLATTEST = 30.0, 1.6
#: Longest name that stands below its bars without a slant, and longest at all.
_SHORT_NAME = 7
_LONG_NAME = 26


@dataclass(frozen=True)
class Bar:
    """A value, with the ends of its whisker where it has one."""

    value: float
    low: float = math.nan
    high: float = math.nan
    starred: bool = False


@dataclass(frozen=True)
class BarPanel:
    """One chart: by group, then by series."""

    title: str
    axis: str
    """What the bars measure."""
    groups: Mapping[str, Mapping[str, Bar]]
    rule_before: str | None = None
    """Group that a dotted line sets apart: an average."""

    @property
    def values(self) -> list[float]:
        """All ends of bars and whiskers."""
        ends = [end for row in self.groups.values() for bar in row.values() for end in (bar.value, bar.low, bar.high)]
        return [end for end in ends if math.isfinite(end)]


@dataclass(frozen=True)
class _Row:
    panel: BarPanel
    names: Sequence[str]
    first: bool
    limits: tuple[float, float] = field(default=(0.0, 1.0))


def draw_bar_panels(
    panels: Sequence[BarPanel], styles: Mapping[str, SeriesStyle], *, title: str, caption: str, height: float = 2.5
) -> Any:
    """The figure of all panels; what did not fit is said in its caption."""
    rows = [row for panel in panels for row in _rows(panel)]
    if len(rows) > _MOST_ROWS:
        caption += f"\nthe first {_MOST_ROWS} of {len(rows)} rows; the table has all"
        rows = rows[:_MOST_ROWS]
    bars = max((sum(_bars_in(row.panel, name) for name in row.names) for row in rows), default=0)
    groups = max((len(row.names) for row in rows), default=0)
    width = 1.5 + WIDEST * max(bars / _MOST_BARS, groups / _MOST_GROUPS)
    flat = max(_FLATTEST, min(height, _HIGHEST / max(1, len(rows))))
    figure, axes = new_panels(max(1, len(rows)), 1, width=max(6.0, width), height=flat)
    for place, row in zip(axes, rows, strict=False):
        _draw(place, row, styles)
    shown = {name for row in rows for bars in row.panel.groups.values() for name in bars}
    known = {name: style for name, style in styles.items() if name in shown}
    finish_figure(figure, title=title, caption=caption, legend=(legend_entries(known, kind="bar"), list(known)))
    return figure


def _rows(panel: BarPanel) -> Iterator[_Row]:
    """The panel's groups, as many to a row as fit, in rows of about the same length."""
    names = list(panel.groups)
    bars = max((_bars_in(panel, name) for name in names), default=1)
    most = max(1, min(_MOST_GROUPS, _MOST_BARS // bars))
    rows = max(1, math.ceil(len(names) / most))
    limits = _limits(panel.values)
    numbered = groupby(enumerate(names), key=lambda entry: entry[0] * rows // len(names))
    for row, members in numbered:
        yield _Row(panel, [name for _, name in members], row == 0, limits)


def _bars_in(panel: BarPanel, name: str) -> int:
    return max(1, len(panel.groups[name]))


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """One scale for all rows of a panel, 0 included; bars that start elsewhere deceive."""
    low, high = min([0.0, *values]), max([0.0, *values] if values else [1.0])
    room = 0.08 * (high - low or 1.0)
    return (low - room if low < 0 else 0.0), high + room


def _draw(axes: Any, row: _Row, styles: Mapping[str, SeriesStyle]) -> None:
    panel = row.panel
    size = 0.84 / max(_bars_in(panel, name) for name in row.names)
    for index, group in enumerate(row.names):
        present = {name: bar for name, bar in panel.groups[group].items() if math.isfinite(bar.value)}
        for number, (name, bar) in enumerate(present.items()):
            _draw_bar(axes, index + (number - (len(present) - 1) / 2) * size, bar, size, styles[name])
        if not present:
            axes.annotate("no value", (index, 0), ha="center", va="bottom", fontsize=7, color="#666666")
    if panel.rule_before in row.names and row.names.index(panel.rule_before):
        axes.axvline(row.names.index(panel.rule_before) - 0.5, color="#999999", linewidth=0.8, linestyle=":")
    axes.axhline(0, color="#333333", linewidth=0.8)
    axes.set_xlim(-0.5, len(row.names) - 0.5)
    axes.set_ylim(*row.limits)
    slanted = max(map(len, row.names)) > _SHORT_NAME
    slant = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    labels = [shorten(name, _LONG_NAME) for name in row.names]
    axes.set_xticks(range(len(labels)), labels, fontsize=8, parse_math=False, **slant)
    axes.set_ylabel(panel.axis, fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    if row.first and panel.title:
        axes.set_title(panel.title, loc="left", fontsize=9, parse_math=False)


def _draw_bar(axes: Any, place: float, bar: Bar, size: float, style: SeriesStyle) -> None:
    from matplotlib.patheffects import withStroke

    axes.bar(
        place, bar.value, size * 0.92, color=style.colour, hatch=style.hatch, edgecolor=style.edge, linewidth=0.4
    )
    whisker = math.isfinite(bar.low) and math.isfinite(bar.high)
    if whisker:
        # An interval need not hold the value itself (percentiles of a coefficient at its bound).
        arms = [[max(0.0, bar.value - bar.low)], [max(0.0, bar.high - bar.value)]]
        halo = [withStroke(linewidth=2.2, foreground="white")]  # seen on dark bars too
        axes.errorbar(
            place, bar.value, yerr=arms, fmt="none", ecolor="#333333", elinewidth=0.8, capsize=1.5, path_effects=halo
        )
    if bar.starred:
        top = max(bar.value, bar.high if whisker else bar.value, 0.0)
        axes.annotate("*", (place, top), ha="center", va="bottom", fontsize=9, color="#333333")
