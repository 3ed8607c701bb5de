"""Discourse features of one text, by name (the DiscoScore paper, section 5 and Table 9).

    freq              mentions per focus, of foci that are mentioned more than once (FREQ)
    conn-u, conn-w    average of all entries of the adjacency matrix, unweighted and weighted (CONN)
    lc, rc            share of nouns that come again, and their mentions per noun, as released
    sentences, foci   how many there are
    repeated          foci that are mentioned more than once ("good foci" in print)

A focus is a noun; with word vectors, each feature of foci is also there for entities (`freq-entity`, ...).
"""

from __future__ import annotations

from nlgauge.annotate import AnnotatedText
from nlgauge.encoders.word_vectors import WordVectors
from nlgauge.errors import TooLongError
from nlgauge.metrics.parts.cohesion import Foci, connectivity, devices, foci_of, focus_frequency

__all__ = ["ENTITY_FEATURES", "FEATURES", "text_features"]

#: Without word vectors.
FEATURES = ("freq", "conn-u", "conn-w", "lc", "rc", "sentences", "foci", "repeated")

#: With word vectors, after these.
ENTITY_FEATURES = ("freq-entity", "conn-u-entity", "conn-w-entity")


def text_features(
    text: AnnotatedText, *, vectors: WordVectors | None = None, threshold: float = 0.8
) -> dict[str, float]:
    """All features of a text; those of a text without a noun are 0 but for its sentences."""
    try:
        return _features(text, vectors, threshold)
    except TooLongError as error:
        error.document = text.text
        raise


def _features(text: AnnotatedText, vectors: WordVectors | None, threshold: float) -> dict[str, float]:
    nouns, count = foci_of(text), len(text.sentences)
    repeats = devices(text)
    found = _of_foci(nouns, count) | {
        "lc": repeats.cohesion,
        "rc": repeats.repetition,
        "sentences": float(count),
        "foci": float(len(nouns)),
        "repeated": float(repeats.lemmas),
    }
    if vectors is not None:
        entities = _of_foci(foci_of(text, vectors, threshold), count)
        found |= {f"{name}-entity": value for name, value in entities.items()}
    return found


def _of_foci(foci: Foci, sentences: int) -> dict[str, float]:
    return {
        "freq": focus_frequency(foci),
        "conn-u": connectivity(foci, sentences),
        "conn-w": connectivity(foci, sentences, weighted=True),
    }
