"""Numbers only: how two weighted clouds are compared, and the alignment that comes with it."""

from nlgauge.transport.barycentre import Barycentre, free_support_barycentre, squared_distances
from nlgauge.transport.exact import Plan, exact_transport, normalised_weights
from nlgauge.transport.greedy import GreedyMatch, greedy_match

__all__ = [
    "Barycentre",
    "GreedyMatch",
    "Plan",
    "exact_transport",
    "free_support_barycentre",
    "greedy_match",
    "normalised_weights",
    "squared_distances",
]
