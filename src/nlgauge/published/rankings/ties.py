"""How much of "Bradley-Terry differs from the mean" is ties, and how many ties hide in last bits.

Two outputs with equal counts of words have the same ROUGE on paper. In a file the two may differ in the last bit,
because sums were added in another order: such a tie is found only with a tolerance. Which system a tie is given to
then decides about rankings that differ in little else (D1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nlgauge.compare.rankings import count_wins
from nlgauge.compare.table import SystemScores
from nlgauge.published.rankings.frames import FrameSet
from nlgauge.published.rankings.mechanisms import average, measure_pairs, rank_frame
from nlgauge.published.rankings.table import RankingOptions

__all__ = ["GROUPS", "HIDDEN", "POLICIES", "TieCounts", "count_ties", "mean_against_bt"]

#: Ties within this, relative to the larger score, hide in last bits.
HIDDEN = 1e-9

#: Ways to treat ties; each is run on all rows.
POLICIES: Mapping[str, RankingOptions] = {
    "second": RankingOptions(),
    "reversed": RankingOptions(reverse=True),
    "second 1e-9": RankingOptions(tie_tolerance=HIDDEN),
    "drop": RankingOptions(ties="drop"),
    "half": RankingOptions(ties="half"),
    "half 1e-9": RankingOptions(ties="half", tie_tolerance=HIDDEN),
}

#: Which frames a row looks at, by label of the data set and name of the metric.
GROUPS: Mapping[str, Callable[[str, str], bool]] = {
    "all frames": lambda _label, _metric: True,
    "TAC, ROUGE and ROUGE-WE": lambda label, metric: label.startswith("TAC") and metric.startswith("ROUGE"),
    "TAC, other metrics": lambda label, metric: label.startswith("TAC") and not metric.startswith("ROUGE"),
    "dialogue": lambda label, _metric: not label.startswith("TAC"),
    **{
        name: lambda label, _metric, name=name: label == name  # type: ignore[misc]  # bound now, not at the call
        for name in ("TAC08", "TAC09", "TAC11", "TC", "PC")
    },
}


class TieCounts(NamedTuple):
    """Comparisons of two systems on an instance."""

    comparisons: int
    exact: int
    hidden: int
    """Ties within `HIDDEN` that are not exact."""


def count_ties(frames: Sequence[SystemScores]) -> TieCounts:
    """Ties of all pairs of systems in some frames."""
    comparisons = sum(one.n * one.k * (one.k - 1) // 2 for one in frames)
    exact, wide = (
        sum(int(count_wins(one.oriented, tolerance=tolerance).ties.sum()) // 2 for one in frames)
        for tolerance in (0.0, HIDDEN)
    )
    return TieCounts(comparisons, exact, wide - exact)


def mean_against_bt(sets: Sequence[FrameSet], policy: str) -> dict[tuple[str, str], float]:
    """Share of the pairs of systems that mean and BT order differently, by data set and metric."""
    return {
        (label, metric): float(average([measure_pairs(rank_frame(frame, ("mean", "BT"), options))["mean", "BT"]])[0])
        for label, metric, frame, options in _turned(sets, POLICIES[policy])
    }


def _turned(
    sets: Sequence[FrameSet], options: RankingOptions
) -> Iterator[tuple[str, str, np.ndarray[tuple[int, ...], np.dtype[np.float64]], RankingOptions]]:
    """Frames with their systems in the order that a policy asks for."""
    for one in sets:
        for metric, frame in one.frames.items():
            scores = frame.oriented[:, ::-1] if options.reverse else frame.oriented
            yield one.label, metric, scores, replace(options, reverse=False)
