"""Numbers only: how two weighted clouds are compared, and the alignment that comes with it."""

from nlgauge.transport.greedy import GreedyMatch, greedy_match

__all__ = ["GreedyMatch", "greedy_match"]
