"""Rules for numbers that all rooms behind this one share."""

from __future__ import annotations

from nlgauge.stats.validation import Vector

#: Numbers that differ by no more than this, or by this share of their size, are equal: sums in another order differ
#: that much.
SAME = 1e-12

#: Numbers of a block that is held at once (32 MB of float64), where all of them would fill the memory.
BLOCK_CELLS = 4_000_000

#: With fewer resamples an interval can leave out its estimate.
LEAST_RESAMPLES = 100

#: Longest list whose pairs are multiplied out for Kendall's tau; sorting every draw costs as much there.
MOST_KENDALL = 16_384


def orient(values: Vector, *, higher_is_better: bool) -> Vector:
    """Scores with higher meaning better: those of a distance are negated."""
    return values if higher_is_better else -values
