"""What an annotator says about a text: its sentences, and of each word the lemma, part of speech and head.

Every place is counted in characters of the text as it was given, so that words meet the tokens of any model by their
places, whatever either of them takes for a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

__all__ = ["AnnotatedSentence", "AnnotatedText", "AnnotatedWord", "Annotator"]

_NO_FEATURES: Mapping[str, str] = MappingProxyType({})


class AnnotatedWord(NamedTuple):
    """A word; its number is its place in the sentence, from 1."""

    start: int
    end: int
    """Characters of the text that it stands on; words of one contraction stand on the same ones."""
    form: str
    lemma: str
    upos: str
    """Universal part of speech, such as NOUN."""
    features: Mapping[str, str] = _NO_FEATURES
    """Morphological features, such as Number: Plur."""
    head: int = -1
    """Number of the word it depends on, 0 for the root; -1 where the annotator was not asked for trees."""
    relation: str = ""

    @property
    def is_noun(self) -> bool:
        """Whether it is a noun or a name."""
        return self.upos in ("NOUN", "PROPN")


class AnnotatedSentence(NamedTuple):
    """A sentence."""

    start: int
    end: int
    words: tuple[AnnotatedWord, ...]


@dataclass(frozen=True)
class AnnotatedText:
    """A text with its sentences, in order and without overlap; an empty text has none."""

    text: str
    sentences: tuple[AnnotatedSentence, ...]

    def nouns(self) -> Iterator[tuple[int, AnnotatedWord]]:
        """Each noun and name with the number of its sentence, from 0."""
        for number, sentence in enumerate(self.sentences):
            for word in sentence.words:
                if word.is_noun:
                    yield number, word


class Annotator(Protocol):
    """What annotates texts, each by itself: its neighbours change nothing."""

    @property
    def label(self) -> str:
        """Name, version and digest, as a signature has them."""

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts in their order, annotated."""
