"""The canvas of all figures: styles of series, panels in rows, title, legend and caption, without a window.

A figure is never wider than `WIDEST`, and nothing on it is cut off: the space below and above the panels is measured,
and the figure made that much higher. Its caption says in words what bars, whiskers, stars and lines are.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nlgauge.errors import NlgaugeWarning, RecipeError
from nlgauge.io.escapes import shorten_name
from nlgauge.io.packages import require
from nlgauge.io.storage import write_atomic

#: Distinguishable for colour-blind readers (Okabe and Ito 2008), and in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#222222")
#: Once the colours are used up, the next series have another hatch, or another mark.
_HATCHES = ("////", "....", "xxxx", "----", "oo", "++++", "\\\\\\\\")
_MARKS = "os^DvPX*"
#: Of series that step back (sentinels): shades of grey, each with a hatch of its own.
_MUTED = (("#d0d0d0", "////"), ("#b0b0b0", "...."), ("#e4e4e4", "xxxx"), ("#c0c0c0", "----"))
_LIGHT = ("#F0E442", "#56B4E9", "#E69F00")

FORMATS = (".png", ".svg", ".pdf")

#: Inches; a page across.
WIDEST = 11.0
#: Characters of the longest name that is shown whole.
LONGEST_NAME = 32

_DPI = 150
_GAP = 0.08
#: Share of the width that text may take: a PDF's letters are a little wider than a picture's.
_ROOM = 0.95


class SeriesStyle(NamedTuple):
    """How a series looks: no two of a figure look alike."""

    colour: str
    hatch: str
    mark: str
    edge: str
    """Of the bar and of its hatch, which must be seen on the colour."""


def series_styles(names: Iterable[str], *, muted: Iterable[str] = ()) -> dict[str, SeriesStyle]:
    """A style for each name, in their order; eight colours, then the same with hatches and other marks.

    >>> styles = series_styles([f"metric {n}" for n in range(20)])
    >>> len(set(styles.values()))
    20
    """
    back = set(muted)
    styles: dict[str, SeriesStyle] = {}
    bright = grey = 0
    for name in dict.fromkeys(names):
        if name in back:
            colour, hatch = _MUTED[grey % len(_MUTED)]
            styles[name] = SeriesStyle(colour, hatch * (1 + grey // len(_MUTED)), _MARKS[-1 - grey % 4], "#666666")
            grey += 1
            continue
        colour, turn = COLOURS[bright % len(COLOURS)], bright // len(COLOURS)
        dense, place = divmod(turn - 1, len(_HATCHES))
        hatch = _HATCHES[place] * (1 + dense) if turn else ""
        edge = "#333333" if turn and colour in _LIGHT else "white"
        styles[name] = SeriesStyle(colour, hatch, _MARKS[turn % len(_MARKS)], edge)
        bright += 1
    return styles


def legend_entries(styles: Mapping[str, SeriesStyle], *, kind: Literal["bar", "mark"]) -> list[Any]:
    """What a legend shows beside each name."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if kind == "bar":
        return [Patch(facecolor=style.colour, hatch=style.hatch, edgecolor=style.edge) for style in styles.values()]
    return [Line2D([], [], color=style.colour, marker=style.mark, linestyle="none") for style in styles.values()]


def shorten(name: str, most: int = LONGEST_NAME) -> str:
    """A long name without its middle: names of systems differ at their ends.

    >>> shorten("transformer-big-with-back-translation-run-07.txt", 20)
    'transforme…un-07.txt'
    """
    return shorten_name(name, most)


