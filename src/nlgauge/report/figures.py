"""Figures of the page as inline SVG: rankings, pairs of systems, and how scores are spread over segments.

Positions are in per cent, so a figure is as wide as its place and no dot is stretched. The page forbids style
attributes; colours are classes of its style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.io.canvas import ticks
from nlgauge.io.numbers import format_level, format_number, format_p, format_signed
from nlgauge.io.table import Cell, Table
from nlgauge.report.elements import Html, export, heads, hidden, joined, name_of, scrolling, tag
from nlgauge.studies.compare.paired_differences import PairedDifferences, paired_differences
from nlgauge.studies.compare.sentences import decision_rule, metric_decimals, title_of
from nlgauge.studies.compare.tables import (
    DIFFERENCE,
    GAMES,
    INTERVAL,
    decisions_table,
    probability_columns,
    row_table,
)

if TYPE_CHECKING:
    from nlgauge.stats.resampling import Interval
    from nlgauge.studies.compare.comparison import CompareSettings, MetricComparison, PairRow, SystemRow
    from nlgauge.studies.compare.system_scores import SystemScores


#: Most ticks of an axis.
_TICKS = 7

#: Most steps of a histogram.
_MOST_BINS = 48

#: Pixels of a figure of a pair.
_TALL = "52"
_OF_PAIR = "histogram of-pair"


class Scale(NamedTuple):
    """From numbers to per cent of a figure's width."""

    low: float
    high: float

    def position(self, value: float) -> float:
        """Position in per cent, within the figure."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


def scale_over(values: Sequence[float], *, margin: float = 0.06) -> Scale:
    """A scale on which all values have their place, with a margin at both ends.

    >>> scale_over([0.0, 1.0], margin=0.1)
    Scale(low=-0.1, high=1.1)
    """
    low, high = min(values), max(values)
    largest = max(abs(low), abs(high))
    width = high - low if high - low > 1e-9 * largest else 0.0  # values that differ by rounding only are equal
    room = margin * width or abs(high) * margin or 1.0
    return Scale(low - room, high + room)


def interval_bar(scale: Scale, score: float, ends: Sequence[float], *, label: str) -> Html:
    """A dot for the score, a bar for its interval."""
    grid = [f"{scale.position(tick)}%" for tick in ticks(scale.low, scale.high, most=_TICKS)]
    marks = [tag("g", *(tag("line", x1=x, x2=x, y1=0.0, y2=26.0, class_="grid") for x in grid))]
    if ends:
        low, high = (f"{scale.position(end)}%" for end in ends)
        marks.append(tag("line", x1=low, x2=high, y1=13.0, y2=13.0, class_="bar"))
    marks.append(tag("circle", cx=f"{scale.position(score)}%", cy=13.0, r=4.5, class_="dot"))
    return tag("svg", *marks, class_="interval", width="100%", height="26", role="img", aria_label=label)


def axis(scale: Scale, decimals: int) -> Html:
    """Ticks with their numbers, below a column of figures of the same scale."""
    marks = []
    values = ticks(scale.low, scale.high, most=_TICKS)
    digits = max((len(format_number(value, decimals).partition(".")[2].rstrip("0")) for value in values), default=0)
    for order, value in enumerate(values):
        position = scale.position(value)
        x, anchor = f"{position}%", "start" if position < 4 else "end" if position > 96 else None
        marks.append(tag("line", x1=x, x2=x, y1=0.0, y2=4.0, class_="tick"))
        # Where the page is narrow, every second number is left out.
        label = "tick-label second" if order % 2 else "tick-label"
        marks.append(tag("text", format_number(value, digits), x=x, y=16.0, class_=label, text_anchor=anchor))
    return tag("svg", *marks, class_="axis", width="100%", height="20", aria_hidden="true")


def histogram(scale: Scale, values: NDArray[np.float64], most: float, *, label: str) -> Html:
    """Histogram of scores; `most` is the share that fills the height, the same for all systems."""
    counts, edges = _bins(scale, values)
    heights = 30.0 * counts / len(values) / most
    steps = [f"M{scale.position(float(edges[0]))} 32"]
    for height, right in zip(heights, edges[1:], strict=True):
        steps.append(f"V{32 - height:.1f}H{scale.position(float(right))}")
    path = tag("path", d="".join(steps) + "V32Z", class_="hill")
    mean = scale.position(float(values.mean()))
    line = tag("line", x1=mean, x2=mean, y1=2.0, y2=32.0, class_="mean")
    return _stretched([path, line], label=label)


def _bins(scale: Scale, values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Steps of a histogram: twice the root of the number of values, so that few values do not become a comb."""
    return np.histogram(values, bins=min(_MOST_BINS, max(8, 2 * math.isqrt(len(values)))), range=scale)


