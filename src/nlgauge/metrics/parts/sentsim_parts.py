"""The parts of SentSim: each represents a text and compares two, on its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import Cloud
from nlgauge.corpus.views import TextView
from nlgauge.encoders.whole_text.sentences import SentenceEncoder
from nlgauge.metrics.parts.sentence_similarity import sentence_vector
from nlgauge.metrics.parts.wmdo import flow_links, wmdo
from nlgauge.recipes.metric import State
from nlgauge.transport import Plan, exact_transport, greedy_match, squared_distances

__all__ = ["DISTANCES", "PARTS", "Part", "make_part"]

PARTS = ("sss", "bertscore", "wmd", "wmdo", "smd")

#: Those that are lower for texts that are nearer.
DISTANCES = frozenset({"wmd", "wmdo", "smd"})


class Part(Protocol):
    """One number about two texts."""

    def represent(self, text: TextView) -> Any:
        """A text in the form that `compare` takes."""

    def compare(self, x: Any, y: Any) -> float:
        """The part of hypothesis x and reference, or source, y."""


def make_part(name: str, state: State, *, matches: str) -> Part:
    """The part of that name."""
    if name == "sss":
        return SentenceSimilarity(state["sentence"])
    layer = state.layers[0]
    if name == "bertscore":
        return GreedyMatching(layer)
    if name == "smd":
        return MeanDistance(layer)
    return WordMover(layer) if name == "wmd" else OrderedWordMover(layer, matches)


@dataclass(frozen=True)
class SentenceSimilarity:
    """Cosine of two sentence vectors."""

    sentences: SentenceEncoder

    def represent(self, text: TextView) -> NDArray[np.float32]:
        """A unit vector, or the origin for an empty text."""
        return sentence_vector(text, self.sentences)

    def compare(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> float:
        """x.y"""
        return float(x @ y)


@dataclass(frozen=True)
class GreedyMatching:
    """F of greedy matching, without idf, as in BERTScore; 0 for an empty text."""

    layer: int

    def represent(self, text: TextView) -> Cloud | None:
        """Unit vectors; special tokens can be matched, but weigh nothing."""
        if text.tokens.empty:
            return None
        return Cloud(text.unit(self.layer), text.select(None, specials_weigh=False).weights, text.words)

    def compare(self, x: Cloud | None, y: Cloud | None) -> float:
        """F"""
        if x is None or y is None:
            return 0.0
        return float(greedy_match(x.points @ y.points.T, x.weights, y.weights).f1)


@dataclass(frozen=True, eq=False)
class Words:
    """Vectors of a text's tokens without special ones, and how they are spelt."""

    vectors: NDArray[np.float64]
    spelt: tuple[str, ...]


@dataclass(frozen=True)
class _TokenPart:
    layer: int

    def represent(self, text: TextView) -> Words:
        """The same for all parts that need it, so that they share a plan."""

        def make() -> Words:
            kept = np.flatnonzero(~text.tokens.is_special)
            surfaces = text.words()
            # A lone mark of white space (SentencePiece) is no word.
            spelt = tuple(surfaces[row].lower() for row in kept if surfaces[row])
            return Words(text.layers[self.layer][kept].astype(np.float64), spelt)

        return text.encoded.derived(("sentsim words", self.layer), make)


class MeanDistance(_TokenPart):
    """||mean x - mean y|| (Eq. 9); an empty text is at the origin."""

    def compare(self, x: Words, y: Words) -> float:
        """The distance."""
        centres = [words.vectors.mean(axis=0) if len(words.vectors) else np.zeros(1) for words in (x, y)]
        return float(np.linalg.norm(centres[0] - centres[1]))


class WordMover(_TokenPart):
    """min_T sum T_ij ||x_i - y_j||, tokens weigh the same (Eq. 1 to 4); to an empty text the mean length."""

    def compare(self, x: Words, y: Words) -> float:
        """The distance."""
        if len(x.vectors) and len(y.vectors):
            return _plan(x, y).cost
        full = x.vectors if len(x.vectors) else y.vectors
        return float(np.linalg.norm(full, axis=1).mean()) if len(full) else 0.0


@dataclass(frozen=True)
class OrderedWordMover(WordMover):
    """The same with what it costs that the order of words is not kept."""

    matches: str

    def compare(self, x: Words, y: Words) -> float:
        """wmd - 0.2 (1/2 - chunks / matches)"""
        distance = super().compare(x, y)
        if not len(x.vectors) or not len(y.vectors):
            return distance
        links = flow_links(_plan(x, y).flow) if self.matches == "flow" else _equal_words(x, y)
        return wmdo(distance, links)


@lru_cache(maxsize=2)
def _plan(x: Words, y: Words) -> Plan:
    """Asked for by wmd and by wmdo, one right after the other."""
    costs = np.sqrt(squared_distances(x.vectors, y.vectors))
    return exact_transport(np.ones(len(x.vectors)), np.ones(len(y.vectors)), costs)


def _equal_words(x: Words, y: Words) -> tuple[tuple[int, int], ...]:
    """Each word with the first equal one that is still free, from left to right."""
    free: dict[str, list[int]] = {}
    for place, word in enumerate(y.spelt):
        free.setdefault(word, []).append(place)
    return tuple((place, free[word].pop(0)) for place, word in enumerate(x.spelt) if free.get(word))
