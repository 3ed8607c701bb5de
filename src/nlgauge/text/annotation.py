"""Annotated texts (sentences with words, lemmas, parts of speech and heads), and the rules for splitting sentences.

Positions are counted in characters of the original text, so words can be matched with the tokens of any model.

Sentences are split by rules, without a model and for any language. A sentence ends at a full stop, question or
exclamation mark followed by a blank or the end of the text, closing quotes and brackets included; at a full stop of a
script without blanks (。！？) or a danda (।) in any context; and at an empty line. A single line end counts as a
blank; if each line is a sentence, use `split_at_lines`. Case does not matter, because published metrics lower-case
texts first. A full stop does not end a sentence

- after an abbreviation (`_ABBREVIATIONS`), and after "no.", "fig." and similar if a number follows;
- after a single letter or letters with stops (J. K. Rowling, U.S., e.g., z.B.), unless the next word often starts an
  English sentence, as in "He left the U.S. The talks went on.";
- after the number of a list item (1. First);
- in an ellipsis before a lower-case letter. The same holds for any mark before a closing quote ("Really?" he asked).

Marks without a letter or digit (`. . .`) belong to the sentence before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

from nlgauge.errors import InputError

_NO_FEATURES: Mapping[str, str] = MappingProxyType({})


class AnnotatedWord(NamedTuple):
    """A word; words of a sentence are numbered from 1."""

    start: int
    end: int
    """Span in the text; words of one contraction share it."""
    form: str
    lemma: str
    upos: str
    """Universal part of speech, such as NOUN."""
    features: Mapping[str, str] = _NO_FEATURES
    """Morphological features, such as Number: Plur."""
    head: int = -1
    """Number of the head word, 0 for the root; -1 without trees."""
    relation: str = ""


class AnnotatedSentence(NamedTuple):
    """A sentence with its span in the text."""

    start: int
    end: int
    words: tuple[AnnotatedWord, ...]


@dataclass(frozen=True)
class AnnotatedText:
    """A text with its sentences, in order and without overlap; an empty text has none."""

    text: str
    sentences: tuple[AnnotatedSentence, ...]

    def nouns(self) -> Iterator[tuple[int, AnnotatedWord]]:
        """Iterate over nouns and proper nouns, with the number of their sentence, from 0."""
        for number, sentence in enumerate(self.sentences):
            for word in sentence.words:
                if word.upos in ("NOUN", "PROPN"):
                    yield number, word


class Annotator(Protocol):
    """Annotates texts independently of each other."""

    @property
    def label(self) -> str:
        """Name, version and digest for signatures."""

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """Annotate texts, in their order."""


def annotate_each(annotator: Annotator, texts: Sequence[str]) -> dict[str, AnnotatedText | None]:
    """Annotate distinct texts; None for those that fail. If all fail, the first error is raised."""
    distinct = list(dict.fromkeys(texts))
    annotations = dict(zip(distinct, _annotate_halves(annotator, distinct), strict=True))
    if distinct and all(annotation is None for annotation in annotations.values()):
        annotator.annotate(distinct[:1])
    return annotations


def _annotate_halves(annotator: Annotator, texts: Sequence[str]) -> list[AnnotatedText | None]:
    """Annotate a batch, which is faster than single texts; a failing batch is halved down to the failing text."""
    try:
        return list(annotator.annotate(texts))
    except InputError:
        if len(texts) < 2:
            return [None] * len(texts)
        middle = len(texts) // 2
        return [*_annotate_halves(annotator, texts[:middle]), *_annotate_halves(annotator, texts[middle:])]


class Span(NamedTuple):
    """Characters of a text from `start` up to `end`, without surrounding blanks."""

    start: int
    end: int


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


#: Abbreviations that (almost) never end a sentence. Lower case, without the last stop.
_ABBREVIATIONS = _words(
    """
    mr mrs ms messrs mx dr prof rev hon st ste gen col maj capt cmdr lt sgt cpl pvt adm gov sen rep pres supt insp
    mt ft vs viz cf eg ie approx ca est incl excl esp resp ext dept univ assn bros jan feb apr jun jul aug sept
    oct nov dec mon tue tues wed thu thur thurs fri ave blvd rd hwy tel
    hr fr frau dipl ing bzw evtl ggf inkl vgl bspw sog geb gest str
    mme mlle env av
    sra srta dra ud uds vd vds excmo pág núm
    sig dott avv ecc
    """
)

#: Abbreviations only before a number; otherwise words or ends of sentences ("He said no.").
_BEFORE_NUMBERS = _words("no nos nr fig figs eq eqs sec secs ch chap vol vols art para p pp pg ver abs op mar")

#: Words that start a sentence even if the stop before them could belong to an abbreviation.
_STARTERS = _words(
    """
    a after all also an and as at but by even every for he her here his how however i if in it its last many most
    my no not now on one our she since so some still that the their then there these they this those though today
    under we what when where which while who why with yet you your
    """
)

_ENDS = re.compile(
    r"(?P<wide>[。．！？｡।॥۔]+[\"'”’»)\]}」』）】〉》]*)"
    r"|(?P<stop>[.!?…؟]+)(?P<close>[\"'”’»)\]}」』]*(?:[ \t]''(?!\S))?)(?=\s|$)"
    r"|(?P<paragraph>\n[^\S\n]*\n)"
)
_LAST_WORD = re.compile(r"[^\s.!?…\"'“”‘’«»()\[\]{}]+(?:\.[^\s.!?…\"'“”‘’«»()\[\]{}]+)*\Z")
_NEXT_WORD = re.compile(r"[\s\"'“”‘’«»()\[\]{}`¿¡—–-]*(?P<word>[^\s.!?,;:\"'“”‘’«»()\[\]{}]+)(?P<stop>\.?)")
_LETTERS = re.compile(r"[^\W\d_](?:\.[^\W\d_]{1,2})*")
#: Longest word that can be an abbreviation; the bound keeps the time linear in the text.
_LONGEST = 40


def split_sentences(text: str) -> list[Span]:
    """Split a text into sentences by rules; a blank text has none.

    >>> [span.start for span in split_sentences("Dr. J. Doe paid 3.5 dollars, e.g. in the U.S. He left. Why?")]
    [0, 46, 55]
    """
    spans: list[Span] = []
    start = 0
    for match in _ENDS.finditer(text):
        if match["stop"] is None or _ends_sentence(text, start, match):
            _add(spans, text, start, match.end())
            start = match.end()
    _add(spans, text, start, len(text))
    return spans


def split_at_lines(text: str) -> list[Span]:
    """Split a text at line ends; each line that is not blank is a sentence."""
    spans: list[Span] = []
    start = 0
    for line in text.split("\n"):
        _add(spans, text, start, start + len(line))
        start += len(line) + 1
    return spans


def strip_span(text: str, start: int, end: int) -> Span | None:
    """The span from `start` to `end` without surrounding blanks; None if only blanks are left."""
    piece = text[start:end]
    inner = piece.strip()
    first = start + len(piece) - len(piece.lstrip())
    return Span(first, first + len(inner)) if inner else None


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    span = strip_span(text, start, end)
    if span is None:
        return
    if spans and not any(map(str.isalnum, text[span.start : span.end])):
        spans[-1] = Span(spans[-1].start, span.end)
    else:
        spans.append(span)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a stop before a blank ends the sentence that began at `start`."""
    stop, end = match["stop"], match.start()
    next_match = _NEXT_WORD.match(text, match.end(), match.end() + 2 * _LONGEST)
    next_word = next_match["word"] if next_match else ""
    if stop.startswith(("..", "…")) or (match["close"] and stop != "."):
        return not next_word[:1].islower()
    if stop != "." or match["close"] or end == start or text[end - 1].isspace():
        return True  # a stop after a blank comes from a tokenised text
    last_match = _LAST_WORD.search(text, max(start, end - _LONGEST), end)
    if last_match is None:
        return True
    word = last_match[0]
    if end - start < _LONGEST and word.isdecimal() and text[start:end].strip() == word:
        return False
    if word.lower() in _ABBREVIATIONS:
        return False
    if word.lower() in _BEFORE_NUMBERS and next_word[:1].isdecimal():
        return False
    if _LETTERS.fullmatch(word):
        is_starter = next_match is not None and not next_match["stop"] and next_word.lower() in _STARTERS
        return not next_word or (is_starter and not next_word[:1].islower())
    return True
