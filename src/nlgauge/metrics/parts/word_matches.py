"""METEOR's matches between the words of two texts: equal words, then equal stems, then synonyms.

Each stage links words that are still free, from the last word to the first, each to the last word that fits. This is
the rule of NLTK. METEOR's own program searches for the links with the fewest crossings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from nlgauge.core.kinds import Choice
from nlgauge.core.options import option
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.io.packages import package_version, require
from nlgauge.text.wordnet import WORDNET, load_wordnet

#: Number of words whose stems are kept.
_MOST_STEMS = 1 << 16

Links = tuple[tuple[int, int], ...]


class SynonymSource(Resource):
    """WordNet, by name or as a folder, or no synonyms."""

    def __init__(self) -> None:
        super().__init__(WORDNET, "none", file="a folder with the dictionary files of WordNet")

    def load(self, value: str, context: LoadContext | None = None) -> Loaded:
        """The function from a word to its synonyms; None without synonyms."""
        if value == "none":
            return Loaded("none", None)
        wordnet = load_wordnet(value)
        return Loaded(wordnet.label, wordnet.synonyms)


def synonyms_option() -> Any:
    """The option for the source of synonyms."""
    return option(WORDNET, SynonymSource(), help="source of synonyms")


def lookup_option() -> Any:
    """The option for the form of words that is looked up."""
    return option("stems", Choice("stems", "words"), help="form of a word whose synonyms are used; stems: as in NLTK")


def stemmer_version() -> dict[str, str]:
    """The package of the stemmer as a field of a signature."""
    return {"stemmer_engine": f"nltk-{package_version('nltk', 'lexical')}"}


@lru_cache(maxsize=1)
def porter_stemmer() -> Callable[[str], str]:
    """NLTK's Porter stemmer with a cache."""
    stemmer = require("nltk.stem.porter", "lexical").PorterStemmer()
    return lru_cache(maxsize=_MOST_STEMS)(stemmer.stem)


class _Word(NamedTuple):
    place: int
    text: str


@dataclass(frozen=True)
class WordMatcher:
    """Stages of matching: always equal words, then stems and synonyms if there are functions for them."""

    stem: Callable[[str], str] | None = None
    synonyms: Callable[[str], frozenset[str]] | None = None
    look_up_stems: bool = True

    def links(self, output: Sequence[str], reference: Sequence[str]) -> Links:
        """Places of matching words, in the order of the output.

        >>> WordMatcher(str.upper).links(["a", "cat", "A"], ["the", "a", "a"])
        ((0, 2), (2, 1))
        """
        sides = [[_Word(*entry) for entry in enumerate(side)] for side in (output, reference)]
        links: list[tuple[int, int]] = []
        sides = _link(sides, links, lambda word: (word,))
        if self.stem is not None:
            stem = self.stem
            stemmed = [[word._replace(text=stem(word.text)) for word in side] for side in sides]
            left = _link(stemmed, links, lambda word: (word,))
            free = [{word.place for word in side} for side in left]
            sides = [
                [word for word in side if word.place in places] for side, places in zip(sides, free, strict=True)
            ]
            if self.look_up_stems:
                sides = left
        if self.synonyms is not None:
            _link(sides, links, self.synonyms)
        return tuple(sorted(links))


def _link(
    sides: list[list[_Word]], links: list[tuple[int, int]], alternatives: Callable[[str], Iterable[str]]
) -> list[list[_Word]]:
    """Add links between words of the output whose alternatives are words of the reference; the words still free."""
    output, reference = sides
    places: dict[str, list[int]] = {}
    for word in reference:
        places.setdefault(word.text, []).append(word.place)
    free: list[_Word] = []
    for word in reversed(output):
        fitting = [places[text] for text in alternatives(word.text) if places.get(text)]
        if fitting:
            links.append((word.place, max(fitting, key=lambda group: group[-1]).pop()))
        else:
            free.append(word)
    remaining = {place for group in places.values() for place in group}
    return [free[::-1], [word for word in reference if word.place in remaining]]


def chunks(links: Iterable[tuple[int, int]]) -> int:
    """Count the maximal runs of links whose words are adjacent in both texts.

    >>> chunks([(0, 0), (1, 1), (2, 5), (3, 6), (4, 2)])
    3
    """
    ordered = sorted(links)
    breaks = sum(later != (earlier[0] + 1, earlier[1] + 1) for earlier, later in pairwise(ordered))
    return breaks + 1 if ordered else 0


def matches_option() -> Any:
    """The option for the matches whose order counts."""
    return option(
        "flow",
        Choice("flow", "words", "meteor"),
        help="matches of wmdo: transport flow, equal words, or those of METEOR (equal words, stems, synonyms)",
    )


def equal_word_links(words: Sequence[str], others: Sequence[str]) -> Links:
    """Link each word to the first equal word that is still free, from left to right.

    >>> equal_word_links(["a", "cat", "a"], ["a", "dog", "a"])
    ((0, 0), (2, 2))
    """
    free: dict[str, list[int]] = {}
    for index, word in enumerate(others):
        free.setdefault(word, []).append(index)
    return tuple((index, free[word].pop(0)) for index, word in enumerate(words) if free.get(word))


def word_links(
    rule: str, labels: Sequence[str], others: Sequence[str], synonyms: Callable[[str], frozenset[str]] | None
) -> Links:
    """Links between equal words (`words`), or METEOR's matches with synonyms of words, not of stems (`meteor`)."""
    # A whitespace mark on its own has an empty label and is not a word.
    words, references = ([label.lower() for label in side if label] for side in (labels, others))
    if rule == "words":
        return equal_word_links(words, references)
    return WordMatcher(porter_stemmer(), synonyms, look_up_stems=False).links(words, references)
