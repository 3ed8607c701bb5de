"""Can a metric be fooled: adversarial triples, and perturbations of one's own outputs."""

from __future__ import annotations

from nlgauge.stress.build_triples import paws_triples, permute_nouns
from nlgauge.stress.triples import Triple, Triples, load_triples, triples_of_table
from nlgauge.stress.wins import TripleStudy, TripleWins, released_wins, score_triples

__all__ = [
    "Triple",
    "TripleStudy",
    "TripleWins",
    "Triples",
    "load_triples",
    "paws_triples",
    "permute_nouns",
    "released_wins",
    "score_triples",
    "triples_of_table",
]
