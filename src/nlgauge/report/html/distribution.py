"""How the scores of each system are spread over segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nlgauge.report.html.elements import Html, hidden, joined, name_of, tag
from nlgauge.report.html.exports import export, scrolling
from nlgauge.report.html.figures import Scale, axis, highest_share, histogram, scale_over
from nlgauge.report.numbers import number
from nlgauge.report.table import Cell, Table
from nlgauge.report.verdicts import metric_decimals

if TYPE_CHECKING:
    from nlgauge.compare import MetricComparison, SystemScores

__all__ = ["distributions"]


def distributions(found: MetricComparison, scores: SystemScores, *, name: str) -> Html:
    """Histograms of all systems on one scale, best system first."""
    decimals = metric_decimals(found)
    scale = scale_over([float(scores.values.min()), float(scores.values.max())], margin=0.02)
    columns = {row.system: scores.values[:, scores.systems.index(row.system)] for row in found.systems}
    most = highest_share(scale, list(columns.values()))
    body = [_row(system, values, scale, most, decimals) for system, values in columns.items()]
    heads = {"name": "system", "num": "median", "num wide": "middle half", "figure": hidden("distribution")}
    head = tag("tr", *(tag("th", text, scope="col", class_=class_) for class_, text in heads.items()))
    foot = tag(
        "tr", tag("td", colspan=2.0), tag("td", class_="wide"), tag("td", axis(scale, decimals), class_="figure")
    )
    table = tag("table", tag("thead", head), tag("tbody", *body), tag("tfoot", foot), class_="distributions")
    seen = found.diagnostics
    note = tag(
        "p", f"Scores of {found.n:,} segments each, all on one scale; the line is the mean. "
        f"{100 * seen.outliers:.1f} % of all scores are outliers (more than 1.5 interquartile ranges outside of the "
        f"middle half), {100 * seen.ties:.1f} % of comparisons between two systems tie.", class_="note",
    )  # fmt: skip
    behind = export(_table(found, columns), name=f"{name}-distribution", decimals=decimals)
    return joined([scrolling(table, label=f"Distribution of {found.metric}"), note, behind])


def _row(system: str, values: NDArray[np.float64], scale: Scale, most: float, decimals: int) -> Html:
    quarter, median, three = (number(float(at), decimals) for at in np.percentile(values, [25, 50, 75]))
    label = f"{system}: median {median}, half of the scores between {quarter} and {three}"
    return tag(
        "tr", tag("th", name_of(system), scope="row", class_="name"), tag("td", median, class_="num"),
        tag("td", f"{quarter} – {three}", class_="num wide"),
        tag("td", histogram(scale, values, most, label=label), class_="figure"),
    )  # fmt: skip


def _table(found: MetricComparison, columns: dict[str, NDArray[np.float64]]) -> Table:
    rows: list[list[Cell]] = []
    for system, values in columns.items():
        ends = [float(at) for at in np.percentile(values, [0, 25, 50, 75, 100])]
        rows.append([system, len(values), float(values.mean()), float(values.std()), *ends])
    names = ["system", "n", "mean", "sd", "min", "25 %", "median", "75 %", "max"]
    return Table(names, rows, caption=f"Distribution of {found.metric} over segments")