def distributions(metric: MetricComparison, scores: SystemScores, *, name: str) -> Html:
    """Histograms of all systems on one scale, best system first, and their numbers to copy."""
    decimals = metric_decimals(metric)
    scale = scale_over([float(scores.values.min()), float(scores.values.max())], margin=0.02)
    columns = {row.system: scores.values[:, scores.systems.index(row.system)] for row in metric.systems}
    most = max(1e-9, *(float(_bins(scale, values)[0].max() / len(values)) for values in columns.values()))
    body: list[Html] = []
    plain: list[list[Cell]] = []
    for system, values in columns.items():
        ends = np.percentile(values, [0, 25, 50, 75, 100]).tolist()
        plain.append([system, len(values), float(values.mean()), float(values.std()), *ends])
        quarter, median, three = (format_number(end, decimals) for end in ends[1:4])
        label = f"{system}: median {median}, half of the scores between {quarter} and {three}"
        row = tag(
            "tr", tag("th", name_of(system), scope="row", class_="name"), tag("td", median, class_="num"),
            tag("td", f"{quarter} – {three}", class_="num wide"),
            tag("td", histogram(scale, values, most, label=label), class_="figure"),
        )  # fmt: skip
        body.append(row)
    titles = {"name": "system", "num": "median", "num wide": "middle half", "figure": hidden("distribution")}
    foot = tag(
        "tr", tag("td", colspan=2.0), tag("td", class_="wide"), tag("td", axis(scale, decimals), class_="figure")
    )
    seen = metric.diagnostics
    note = tag(
        "p", f"Scores of {metric.n:,} segments on one scale; the line is the mean. "
        f"{100 * seen.outliers:.1f} % of all scores are outliers (more than 1.5 interquartile ranges outside of the "
        f"middle half), {100 * seen.ties:.1f} % of comparisons between two systems tie.", class_="note",
    )  # fmt: skip
    names = ["system", "n", "mean", "sd", "min", "25 %", "median", "75 %", "max"]
    table = Table(names, plain, caption=f"Distribution of {title_of(metric)} over segments")
    label = f"Distribution of {title_of(metric)}"
    shown = scrolling("distributions", heads(titles.items()), body, foot, label=label)
    return joined([shown, note, export(table, name=f"{name}-distribution", decimals=decimals)])


