"""Numbers only: how two weighted clouds are compared, and the alignment that comes with it."""

from nlgauge.transport.barycentre import (
    Barycentre,
    barycentre_from_origin,
    free_support_barycentre,
)
from nlgauge.transport.distances import squared_distances
from nlgauge.transport.exact import Plan, Problem, exact_transport, exact_transports, normalised_weights
from nlgauge.transport.greedy import (
    GreedyMatch,
    greedy_match,
    greedy_match_points,
    greedy_scores,
    greedy_values,
    sharing_long_matches,
)
from nlgauge.transport.relaxed import RelaxedBound, relaxed_transport
from nlgauge.transport.sinkhorn import EntropicPlan, sinkhorn_transport
from nlgauge.transport.size import check_size
from nlgauge.transport.solvers import Solution, solve
from nlgauge.transport.trimming import Trimmed, trim_flow

__all__ = [
    "Barycentre",
    "EntropicPlan",
    "GreedyMatch",
    "Plan",
    "Problem",
    "RelaxedBound",
    "Solution",
    "Trimmed",
    "barycentre_from_origin",
    "check_size",
    "exact_transport",
    "exact_transports",
    "free_support_barycentre",
    "greedy_match",
    "greedy_match_points",
    "greedy_scores",
    "greedy_values",
    "normalised_weights",
    "relaxed_transport",
    "sharing_long_matches",
    "sinkhorn_transport",
    "solve",
    "squared_distances",
    "trim_flow",
]