def panel_grid(count: int, *, most_columns: int = 2) -> tuple[int, int]:
    """Rows and columns for so many panels.

    >>> panel_grid(7), panel_grid(1), panel_grid(7, most_columns=3)
    ((4, 2), (1, 1), (3, 3))
    """
    columns = max(1, min(most_columns, count))
    return max(1, math.ceil(count / columns)), columns


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round numbers between two ends, at most so many.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def new_panels(rows: int, columns: int, *, width: float, height: float) -> tuple[Any, list[Any]]:
    """A figure `width` wide (at most `WIDEST`) with panels in rows and columns, each row `height` high."""
    require("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(min(width, WIDEST), height * rows), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(rows, columns, number) for number in range(1, rows * columns + 1)]
    for axes in panels:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, panels


def finish_figure(
    figure: Any, *, title: str, caption: str = "", legend: tuple[Sequence[Any], Sequence[str]] | None = None
) -> None:
    """Put the title above the panels and the legend and the caption below, and make the figure that much higher."""
    width, panels = figure.get_size_inches()
    top = _text(figure, title, 10, width)
    bottom = _text(figure, caption, 7.5, width, color="#444444") if caption else None
    entries = None if legend is None or not legend[1] else _legend(figure, *legend, width)
    heights = [0.0 if part is None else _inches(part)[1] + _GAP for part in (top, entries, bottom)]
    whole = panels + sum(heights)
    figure.set_size_inches(width, whole)
    left = _GAP / width
    top.set_position((left, 1 - _GAP / 2 / whole))
    top.set_verticalalignment("top")
    if bottom is not None:
        bottom.set_position((left, _GAP / 2 / whole))
        bottom.set_verticalalignment("bottom")
    if entries is not None:
        entries.set_bbox_to_anchor((0.5, heights[2] / whole), transform=figure.transFigure)
    below = heights[1] + heights[2]
    figure.get_layout_engine().set(rect=(0, below / whole, 1, panels / whole))


def save_figure(figure: Any, path: Path) -> None:
    """Write the figure, whole or not at all; the same input gives the same bytes."""
    check_figure(path)
    buffer = io.BytesIO()
    kind = path.suffix.removeprefix(".")
    stamps = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(buffer, format=kind, dpi=_DPI, metadata=stamps[kind])
    write_atomic(path, buffer.getvalue())
    lacking = [entry for entry in caught if "missing from" in str(entry.message)]
    for entry in caught:
        if entry not in lacking:
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
    if lacking:
        msg = "the font of figures lacks letters of these texts, which are drawn as boxes; --format json has them all"
        warnings.warn(msg, NlgaugeWarning, stacklevel=3)


def check_figure(path: Path) -> None:
    """Refuse a figure that could not be written (its name, its folder, no matplotlib) before hours of work."""
    require("matplotlib", "plot")
    if path.suffix not in FORMATS:
        msg = f"cannot save a figure as {path.name!r}; the file name must end in {', '.join(FORMATS)}"
        raise RecipeError(msg)
    if not path.parent.is_dir():
        msg = f"cannot write {str(path)!r}: the folder {str(path.parent)!r} does not exist"
        raise RecipeError(msg)


def _text(figure: Any, text: str, size: float, width: float, **how: Any) -> Any:
    """Text of the figure, in as many lines as it takes to be no wider than the figure."""
    shown = figure.text(0, 0, text, fontsize=size, ha="left", **how)
    shown.set_parse_math(False)  # a "$" in a name is a "$"
    for characters in range(400, 20, -5):
        if _inches(shown)[0] <= _ROOM * width:
            break
        lines = [textwrap.fill(line, characters) for line in text.split("\n")]
        shown.set_text("\n".join(lines))
    return shown


def _legend(figure: Any, handles: Sequence[Any], labels: Sequence[str], width: float) -> Any:
    """A legend with as many columns as fit."""
    names = [shorten(label) for label in labels]
    for columns in range(min(6, len(names)), 0, -1):
        legend = figure.legend(handles, names, loc="lower center", ncols=columns, frameon=False, fontsize=8)
        legend.set_in_layout(False)
        for text in legend.get_texts():
            text.set_parse_math(False)
        if columns == 1 or _inches(legend)[0] <= _ROOM * width:
            break
        legend.remove()
    return legend


def _inches(artist: Any) -> tuple[float, float]:
    extent = artist.get_window_extent(artist.get_figure().canvas.get_renderer())
    dpi = artist.get_figure().dpi
    return extent.width / dpi, extent.height / dpi