def differences(metric: MetricComparison, scores: SystemScores, *, name: str) -> Html | None:
    """Histograms and sorted differences of pairs of systems, with the probability of a win; None for one system."""
    rows = paired_differences(metric, scores)
    if not rows:
        return None
    decimals = metric_decimals(metric)
    ends = [end for row in rows for end in (float(row.values[0]), float(row.values[-1]))]
    scale = scale_over([*ends, 0.0], margin=0.02)
    rated = probability_columns(metric.pairs)
    head = [(None, "pair"), ("figure", hidden("histogram of differences")), ("figure", hidden("sorted differences"))]
    body = []
    for row in rows:
        first, second = row.pair.first, row.pair.second
        label = f"{first} minus {second}: {first} wins {row.wins:.0%} of segments, {second} {row.losses:.0%}"
        chances = [tag("td", format_number(value, 3), class_="num wide") for value in row.pair.probability.values()]
        verdict = tag("span", f"{row.sentence()}; wins {row.wins:.0%} to {row.losses:.0%}", class_="verdict")
        pair = tag("th", name_of(first), " – ", name_of(second), verdict, scope="row", class_="name")
        drawn = [_difference_hill(scale, row, label=label), _sorted_curve(row, label=f"sorted, {label}")]
        body.append(tag("tr", pair, *(tag("td", svg, class_="figure") for svg in drawn), *chances))
    foot = tag(
        "tr", tag("td"), tag("td", axis(scale, decimals), class_="figure"),
        tag("td", axis(Scale(0.0, 100.0), 0), class_="figure"),
        *(tag("td", class_="num wide") for _ in rated),
    )  # fmt: skip
    titles = [*head, *(("num wide", title) for title in rated)]
    more = len(metric.pairs) - len(rows)
    note = tag(
        "p", "Left: differences of segment scores, first system minus second, on one scale; blue: the first is "
        "better, the line is the mean. Right: the same differences from largest to smallest, against per cent of "
        "segments. The curve crosses 0 at the share of segments that the first system wins; Bradley–Terry prefers it "
        "if that is beyond the middle. The mean is the blue area minus the orange one, so outliers move it. ",
        "P is the probability that the first system beats the second: by the wins of the two alone (pair), or by "
        "ratings of all systems.",
        f" {more} more pairs are in the copies below." if more else None, class_="note",
    )  # fmt: skip
    table = decisions_table(metric)
    shown = scrolling(
        "distributions pairs", heads(titles), body, foot, label=f"Paired differences of {title_of(metric)}"
    )
    return joined([shown, note, export(table, name=f"{name}-differences", decimals=decimals)])


def _difference_hill(scale: Scale, row: PairedDifferences, *, label: str) -> Html:
    """Histogram of paired differences: a hill for wins of each system."""
    counts, edges = row.histogram()
    heights = 30.0 * counts / max(1, counts.max())
    ahead = edges[:-1] >= -1e-12 * (edges[-1] - edges[0])
    hills = []
    for class_, chosen in (("hill", ahead), ("hill against", ~ahead)):
        steps = [
            f"M{scale.position(float(left))} 32V{32 - height:.1f}H{scale.position(float(right))}V32"
            for left, right, height, drawn in zip(edges[:-1], edges[1:], heights, chosen, strict=True)
            if drawn and height
        ]
        hills.append(tag("path", d="".join(steps) or "M0 32", class_=class_))
    mean, zero = scale.position(row.mean), scale.position(0.0)
    lines = [
        tag("line", x1=zero, x2=zero, y1=0.0, y2=32.0, class_="zero"),
        tag("line", x1=mean, x2=mean, y1=2.0, y2=32.0, class_="mean"),
    ]
    return _stretched([*hills, *lines], label=label, height=_TALL, class_=_OF_PAIR)


def _sorted_curve(row: PairedDifferences, *, label: str) -> Html:
    """Sorted paired differences: the area above 0 and below, and the middle."""
    shares, values = row.curve()
    ends = max(float(values[0]), 0.0), min(float(values[-1]), 0.0)
    width = ends[0] - ends[1] or 1.0

    def height(value: float) -> float:
        return round(1 + 30 * (ends[0] - value) / width, 2)

    def area(part: NDArray[np.float64]) -> str:
        points = "".join(f"L{100 * x:.2f} {height(y)}" for x, y in zip(shares.tolist(), part.tolist(), strict=True))
        return f"M0 {height(0.0)}L0 {height(float(part[0]))}{points}L100 {height(float(part[-1]))}V{height(0.0)}Z"

    zero = height(0.0)
    return _stretched(
        [
            tag("path", d=area(np.maximum(values, 0.0)), class_="hill"),
            tag("path", d=area(np.minimum(values, 0.0)), class_="hill against"),
            tag("line", x1=0.0, x2=100.0, y1=zero, y2=zero, class_="zero"),
            tag("line", x1=50.0, x2=50.0, y1=0.0, y2=32.0, class_="middle"),
        ],
        label=label,
        height=_TALL,
        class_=_OF_PAIR,
    )


