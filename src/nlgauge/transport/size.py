"""How large a problem may be that looks at every point of one cloud beside every point of another."""

from __future__ import annotations

from nlgauge.errors import TooLongError

__all__ = ["MOST_COSTS", "check_size"]

#: Entries of a matrix of costs: 8,192 x 8,192. Exact transport takes four times its half gigabyte more.
MOST_COSTS = 2**26


def check_size(rows: int, columns: int, *, what: str, instead: str) -> None:
    """Refuse a matrix that would not fit in memory beside what works on it."""
    if rows * columns > MOST_COSTS:
        gigabytes = 8 * rows * columns / 1e9
        msg = (
            f"{what} of {rows} x {columns} points takes a matrix of {gigabytes:.1f} GB and several times that to "
            f"work on it; the most is {MOST_COSTS} entries (8,192 x 8,192): {instead}"
        )
        raise TooLongError(msg)
