"""Paired differences of two systems, and the picture of mean, median and Bradley-Terry.

Peyrard et al. (2021, Proposition 1) trace the verdict of each mechanism to one number, with A the better system:

    mean           E_A - E_B > 0, which is the mean of the differences
    median         M_A - M_B > 0, which is not the median of the differences
    Bradley-Terry  M_(A-B) > 0: A wins more than half of the instances

The picture has two panels for a pair. The histogram shows outliers, which move only the mean. The sorted differences
show all three: the curve crosses 0 at the share of instances that the first system wins, its middle is the median of
the differences, and the mean is the area above 0 minus the area below. Differences are oriented: above 0 the first
system is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, shorten
from nlgauge.studies.compare.comparison import MetricComparison, PairRow, SystemComparison
from nlgauge.studies.compare.sentences import names as join_listed
from nlgauge.studies.compare.sentences import title_of
from nlgauge.studies.compare.system_scores import Matrix, SystemScores

#: Pairs of systems that are drawn unless others are asked for.
MOST_PAIRS = 15

#: Most points of a curve, and most steps of a histogram.
_POINTS, _MOST_BINS = 120, 40


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """Differences of two systems on the same instances."""

    pair: PairRow
    values: Matrix
    """Ascending; above 0 if the first system is better."""

    @property
    def mean(self) -> float:
        """Mean of the differences; for corpus scores not the difference of the scores."""
        return float(self.values.mean())

    @property
    def wins(self) -> float:
        """Share of instances that the first system wins."""
        return self.pair.wins / len(self.values)

    @property
    def losses(self) -> float:
        """Share of instances that the second system wins."""
        return self.pair.losses / len(self.values)

    def curve(self) -> tuple[Matrix, Matrix]:
        """Shares of instances, from 0 to 1, and the differences from the largest to the smallest at them."""
        values = self.values[::-1]
        places = np.unique(np.linspace(0, len(values) - 1, min(len(values), _POINTS)).round().astype(int))
        return (places + 0.5) / len(values), values[places]

    def histogram(self) -> tuple[NDArray[np.intp], Matrix]:
        """Numbers of instances, and edges of the steps; 0 is an edge."""
        low, high = min(float(self.values[0]), 0.0), max(float(self.values[-1]), 0.0)
        steps = min(_MOST_BINS, max(8, 2 * math.isqrt(len(self.values))))
        width = (high - low) / (steps - 1) or 1.0
        edges = width * np.arange(math.floor(low / width), math.ceil(high / width) + 1)
        edges = edges if len(edges) > 1 else np.array([-1.0, 0.0, 1.0])
        # An edge can be off the lowest or highest value by its rounding.
        counts: NDArray[np.intp] = np.histogram(np.clip(self.values, edges[0], edges[-1]), bins=edges)[0]
        return counts, np.asarray(edges, dtype=np.float64)

    def sentence(self) -> str:
        """The system that each mechanism prefers, and the share of wins."""
        preferred: dict[str | None, list[str]] = {}
        for name, system in self.pair.decisions.items():
            preferred.setdefault(system, []).append("Bradley-Terry" if name == "BT" else name)
        return "; ".join(f"{''.join(join_listed(names))}: {system or 'tie'}" for system, names in preferred.items())


def paired_differences(
    metric: MetricComparison, scores: SystemScores, pairs: Sequence[tuple[str, str]] | None = None
) -> list[PairedDifferences]:
    """Differences of pairs of systems under a metric, by default of those of `shown_pairs`."""
    if set(scores.systems) != {row.system for row in metric.systems} or scores.n != metric.n:
        msg = f"the comparison by {metric.metric!r} is not of these scores; pass the compared scores"
        raise InputError(msg)
    columns = dict(zip(scores.systems, scores.oriented.T, strict=True))
    differences = []
    for first, second in shown_pairs(metric) if pairs is None else pairs:
        row = metric.pair(first, second)
        row = row if row.first == first else row.turned()
        differences.append(PairedDifferences(row, np.sort(columns[first] - columns[second])))
    return differences


def shown_pairs(metric: MetricComparison) -> list[tuple[str, str]]:
    """All pairs if they are few, else the best system with the others, at most `MOST_PAIRS`."""
    pairs = [(row.first, row.second) for row in metric.pairs]
    if len(pairs) > MOST_PAIRS:
        pairs = [(first, second) for first, second in pairs if first == metric.winner]
    return pairs[:MOST_PAIRS]


def draw_pairs(
    comparison: SystemComparison, scores: Sequence[SystemScores], pairs: Sequence[tuple[str, str]] | None = None
) -> Any:
    """Figure of pairs of systems: a histogram of paired differences, and the sorted differences.

    `scores` are those that were compared, `pairs` names of two systems each (default: `shown_pairs`).
    """
    by_metric = {table.metric: table for table in scores}
    rows = [
        (metric, row)
        for metric in comparison.metrics
        for row in paired_differences(metric, by_metric[metric.metric], pairs)
    ]
    if not rows:
        msg = "a figure of paired differences needs two systems, got one"
        raise InputError(msg)
    drawn = rows[:MOST_PAIRS]
    figure, panels = new_panels(len(drawn), 2, width=min(WIDEST, 9.5), height=2.1)
    for (metric, row), left, right in zip(drawn, panels[::2], panels[1::2], strict=True):
        _draw_histogram(left, row)
        _draw_sorted(right, row)
        left.set_ylabel(f"segments, {shorten(title_of(metric), 16)}", fontsize=8)
    more = sum(len(metric.pairs) for metric in comparison.metrics) - len(drawn)
    segments = ", ".join(dict.fromkeys(f"{metric.n} segments" for metric in comparison.metrics))
    caption = (
        f"Differences of segment scores, above 0 if the first system is better (blue). {segments}. Right: sorted; "
        "the curve crosses 0 at the share of segments that the first system wins, and beyond the middle (dotted) if "
        "Bradley-Terry prefers it. The mean (dashed) is the blue area minus the orange one. Dot: median of the "
        "differences; diamond: difference of the medians."
        + (f" {more} more pairs are not shown." if more > 0 else "")
    )
    finish_figure(figure, title="Paired differences", caption=caption)
    return figure


_FIRST, _SECOND = COLOURS[0], COLOURS[5]


def _draw_histogram(axes: Any, row: PairedDifferences) -> None:
    counts, edges = row.histogram()
    colours = [_FIRST if left >= -1e-12 * abs(edges[-1] - edges[0]) else _SECOND for left in edges[:-1]]
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colours, edgecolor="white", linewidth=0.3)
    axes.axvline(0, color="#333333", linewidth=0.8)
    axes.axvline(row.mean, color="#333333", linewidth=1.2, linestyle="--")
    names = (shorten(name, 24) for name in (row.pair.first, row.pair.second))
    axes.set_title(" - ".join(names), loc="left", fontsize=9, parse_math=False)
    axes.tick_params(labelsize=8)


def _draw_sorted(axes: Any, row: PairedDifferences) -> None:
    shares, values = row.curve()
    for colour, above in ((_FIRST, values > 0), (_SECOND, values < 0)):
        axes.fill_between(100 * shares, values, 0, where=above, color=colour, alpha=0.45, linewidth=0, step="mid")
    axes.plot(100 * shares, values, color="#333333", linewidth=1)
    axes.axhline(0, color="#333333", linewidth=0.8)
    axes.axhline(row.mean, color="#333333", linewidth=1.2, linestyle="--")
    axes.axvline(50, color="#333333", linewidth=1.2, linestyle=":")
    axes.plot([50], [row.pair.paired_median or 0.0], marker="o", markersize=5, color="#333333", zorder=3)
    axes.plot(
        [50], [row.pair.median_difference or 0.0], marker="D", markersize=3.5, color="#333333", mfc="white", zorder=4
    )
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25), [f"{tick} %" for tick in range(0, 101, 25)])
    wins = f"{shorten(row.pair.first, 16)} wins {row.wins:.0%}, {shorten(row.pair.second, 16)} {row.losses:.0%}"
    axes.set_title(f"{wins}. {shorten(row.sentence(), 60)}", loc="left", fontsize=8, parse_math=False)
    axes.tick_params(labelsize=8)