def _stretched(marks: Sequence[Html], *, label: str, height: str = "32", class_: str = "histogram") -> Html:
    """Marks on a canvas of 100 x 32 that fills its cell."""
    return tag(
        "svg", *marks, class_=class_, viewBox="0 0 100 32", preserveAspectRatio="none",
        width="100%", height=height, role="img", aria_label=label,
    )  # fmt: skip


#: Above so many systems a cell has only its sign: numbers would be too small to read.
_MOST_WITH_NUMBERS = 12

#: Above so many, numbers do not fit on a sheet of paper.
_MOST_ON_PAPER = 6


def significance_matrix(metric: MetricComparison, settings: CompareSettings, *, name: str) -> Html | None:
    """Matrix of pairs, best systems first; None for one system."""
    systems = [row.system for row in metric.systems]
    if len(systems) < 2:
        return None
    pairs: dict[tuple[str, str], tuple[PairRow, int]] = {}
    for pair in metric.pairs:
        pairs[pair.first, pair.second] = (pair, 1)
        pairs[pair.second, pair.first] = (pair, -1)
    decimals = metric_decimals(metric)
    small = len(systems) <= _MOST_WITH_NUMBERS
    columns = [tag("th", str(place), scope="col", title=system) for place, system in enumerate(systems, 1)]
    rows = []
    for place, (system, line) in enumerate(zip(systems, _cluster_lines(metric), strict=True), 1):
        cells = [
            tag("td", class_="self") if other == system else _cell(*pairs[system, other], decimals, numbers=small)
            for other in systems
        ]
        label = tag("th", tag("span", str(place), class_="rank"), " ", name_of(system), scope="row", class_="name")
        rows.append(tag("tr", label, *cells, class_=line))
    head = tag("tr", tag("td", class_="corner"), *columns)
    class_ = "matrix crowded" if len(systems) > _MOST_ON_PAPER else "matrix"
    shown = scrolling(class_, head, rows, label=f"Significance matrix of {title_of(metric)}")
    copies = export(pair_table(metric), name=f"{name}-pairs", decimals=decimals)
    return joined([shown, _legend(metric, settings, numbers=small), copies])


def _cluster_lines(metric: MetricComparison) -> list[str | None]:
    """Classes of rows; a row that starts a cluster has a line above it."""
    clusters = [row.cluster for row in metric.systems]
    return [None, *("starts" if below != above else None for above, below in pairwise(clusters))]


def pair_table(metric: MetricComparison) -> Table:
    """All columns of each pair, as a table to copy."""
    columns = DIFFERENCE | {"effect": "effect"} | GAMES
    columns |= {f"p {test}": f"p.{test}" for test in (metric.pairs[0].p if metric.pairs else ())}
    columns |= {"p adjusted": "p_adjusted", "better": "better", "detectable": "detectable"}
    return row_table(metric.pairs, columns, f"Pairs of systems by {title_of(metric)}")


def _cell(pair: PairRow, sign: int, decimals: int, *, numbers: bool) -> Html:
    """One cell: the row's system compared with the column's."""
    row, column = (pair.first, pair.second) if sign > 0 else (pair.second, pair.first)
    difference = format_signed(sign * pair.difference, decimals)
    mark, class_, word = "·", "even", "not significantly different from"
    if pair.better is not None:
        mark, class_, word = ("▲", "better", "better than") if pair.better == row else ("▼", "worse", "worse than")
    adjusted = "" if pair.p_adjusted is None else f", {format_p(pair.p_adjusted)}"
    return tag(
        "td", tag("span", mark, class_="mark", aria_hidden="true"),
        tag("span", difference, class_="difference") if numbers else None, hidden(f"{word} {column}"),
        class_=class_, title=f"{row} {word} {column}: {difference}{adjusted}",
    )  # fmt: skip


