"""Systems of one metric, best first: scores with their intervals, and how scores are spread over segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nlgauge.report.html.elements import Html, joined, name_of, tag
from nlgauge.report.html.exports import export, scrolling
from nlgauge.report.html.figures import axis, highest_share, histogram, interval_bar, scale_over
from nlgauge.report.html.numbers import level_text, number
from nlgauge.report.html.words import metric_decimals
from nlgauge.report.table import Cell, Table

if TYPE_CHECKING:
    from nlgauge.compare.results import CompareSettings, MetricComparison, SystemRow
    from nlgauge.compare.table import SystemScores

__all__ = ["distributions", "ranking"]


def ranking(found: MetricComparison, settings: CompareSettings, *, name: str) -> Html:
    """The table of systems with a figure of their intervals, and the same table to copy."""
    decimals = metric_decimals(found)
    ends = [row.score for row in found.systems]
    ends += [end for row in found.systems if row.interval for end in (row.interval.low, row.interval.high)]
    scale = scale_over(ends)
    level = level_text(settings.level)
    head = [
        _head("", "rank", abbr="rank"),
        _head("system", "name"),
        _head("score", "num"),
        _head(f"{level} interval", "num wide"),
        tag("th", tag("span", f"score and {level} interval", class_="unseen"), scope="col", class_="figure"),
        _head("Bradley–Terry", "num wide"),
        _head("won / tied / lost", "num wide"),
    ]
    rows = []
    cluster = None
    for row in found.systems:
        starts = cluster is not None and row.cluster != cluster
        cluster = row.cluster
        cells = _ranking_cells(row, decimals)
        cells.insert(
            4,
            tag(
                "td", interval_bar(scale, row.score, *_ends(row), label=_said(row, level, decimals)), class_="figure"
            ),
        )
        rows.append(tag("tr", *cells, class_="starts" if starts else None))
    foot = tag(
        "tr",
        tag("td", colspan=3.0),
        tag("td", class_="wide"),
        tag("td", axis(scale, decimals), class_="figure"),
        tag("td", class_="wide"),
        tag("td", class_="wide"),
    )
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), tag("tfoot", foot), class_="ranking")
    arrow = "higher is better" if found.higher_is_better else "lower is better"
    note = tag(
        "p", f"The dot is the score ({arrow}), the bar its {level} interval. A rule separates groups: ",
        "a system below it is significantly worse than the best one of the group above.", class_="note",
    )  # fmt: skip
    return joined(
        [
            scrolling(table, label=f"Ranking by {found.metric}"),
            note,
            export(ranking_table(found), name=f"{name}-ranking", decimals=decimals),
        ]
    )


def ranking_table(found: MetricComparison) -> Table:
    """All that is known of each system, as a table to copy."""
    columns = ["rank", "system", "score", "low", "high", "median", "bradley-terry", "wins", "ties", "losses", "group"]
    extra = [name for name in ("elo", "trueskill") if any(getattr(row, name) is not None for row in found.systems)]
    rows: list[list[Cell]] = []
    for row in found.systems:
        low, high = _ends(row)
        cells: list[Cell] = [row.rank, row.system, row.score, low, high, row.median, row.bradley_terry]
        rows.append([*cells, row.wins, row.ties, row.losses, row.cluster, *(getattr(row, name) for name in extra)])
    return Table([*columns, *extra], rows, caption=f"Systems by {found.metric}", notes=[found.signature])


def distributions(found: MetricComparison, scores: SystemScores, *, name: str) -> Html:
    """Histograms of the scores of all systems on one scale."""
    decimals = metric_decimals(found)
    scale = scale_over([float(scores.values.min()), float(scores.values.max())], margin=0.02)
    columns = {row.system: scores.values[:, scores.systems.index(row.system)] for row in found.systems}
    most = highest_share(scale, list(columns.values()))
    body, plain = [], []
    for system, values in columns.items():
        quarter, median, three = (float(at) for at in np.percentile(values, [25, 50, 75]))
        label = f"{system}: half of the scores between {number(quarter, decimals)} and {number(three, decimals)}"
        middle = f"{number(quarter, decimals)} – {number(three, decimals)}"
        body.append(
            tag(
                "tr",
                tag("th", name_of(system), scope="row", class_="name"),
                _number(number(median, decimals)),
                tag("td", middle, class_="num wide"),
                tag("td", histogram(scale, values, most, label=label), class_="figure"),
            )  # fmt: skip
        )
        plain.append(
            [
                system,
                len(values),
                float(values.mean()),
                float(values.std()),
                float(values.min()),
                quarter,
                median,
                three,
                float(values.max()),
            ]
        )
    head = [
        _head("system", "name"),
        _head("median", "num"),
        _head("middle half", "num wide"),
        tag("th", tag("span", "distribution", class_="unseen"), scope="col", class_="figure"),
    ]
    foot = tag(
        "tr", tag("td", colspan=2.0), tag("td", class_="wide"), tag("td", axis(scale, decimals), class_="figure")
    )
    table = tag(
        "table", tag("thead", tag("tr", *head)), tag("tbody", *body), tag("tfoot", foot), class_="distributions"
    )
    note = tag(
        "p",
        f"Scores of {found.n:,} segments each; all on one scale and one height. The line is the mean.",
        class_="note",
    )
    columns_ = ["system", "n", "mean", "sd", "min", "25 %", "median", "75 %", "max"]
    behind = Table(columns_, plain, caption=f"Distribution of {found.metric} over segments")
    return joined(
        [
            scrolling(table, label=f"Distribution of {found.metric}"),
            note,
            export(behind, name=f"{name}-distribution", decimals=decimals),
        ]
    )


def _ranking_cells(row: SystemRow, decimals: int) -> list[Html]:
    low, high = _ends(row)
    between = "" if low is None else f"{number(low, decimals)} – {number(high, decimals)}"
    return [
        tag("td", str(row.rank), class_="rank"),
        tag("th", name_of(row.system), scope="row", class_="name"),
        _number(number(row.score, decimals)),
        tag("td", between, class_="num wide"),
        tag("td", number(row.bradley_terry, 3), class_="num wide"),
        tag("td", f"{row.wins:,} / {row.ties:,} / {row.losses:,}", class_="num wide"),
    ]


def _ends(row: SystemRow) -> tuple[float | None, float | None]:
    return (None, None) if row.interval is None else (row.interval.low, row.interval.high)


def _said(row: SystemRow, level: str, decimals: int) -> str:
    low, high = _ends(row)
    score = f"{row.system}: {number(row.score, decimals)}"
    return score if low is None else f"{score}, {level} {number(low, decimals)} to {number(high, decimals)}"


def _head(text: str, class_: str, *, abbr: str | None = None) -> Html:
    shown = tag("span", abbr, class_="unseen") if abbr else text
    return tag("th", shown, scope="col", class_=class_)


def _number(text: str) -> Html:
    return tag("td", text, class_="num")
