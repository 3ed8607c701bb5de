"""Stress tests of metrics: adversarial triples, and perturbations of outputs."""

from __future__ import annotations

from nlgauge.studies.stress.perturbations import PERTURBATIONS, PerturbedTexts, chosen_perturbations, perturb
from nlgauge.studies.stress.suite import Fall, MetricFalls, StressOptions, StressTest, stress
from nlgauge.studies.stress.triples import (
    DrawOptions,
    LabelledPair,
    Triple,
    Triples,
    TripleStudy,
    TripleWins,
    load_paws_pairs,
    load_triples,
    paws_triples,
    permute_nouns,
    released_wins,
    save_triples,
    score_triples,
    triples_of_table,
)

__all__ = [
    "PERTURBATIONS",
    "DrawOptions",
    "Fall",
    "LabelledPair",
    "MetricFalls",
    "PerturbedTexts",
    "StressOptions",
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
