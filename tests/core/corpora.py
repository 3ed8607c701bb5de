"""A small corpus of two systems with references and sources, for tests of the engine."""

from __future__ import annotations

from nlgauge.core.corpus import Corpus, make_corpus

SUBJECTS = ("cat", "dog", "teacher", "doctor", "engine", "river", "king", "clock", "ship", "farmer")
PLACES = ("garden", "school", "bridge", "forest", "tower", "harbour", "market", "castle", "station", "island")


def small_corpus(count: int = 10, *, references: int = 1) -> Corpus:
    """Segments of unequal length; no two texts are the same."""
    pairs = [(SUBJECTS[index % 10], PLACES[(index + index // 10) % 10], index) for index in range(count)]
    systems = {
        "terse": [f"{first}, {other} {index}" for first, other, index in pairs],
        "fluent": [
            f"the {first} is in the {other}" + f" of town {index}" * (index % 3 + 1) for first, other, index in pairs
        ],
    }
    refs = [
        [f"there is a {first} in the {other} number {index}" + "!" * more for more in range(references)]
        for first, other, index in pairs
    ]
    return make_corpus(
        systems, refs, sources=[f"ein {first} ist im {other} {index}" for first, other, index in pairs]
    )
