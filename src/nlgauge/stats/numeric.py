"""Rules for numbers that all rooms behind this one share."""

from __future__ import annotations

from nlgauge.stats.validation import Vector

#: Numbers that differ by no more than this, or by this share of their size, are equal: sums in another order differ
#: that much.
SAME = 1e-12


def orient(values: Vector, *, higher_is_better: bool) -> Vector:
    """Scores with higher meaning better: those of a distance are negated."""
    return values if higher_is_better else -values
