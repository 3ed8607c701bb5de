"""Figures of the page as inline SVG: rankings, pairs of systems, and how scores are spread over segments.

Positions are in per cent, so a figure is as wide as its place and no dot is stretched. The page forbids style
attributes; colours are classes of its style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.io.table import Cell, Table, level_text, number, p_text, signed, ticks
from nlgauge.report.html.elements import Html, export, heads, hidden, joined, name_of, scrolling, tag
from nlgauge.studies.compare.tables import DIFFERENCE, GAMES, INTERVAL, metric_decimals, row_table, test_name

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import CompareSettings, MetricComparison, PairRow, SystemRow
    from nlgauge.studies.compare.system_scores import SystemScores


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
        ends = {"x1": f"{scale.at(low)}%", "x2": f"{scale.at(high)}%"}
        marks.append(tag("line", **ends, y1=13.0, y2=13.0, class_="bar"))
    marks.append(tag("circle", cx=f"{scale.at(score)}%", cy=13.0, r=4.5, class_="dot"))
    return tag("svg", *marks, class_="interval", width="100%", height="26", role="img", aria_label=label)


def axis(scale: Scale, decimals: int) -> Html:
    """Ticks with their numbers, below a column of figures of the same scale."""
    marks = []
    found = ticks(scale.low, scale.high, most=_TICKS)
    digits = max((len(number(tick, decimals).partition(".")[2].rstrip("0")) for tick in found), default=0)
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


def distributions(found: MetricComparison, scores: SystemScores, *, name: str) -> Html:
    """Histograms of all systems on one scale, best system first."""
    decimals = metric_decimals(found)
    scale = scale_over([float(scores.values.min()), float(scores.values.max())], margin=0.02)
    columns = {row.system: scores.values[:, scores.systems.index(row.system)] for row in found.systems}
    most = highest_share(scale, list(columns.values()))
    body = [_row(system, values, scale, most, decimals) for system, values in columns.items()]
    titles = {"name": "system", "num": "median", "num wide": "middle half", "figure": hidden("distribution")}
    foot = tag(
        "tr", tag("td", colspan=2.0), tag("td", class_="wide"), tag("td", axis(scale, decimals), class_="figure")
    )
    label = f"Distribution of {found.metric}"
    shown = scrolling("distributions", [heads(titles.items())], body, [foot], label=label)
    seen = found.diagnostics
    note = tag(
        "p", f"Scores of {found.n:,} segments each, all on one scale; the line is the mean. "
        f"{100 * seen.outliers:.1f} % of all scores are outliers (more than 1.5 interquartile ranges outside of the "
        f"middle half), {100 * seen.ties:.1f} % of comparisons between two systems tie.", class_="note",
    )  # fmt: skip
    behind = export(_table(found, columns), name=f"{name}-distribution", decimals=decimals)
    return joined([shown, note, behind])


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


#: Above so many systems a cell has only its sign: numbers would be too small to read.
_MOST_WITH_NUMBERS = 12

#: Above so many, numbers do not fit on a sheet of paper.
_MOST_ON_PAPER = 6


def significance_matrix(found: MetricComparison, settings: CompareSettings, *, name: str) -> Html | None:
    """Row against column, best systems first; None where there is one system."""
    systems = [row.system for row in found.systems]
    if len(systems) < 2:
        return None
    pairs: dict[tuple[str, str], tuple[PairRow, int]] = {}
    for pair in found.pairs:
        pairs[pair.first, pair.second] = (pair, 1)
        pairs[pair.second, pair.first] = (pair, -1)
    decimals = metric_decimals(found)
    small = len(systems) <= _MOST_WITH_NUMBERS
    columns = [tag("th", str(at), scope="col", title=system) for at, system in enumerate(systems, 1)]
    rows, before = [], found.systems[0].cluster
    for at, (system, cluster) in enumerate(zip(systems, (row.cluster for row in found.systems), strict=True), 1):
        cells = [
            tag("td", class_="self") if other == system else _cell(*pairs[system, other], decimals, numbers=small)
            for other in systems
        ]
        label = tag("th", tag("span", str(at), class_="rank"), " ", name_of(system), scope="row", class_="name")
        rows.append(tag("tr", label, *cells, class_="starts" if cluster != before else None))
        before = cluster
    head = tag("tr", tag("td", class_="corner"), *columns)
    class_ = "matrix crowded" if len(systems) > _MOST_ON_PAPER else "matrix"
    return joined(
        [
            scrolling(class_, [head], rows, label=f"Significance matrix of {found.metric}"),
            _legend(found, settings, numbers=small),
            export(pair_table(found), name=f"{name}-pairs", decimals=decimals),
        ]
    )


def pair_table(found: MetricComparison) -> Table:
    """All that is known of each pair, as a table to copy."""
    columns = DIFFERENCE | {"effect": "effect"} | GAMES
    columns |= {f"p {test}": f"p.{test}" for test in (found.pairs[0].p if found.pairs else ())}
    columns |= {"p adjusted": "p_adjusted", "better": "better", "detectable": "detectable"}
    return row_table(found.pairs, columns, f"Pairs of systems by {found.metric}")


def _cell(pair: PairRow, sign: int, decimals: int, *, numbers: bool) -> Html:
    """The row's system against the column's."""
    row, column = (pair.first, pair.second) if sign > 0 else (pair.second, pair.first)
    difference = signed(sign * pair.difference, decimals)
    mark, class_, word = "·", "even", "not shown to differ from"
    if pair.better is not None:
        mark, class_, word = ("▲", "better", "better than") if pair.better == row else ("▼", "worse", "worse than")
    adjusted = "" if pair.p_adjusted is None else f", {p_text(pair.p_adjusted)}"
    shown = tag("span", mark, class_="mark", aria_hidden="true")
    said = hidden(f"{word} {column}")
    number = tag("span", difference, class_="difference") if numbers else None
    return tag("td", shown, number, said, class_=class_, title=f"{row} {word} {column}: {difference}{adjusted}")


def _legend(found: MetricComparison, settings: CompareSettings, *, numbers: bool) -> Html:
    corrected = f" after {settings.correction.capitalize()}'s correction" if settings.correction != "none" else ""
    test = f"{test_name(settings)}, p < {settings.alpha:g}{corrected} over {len(found.pairs)} pairs"
    said = [
        tag("span", "▲", class_="better key"), " the row's system is better than the column's, ",
        tag("span", "▼", class_="worse key"), " it is worse (", test, "), ",
        tag("span", "·", class_="even key"), " no difference is shown. ",
    ]  # fmt: skip
    said.append(
        "Numbers are differences of scores, row minus column, turned so that above 0 is better."
        if numbers
        else "Columns are numbered as rows are; differences and p-values are in the copies below."
    )
    if found.systems[-1].cluster > 1:
        said.append(" Lines separate rank clusters, as in the ranking.")
    return tag("p", *said, class_="note")


def ranking(found: MetricComparison, settings: CompareSettings, *, name: str) -> Html:
    """The table of systems with a figure of their intervals, and the same table to copy."""
    decimals = metric_decimals(found)
    level = level_text(settings.level)
    scale = scale_over([value for row in found.systems for value in (row.score, *_ends(row.interval))])
    rows, before = [], found.systems[0].cluster
    for row in found.systems:
        rows.append(
            tag("tr", *_cells(row, scale, level, decimals), class_="starts" if row.cluster != before else None)
        )
        before = row.cluster
    empty = [tag("td", class_="wide"), tag("td", axis(scale, decimals), class_="figure")]
    foot = tag("tr", tag("td", colspan=3.0), *empty, tag("td", class_="wide"), tag("td", class_="wide games"))
    titles = {
        "rank": hidden("rank"),
        "name": "system",
        "num": "score",
        "num wide": f"{level} interval",
        "figure": hidden(f"score and {level} interval"),
        "num wide strength": "Bradley–Terry",
        "num wide games": "won / tied / lost",
    }
    return joined(
        [
            scrolling("ranking", [heads(titles.items())], rows, [foot], label=f"Ranking by {found.metric}"),
            _note(found, level),
            export(ranking_table(found), name=f"{name}-ranking", decimals=decimals),
        ]
    )


def ranking_table(found: MetricComparison) -> Table:
    """All that is known of each system, as a table to copy."""
    columns = {"rank": "rank", "system": "system", "score": "score", **INTERVAL, "median": "median"}
    columns |= {"bradley-terry": "bradley_terry", "bt low": "bt_interval.low", "bt high": "bt_interval.high"}
    columns |= GAMES | {"cluster": "cluster"}
    columns |= {name: name for name in ("elo", "trueskill") if getattr(found.systems[0], name) is not None}
    return row_table(found.systems, columns, f"Systems by {found.metric}", [found.signature])


def _cells(row: SystemRow, scale: Scale, level: str, decimals: int) -> list[Html]:
    low, high = _ends(row.interval) or (None, None)
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


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return () if interval is None else interval[1:3]


def _strength(row: SystemRow, level: str) -> str | None:
    ends = [number(end, 3) for end in _ends(row.bt_interval)]
    return f"{level} interval {' – '.join(ends)}" if ends else None


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
