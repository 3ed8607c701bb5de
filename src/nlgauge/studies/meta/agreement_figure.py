"""Figure of agreement with human judgements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nlgauge.io.canvas import series_styles
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels

if TYPE_CHECKING:
    from nlgauge.studies.meta.agreement import AgreementTable

_LABELS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's \u03c1",
    "kendall": "Kendall's \u03c4",
    "acc-eq": "acc_eq",
    "differences": "r of differences",
    "spa": "SPA",
    "auc": "AUC",
}


def draw_agreement(result: AgreementTable) -> Any:
    """Draw one table."""
    groups = {
        langpair: {
            name: Bar(row[langpair].value, row[langpair].low, row[langpair].high, row[langpair].unbeaten)
            for name, row in result.cells.items()
        }
        for langpair in result.langpairs
    }
    averaged = len(groups) > 1
    if averaged:
        groups["average"] = {name: Bar(value) for name, value in result.averages.items()}
    # Sentinels are what a metric must not lose to: grey, so that they step back.
    styles = series_styles(result.cells, muted=[name for name in result.cells if name.startswith("sentinel")])
    panel = BarPanel("", _LABELS[result.agreement], groups, rule_before="average" if averaged else None)
    return draw_bar_panels(
        [panel],
        styles,
        title=f"{result.data}: agreement with {result.criterion}, {result.level} level",
        caption=_caption(result),
        height=2.7,
    )


def _caption(result: AgreementTable) -> str:
    cells = [cell for row in result.cells.values() for cell in row.values()]
    what = [f"Bars: {_LABELS[result.agreement]}"]
    if any(math.isfinite(cell.low) for cell in cells):
        what.append("whiskers: 95 % interval" + " (whole documents)" * bool(result.options.get("documents")))
    else:
        what.append("without intervals")
    if len(result.langpairs) > 1:
        what.append("average: unweighted mean, without an interval")
    mark = result.mark
    what += [f"*: {mark}"] if mark else []
    few = [note for note in result.notes if "no significance test" in note]
    return "; ".join([*what, *few]) + "."
