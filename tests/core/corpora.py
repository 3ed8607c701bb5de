"""A small corpus of two systems with references and sources, for tests of the engine."""

from __future__ import annotations

from nlgauge.core.corpus import Corpus, make_corpus

SUBJECTS = ("cat", "dog", "teacher", "doctor", "engine", "river", "king", "clock", "ship", "farmer")
PLACES = ("garden", "school", "bridge", "forest", "tower", "harbour", "market", "castle", "station", "island")


def small_corpus(count: int = 10, *, references: int = 1) -> Corpus:
    """Segments of unequal length; no two texts are the same."""
    pairs = [(SUBJECTS[at % 10], PLACES[(at + at // 10) % 10], at) for at in range(count)]
    systems = {
        "terse": [f"{one}, {other} {at}" for one, other, at in pairs],
        "fluent": [f"the {one} is in the {other}" + f" of town {at}" * (at % 3 + 1) for one, other, at in pairs],
    }
    refs = [
        [f"there is a {one} in the {other} number {at}" + "!" * more for more in range(references)]
        for one, other, at in pairs
    ]
    return make_corpus(systems, refs, sources=[f"ein {one} ist im {other} {at}" for one, other, at in pairs])
