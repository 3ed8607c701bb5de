"""Numbers only: how two weighted clouds are compared, and the alignment that comes with it."""

from nlgauge.transport.barycentre import (
    Barycentre,
    barycentre_from_origin,
    free_support_barycentre,
)
from nlgauge.transport.distances import squared_distances
from nlgauge.transport.exact import Plan, Problem, exact_transport, exact_transports, normalised_weights
from nlgauge.transport.greedy import GreedyMatch, greedy_match, greedy_scores
from nlgauge.transport.sinkhorn import EntropicPlan, sinkhorn_transport
from nlgauge.transport.trimming import Trimmed, trim_flow

__all__ = [
    "Barycentre",
    "EntropicPlan",
    "GreedyMatch",
    "Plan",
    "Problem",
    "Trimmed",
    "barycentre_from_origin",
    "exact_transport",
    "exact_transports",
    "free_support_barycentre",
    "greedy_match",
    "greedy_scores",
    "normalised_weights",
    "sinkhorn_transport",
    "squared_distances",
    "trim_flow",
]
