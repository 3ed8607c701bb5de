"""Can a metric be fooled: adversarial triples, and perturbations of one's own outputs."""

from __future__ import annotations

from nlgauge.stress.build_triples import LabelledPair, load_paws_pairs, paws_triples, permute_nouns
from nlgauge.stress.results import Fall, MetricFalls, StressTest
from nlgauge.stress.run import stress
from nlgauge.stress.suite import PERTURBATIONS, PerturbedTexts, chosen_perturbations, perturb
from nlgauge.stress.triples import Triple, Triples, load_triples, save_triples, triples_of_table
from nlgauge.stress.wins import TripleStudy, TripleWins, released_wins, score_triples

__all__ = [
    "PERTURBATIONS",
    "Fall",
    "LabelledPair",
    "MetricFalls",
    "PerturbedTexts",
    "StressTest",
    "Triple",
    "TripleStudy",
    "TripleWins",
    "Triples",
    "chosen_perturbations",
    "load_paws_pairs",
    "load_triples",
    "paws_triples",
    "permute_nouns",
    "perturb",
    "released_wins",
    "save_triples",
    "score_triples",
    "stress",
    "triples_of_table",
]
