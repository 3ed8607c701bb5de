"""Ensembles of metrics: their norms, what they gain, and which pair of metrics to join."""

from __future__ import annotations

from nlgauge.ensembles.fit import fit_norms, norms_of_scores
from nlgauge.ensembles.gains import Gain, ensemble_gains, standardised
from nlgauge.ensembles.search import EnsembleSearch, PairOfMetrics, search_ensembles

__all__ = [
    "EnsembleSearch",
    "Gain",
    "PairOfMetrics",
    "ensemble_gains",
    "fit_norms",
    "norms_of_scores",
    "search_ensembles",
    "standardised",
]
