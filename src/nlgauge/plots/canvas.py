"""What all figures share: a canvas without a window, quiet colours, and a file written whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.store import write_whole

__all__ = ["COLOURS", "FORMATS", "new_figure", "save_figure"]

#: Distinguishable for colour-blind readers (Okabe and Ito 2008), and in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
FORMATS = (".png", ".svg", ".pdf")


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure and its axes, drawn without a display."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "figures need matplotlib: pip install 'nlgauge[plot]'"
        raise MissingExtraError(msg) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def save_figure(figure: Any, path: Path) -> None:
    """Write the figure, whole or not at all; the same input gives the same bytes."""
    check_format(path)
    buffer = io.BytesIO()
    kind = path.suffix.removeprefix(".")
    stamps = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=kind, dpi=150, metadata=stamps[kind])
    write_whole(path, buffer.getvalue())


def check_format(path: Path) -> None:
    """Refuse a file name that says no format, before hours of work."""
    if path.suffix not in FORMATS:
        msg = f"a figure's file ends in {', '.join(FORMATS)}, got {path.name!r}"
        raise RecipeError(msg)
