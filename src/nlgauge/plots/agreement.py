"""Bars of agreement with people: a group per language pair, a bar per metric, bootstrap intervals on them."""

from __future__ import annotations

import math
from pathlib import Path

from nlgauge.meta import AgreementTable
from nlgauge.plots.canvas import COLOURS, new_figure, save_figure

__all__ = ["plot_agreement"]

_LABELS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's \u03c1",
    "kendall": "Kendall's \u03c4",
    "acc-eq": "acc_eq",
    "differences": "r of differences",
    "spa": "SPA",
    "auc": "AUC",
}


def plot_agreement(result: AgreementTable, path: Path) -> None:
    """Draw one table."""
    names, groups = list(result.cells), [*result.langpairs]
    averaged = len(groups) > 1
    groups += ["average"] if averaged else []
    size = 0.84 / len(names)
    figure, axes = new_figure(max(5.0, 1.2 + 0.22 * len(names) * len(groups)), 3.8)
    averages = result.averages
    for number, name in enumerate(names):
        values, lows, highs = [], [], []
        for group in groups:
            cell = result.cells[name].get(group)
            value = averages[name] if cell is None else cell.value
            low, high = (math.nan, math.nan) if cell is None else (cell.low, cell.high)
            values.append(value)
            lows.append(value - low)  # nan where there is no interval, and matplotlib draws none
            highs.append(high - value)
        places = [at + (number - (len(names) - 1) / 2) * size for at in range(len(groups))]
        # Sentinels are what a metric must not lose to: grey, so that they step back.
        sentinel = name.startswith("sentinel")
        colour = "#bbbbbb" if sentinel else COLOURS[number % len(COLOURS)]
        axes.bar(places, values, size * 0.92, color=colour, label=name, hatch="//" * sentinel, edgecolor="white")
        axes.errorbar(places, values, yerr=[lows, highs], fmt="none", ecolor="#333333", elinewidth=0.8, capsize=1.5)
        for at, group in enumerate(groups):
            cell = result.cells[name].get(group)
            if cell is not None and cell.unbeaten:
                top = cell.value if math.isnan(cell.high) else cell.high
                axes.annotate("*", (places[at], top), ha="center", va="bottom", fontsize=9, color="#333333")
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(_LABELS[result.agreement])
    axes.axhline(0, color="#333333", linewidth=0.8)
    if averaged:
        axes.axvline(len(groups) - 1.5, color="#999999", linewidth=0.8, linestyle=":")
    axes.set_title(f"{result.data}, {result.level} level", loc="left", fontsize=10)
    figure.legend(loc="outside lower center", ncols=min(4, len(names)), frameon=False, fontsize=8)
    save_figure(figure, path)