def _legend(metric: MetricComparison, settings: CompareSettings, *, numbers: bool) -> Html:
    test = decision_rule(settings, len(metric.pairs))
    return tag(
        "p", tag("span", "▲", class_="better key"), " the row's system is better than the column's, ",
        tag("span", "▼", class_="worse key"), " it is worse (", test, "), ",
        tag("span", "·", class_="even key"), " no significant difference. ",
        "Numbers are differences of scores, row minus column; above 0 the row is better."
        if numbers
        else "Columns have the numbers of rows; differences and p-values are in the copies below.",
        " Lines separate rank clusters, as in the ranking." if metric.systems[-1].cluster > 1 else None,
        class_="note",
    )  # fmt: skip


def ranking(metric: MetricComparison, settings: CompareSettings, *, name: str) -> Html:
    """The table of systems with a figure of their intervals, and the same table to copy."""
    decimals, level = metric_decimals(metric), format_level(settings.level)
    scale = scale_over([value for row in metric.systems for value in (row.score, *_ends(row.interval))])
    rows = [
        tag("tr", *_cells(row, scale, level, decimals), class_=line)
        for row, line in zip(metric.systems, _cluster_lines(metric), strict=True)
    ]
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
    shown = scrolling("ranking", heads(titles.items()), rows, foot, label=f"Ranking by {title_of(metric)}")
    copies = export(ranking_table(metric), name=f"{name}-ranking", decimals=decimals)
    return joined([shown, _note(metric, level), copies])


def ranking_table(metric: MetricComparison) -> Table:
    """All columns of each system, as a table to copy."""
    columns = {"rank": "rank", "system": "system", "score": "score", **INTERVAL, "median": "median"}
    columns |= {"bradley-terry": "bradley_terry", "bt low": "bt_interval.low", "bt high": "bt_interval.high"}
    columns |= GAMES | {"cluster": "cluster"}
    columns |= {name: name for name in ("elo", "trueskill") if getattr(metric.systems[0], name) is not None}
    return row_table(metric.systems, columns, f"Systems by {title_of(metric)}", [metric.signature])


def _cells(row: SystemRow, scale: Scale, level: str, decimals: int) -> list[Html]:
    score = format_number(row.score, decimals)
    between = " – ".join(format_number(end, decimals) for end in _ends(row.interval))
    label = f"{row.system}: {score}" + (f", {level} interval {between}" if between else "")
    strength = " – ".join(format_number(end, 3) for end in _ends(row.bt_interval))
    title = f"{level} interval {strength}" if strength else None
    return [
        tag("td", str(row.rank), class_="rank"),
        tag("th", name_of(row.system), scope="row", class_="name"),
        tag("td", score, class_="num"),
        tag("td", between, class_="num wide"),
        tag("td", interval_bar(scale, row.score, _ends(row.interval), label=label), class_="figure"),
        tag("td", format_number(row.bradley_terry, 3), class_="num wide", title=title),
        tag("td", f"{row.wins:,} / {row.ties:,} / {row.losses:,}", class_="num wide games"),
    ]


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return () if interval is None else interval[1:3]


def _note(metric: MetricComparison, level: str) -> Html:
    better = "higher is better" if metric.higher_is_better else "lower is better"
    interval, bar = metric.systems[0].interval, ""
    if interval is not None:
        units = "documents" if interval.clustered else "segments"
        how = f"bootstrap of {units}, {interval.resamples:,} resamples"
        if interval.method == "t":
            how = f"Student's t: a bootstrap of {interval.n} {units} would be too narrow"
        bar = f", the bar its {level} interval ({how})"
    sentences = [f"The dot is the score ({better}){bar}."]
    if metric.systems[-1].cluster > 1:
        sentences.append(
            "A line separates rank clusters, as in WMT: every system above it is significantly better than every "
            "system below it."
        )
    sentences.append("Won, tied and lost count segments against all other systems.")
    return tag("p", " ".join(sentences), class_="note")
