"""What of a text repeats, and how far that ties its sentences together: numbers of one annotated text.

Released code and paper differ in what they count (D6.8, D6.9):

              nouns (released)                                  content words (paper, after Wong and Kit 2012)
    LC        repeated noun lemmas / noun lemmas                repeated lemmas of content words / lemmas of words
    RC        mentions of these / noun lemmas; may exceed 1     occurrences of these / words

    CONN      sum of the adjacency matrix / n^2 entries (paper), or / n sentences (released)
    FREQ      mentions / foci, both of foci that are mentioned more than once
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.annotate import AnnotatedText
from nlgauge.metrics.parts.foci import adjacency, focus_sentences, merge_entities, noun_sentences

__all__ = [
    "Average",
    "DeviceWords",
    "Devices",
    "Foci",
    "connectivity",
    "devices",
    "foci_of",
    "focus_frequency",
]

DeviceWords = Literal["nouns", "content"]
Average = Literal["sentences", "entries"]

#: Mentions of each focus (a lemma, or the lemmas of an entity), by the number of their sentence.
Foci: TypeAlias = Mapping[Any, Sequence[int]]

_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV")
_NO_WORDS = ("PUNCT", "SYM", "SPACE")


class Devices(NamedTuple):
    """Lexical cohesion devices of a text, which are words that come again, and what they are a part of."""

    lemmas: int
    of_lemmas: int
    mentions: int
    of_mentions: int

    @property
    def cohesion(self) -> float:
        """LC; 0 for a text without words to count."""
        return self.lemmas / self.of_lemmas if self.of_lemmas else 0.0

    @property
    def repetition(self) -> float:
        """RC; 0 for a text without words to count."""
        return self.mentions / self.of_mentions if self.of_mentions else 0.0


def devices(text: AnnotatedText, words: DeviceWords = "nouns") -> Devices:
    """What of a text repeats: nouns of its nouns (released), or content words of all words (paper, D6.9)."""
    if words == "nouns":
        counts = Counter({lemma: len(mentions) for lemma, mentions in noun_sentences(text).items()})
        again = [count for count in counts.values() if count > 1]
        return Devices(len(again), len(counts), sum(again), len(counts))
    every = [word for sentence in text.sentences for word in sentence.words if word.upos not in _NO_WORDS]
    content = Counter(word.lemma.lower() for word in every if word.upos in _CONTENT)
    again = [count for count in content.values() if count > 1]
    return Devices(len(again), len({word.lemma.lower() for word in every}), sum(again), len(every))


def foci_of(
    text: AnnotatedText,
    vectors: Callable[[str], NDArray[np.float32] | None] | None = None,
    threshold: float = 0.8,
) -> Foci:
    """The nouns of a text; with word vectors its entities, which are nouns of like vectors."""
    nouns = noun_sentences(text)
    return nouns if vectors is None else focus_sentences(nouns, merge_entities(nouns, vectors, threshold))


def connectivity(foci: Foci, sentences: int, *, weighted: bool = False, average: Average = "entries") -> float:
    """How far foci tie sentences together: the average of the adjacency matrix (CONN); 0 without a sentence.

    >>> connectivity({"cat": (0, 2), "mat": (1, 2)}, 3), connectivity({"cat": (0, 2)}, 3, average="sentences")
    (0.16666666666666666, 0.16666666666666666)
    """
    if not sentences:
        return 0.0
    total = adjacency(foci, sentences, weighted=weighted).sum()
    return float(total / (sentences if average == "sentences" else sentences**2))


def focus_frequency(foci: Foci) -> float:
    """How often foci are mentioned that come again (FREQ); 0 where none does.

    >>> focus_frequency({"cat": (0, 0, 2), "mat": (1,), "dog": (0, 1)})
    2.5
    """
    again = [len(mentions) for mentions in foci.values() if len(mentions) > 1]
    return sum(again) / len(again) if again else 0.0
