"""What all figures share: a canvas without a window, quiet colours, and a file written whole."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.files.atomic import write_atomic

__all__ = ["COLOURS", "FORMATS", "check_figure", "draw_bars", "new_figure", "new_panels", "save_figure"]

#: Distinguishable for colour-blind readers (Okabe and Ito 2008), and in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
FORMATS = (".png", ".svg", ".pdf")

#: Longest name that stands below its bars without a slant.
_SHORT_NAME = 7


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure and its axes, drawn without a display."""
    figure, (axes,) = new_panels(1, 1, width=width, height=height)
    return figure, axes


def new_panels(rows: int, columns: int, *, width: float, height: float) -> tuple[Any, list[Any]]:
    """A figure `width` wide with panels in rows and columns, each row `height` high."""
    _need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(rows, columns, number) for number in range(1, rows * columns + 1)]
    for axes in panels:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, panels


def draw_bars(
    axes: Any, names: Sequence[str], bars: Mapping[str, Sequence[float | None]], order: Sequence[str]
) -> None:
    """Groups of bars: for each name a bar of each series; `order` are all series of the figure, for their colours."""
    size = 0.84 / len(order)
    for label, heights in bars.items():
        number = order.index(label)
        places = [at + (number - (len(order) - 1) / 2) * size for at in range(len(names))]
        drawn = [math.nan if height is None else height for height in heights]
        axes.bar(places, drawn, size * 0.92, color=COLOURS[number % len(COLOURS)], label=label)
    axes.axhline(0, color="#333333", linewidth=0.8)
    slant = {"rotation": 20, "ha": "right"} if max(map(len, names)) > _SHORT_NAME else {}
    axes.set_xticks(range(len(names)), names, fontsize=8, **slant)


def save_figure(figure: Any, path: Path) -> None:
    """Write the figure, whole or not at all; the same input gives the same bytes."""
    check_figure(path)
    buffer = io.BytesIO()
    kind = path.suffix.removeprefix(".")
    stamps = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=kind, dpi=150, metadata=stamps[kind])
    write_atomic(path, buffer.getvalue())


def check_figure(path: Path) -> None:
    """Refuse a figure that could not be written (its name, its folder, no matplotlib) before hours of work."""
    _need_matplotlib()
    if path.suffix not in FORMATS:
        msg = f"a figure's file ends in {', '.join(FORMATS)}, got {path.name!r}"
        raise RecipeError(msg)
    if not path.parent.is_dir():
        msg = f"cannot write {str(path)!r}: the folder {str(path.parent)!r} does not exist"
        raise RecipeError(msg)


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError as error:
        msg = "figures need matplotlib: pip install 'nlgauge[plot]'"
        raise MissingExtraError(msg) from error
