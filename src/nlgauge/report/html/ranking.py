"""Systems of one metric, best first, with a figure of their scores and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgauge.report.comparison_tables import ends
from nlgauge.report.html.elements import Html, hidden, joined, name_of, tag
from nlgauge.report.html.exports import export, scrolling
from nlgauge.report.html.figures import Scale, axis, interval_bar, scale_over
from nlgauge.report.numbers import level_text, number
from nlgauge.report.table import Cell, Table
from nlgauge.report.verdicts import metric_decimals

if TYPE_CHECKING:
    from nlgauge.compare import CompareSettings, MetricComparison, SystemRow
    from nlgauge.stats import Interval

__all__ = ["ranking", "ranking_table"]


def ranking(found: MetricComparison, settings: CompareSettings, *, name: str) -> Html:
    """The table of systems with a figure of their intervals, and the same table to copy."""
    decimals = metric_decimals(found)
    level = level_text(settings.level)
    scale = scale_over([value for row in found.systems for value in (row.score, *_ends(row)) if value is not None])
    rows, before = [], found.systems[0].cluster
    for row in found.systems:
        rows.append(
            tag("tr", *_cells(row, scale, level, decimals), class_="starts" if row.cluster != before else None)
        )
        before = row.cluster
    empty = [tag("td", class_="wide"), tag("td", axis(scale, decimals), class_="figure")]
    foot = tag("tr", tag("td", colspan=3.0), *empty, tag("td", class_="wide"), tag("td", class_="wide games"))
    table = tag("table", _head(level), tag("tbody", *rows), tag("tfoot", foot), class_="ranking")
    return joined(
        [
            scrolling(table, label=f"Ranking by {found.metric}"),
            _note(found, level),
            export(ranking_table(found), name=f"{name}-ranking", decimals=decimals),
        ]
    )


def ranking_table(found: MetricComparison) -> Table:
    """All that is known of each system, as a table to copy."""
    columns = ["rank", "system", "score", "low", "high", "median", "bradley-terry", "bt low", "bt high"]
    columns += ["wins", "ties", "losses", "cluster"]
    extra = [name for name in ("elo", "trueskill") if any(getattr(row, name) is not None for row in found.systems)]
    rows: list[list[Cell]] = []
    for row in found.systems:
        low, high = _ends(row)
        cells: list[Cell] = [row.rank, row.system, row.score, low, high, row.median, row.bradley_terry]
        cells += ends(row.bt_interval)
        rows.append([*cells, row.wins, row.ties, row.losses, row.cluster, *(getattr(row, name) for name in extra)])
    return Table([*columns, *extra], rows, caption=f"Systems by {found.metric}", notes=[found.signature])


def _head(level: str) -> Html:
    cells = {
        "rank": hidden("rank"),
        "name": "system",
        "num": "score",
        "num wide": f"{level} interval",
        "figure": hidden(f"score and {level} interval"),
        "num wide strength": "Bradley–Terry",
        "num wide games": "won / tied / lost",
    }
    return tag("thead", tag("tr", *(tag("th", text, scope="col", class_=class_) for class_, text in cells.items())))


def _cells(row: SystemRow, scale: Scale, level: str, decimals: int) -> list[Html]:
    low, high = _ends(row)
    score = number(row.score, decimals)
    between = "" if low is None else f"{number(low, decimals)} – {number(high, decimals)}"
    said = f"{row.system}: {score}" + (f", {level} interval {between}" if between else "")
    return [
        tag("td", str(row.rank), class_="rank"),
        tag("th", name_of(row.system), scope="row", class_="name"),
        tag("td", score, class_="num"),
        tag("td", between, class_="num wide"),
        tag("td", interval_bar(scale, row.score, low, high, label=said), class_="figure"),
        tag("td", number(row.bradley_terry, 3), class_="num wide", title=_strength(row, level)),
        tag("td", f"{row.wins:,} / {row.ties:,} / {row.losses:,}", class_="num wide games"),
    ]


def _strength(row: SystemRow, level: str) -> str | None:
    if row.bt_interval is None:
        return None
    low, high = (number(end, 3) for end in (row.bt_interval.low, row.bt_interval.high))
    return f"{level} interval {low} – {high}"


def _note(found: MetricComparison, level: str) -> Html:
    better = "higher is better" if found.higher_is_better else "lower is better"
    interval = found.systems[0].interval
    bar = "" if interval is None else f", the bar its {level} interval ({_method(interval)})"
    said = [f"The dot is the score ({better}){bar}."]
    if found.systems[-1].cluster > 1:
        said.append(
            "A line separates rank clusters, as in WMT: every system above it is significantly better than every "
            "system below it."
        )
    said.append("Won, tied and lost count segments against all other systems.")
    return tag("p", " ".join(said), class_="note")


def _method(interval: Interval) -> str:
    units = "documents" if interval.clustered else "segments"
    if interval.method == "t":
        return f"Student's t: a bootstrap of {interval.n} {units} would be too narrow"
    return f"bootstrap of {units}, {interval.resamples:,} resamples"


def _ends(row: SystemRow) -> tuple[float | None, float | None]:
    return (None, None) if row.interval is None else (row.interval.low, row.interval.high)
