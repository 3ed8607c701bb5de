"""Annotated texts (sentences, and of each word the lemma, part of speech and head), and the split into sentences.

Every place is counted in characters of the text as it was given, so that words meet the tokens of any model by their
places, whatever either of them takes for a word.

Sentences are found by rules, without a model and without a language. A sentence ends at a full stop, question or
exclamation mark that a blank or the end of the text follows, closing quotes and brackets included; at a full stop of
a script without blanks (。！？) and a danda (।) whatever follows; and at an empty line. A single end of line is a
blank like any other; where each line is a sentence, use `split_at_lines`. The case of letters does not matter,
because published metrics lower-case texts first. A full stop ends nothing

- after an abbreviation (`_ABBREVIATIONS`), and after "no.", "fig." and the like where a number follows;
- after a lone letter or letters with stops between (J. K. Rowling, U.S., e.g., z.B.), unless a word follows that
  often starts an English sentence, as in "He left the U.S. The talks went on.";
- after the number that a line of a list starts with (1. First);
- as an ellipsis where a lower-case letter follows; so does no mark before a closing quote ("Really?" he asked).

Marks without a letter or digit of their own (`. . .`) belong to the sentence before them.
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
                if word.upos in ("NOUN", "PROPN"):
                    yield number, word


class Annotator(Protocol):
    """What annotates texts, each by itself: its neighbours change nothing."""

    @property
    def label(self) -> str:
        """Name, version and digest, as a signature has them."""

    def annotate(self, texts: Sequence[str]) -> list[AnnotatedText]:
        """The texts in their order, annotated."""


def annotate_each(annotator: Annotator, texts: Sequence[str]) -> dict[str, AnnotatedText | None]:
    """By distinct text; None for one that the annotator refuses. Where it refuses all of them, it says why."""
    distinct = list(dict.fromkeys(texts))
    annotations = dict(zip(distinct, _annotate_halves(annotator, distinct), strict=True))
    if distinct and all(entry is None for entry in annotations.values()):
        annotator.annotate(distinct[:1])
    return annotations


def _annotate_halves(annotator: Annotator, texts: Sequence[str]) -> list[AnnotatedText | None]:
    """In one go, because annotators work in batches; what holds a refused text is halved until that stands alone."""
    try:
        return list(annotator.annotate(texts))
    except InputError:
        if len(texts) < 2:
            return [None] * len(texts)
        middle = len(texts) // 2
        return [*_annotate_halves(annotator, texts[:middle]), *_annotate_halves(annotator, texts[middle:])]


class Span(NamedTuple):
    """Characters of a text from `start` up to `end`, without blanks around them."""

    start: int
    end: int


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


#: Never at the end of a sentence, or so seldom that a name follows far more often. Lower case, without the last stop.
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

#: Abbreviations before a number only; elsewhere words or ends of sentences ("He said no.").
_BEFORE_NUMBERS = _words("no nos nr fig figs eq eqs sec secs ch chap vol vols art para p pp pg ver abs op mar")

#: Words that start a sentence where the stop before them may be an abbreviation's.
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
#: Longest word that is looked at; a longer one is no abbreviation, and the time stays linear in the text.
_LONGEST = 40


def split_sentences(text: str) -> list[Span]:
    """The sentences of a text, in order; a text without a full stop is one, a blank one has none.

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
    """The lines of a text that are not blank, each a sentence."""
    spans: list[Span] = []
    start = 0
    for line in text.split("\n"):
        _add(spans, text, start, start + len(line))
        start += len(line) + 1
    return spans


def stripped(text: str, start: int, end: int) -> Span | None:
    """The characters from `start` up to `end` without the blanks around them; None where there is nothing else."""
    piece = text[start:end]
    inner = piece.strip()
    first = start + len(piece) - len(piece.lstrip())
    return Span(first, first + len(inner)) if inner else None


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    span = stripped(text, start, end)
    if span is None:
        return
    if spans and not any(map(str.isalnum, text[span.start : span.end])):
        spans[-1] = Span(spans[-1].start, span.end)
    else:
        spans.append(span)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a stop with a blank after it ends the sentence that began at `start`."""
    stop, place = match["stop"], match.start()
    follows = _NEXT_WORD.match(text, match.end(), match.end() + 2 * _LONGEST)
    after = follows["word"] if follows else ""
    if stop.startswith(("..", "…")) or (match["close"] and stop != "."):
        return not after[:1].islower()
    if stop != "." or match["close"] or place == start or text[place - 1].isspace():
        return True  # a stop that stands alone is one of a text cut into tokens
    before = _LAST_WORD.search(text, max(start, place - _LONGEST), place)
    if before is None:
        return True
    word = before[0]
    if place - start < _LONGEST and word.isdecimal() and text[start:place].strip() == word:
        return False
    if word.lower() in _ABBREVIATIONS:
        return False
    if word.lower() in _BEFORE_NUMBERS and after[:1].isdecimal():
        return False
    if _LETTERS.fullmatch(word):
        begins = follows is not None and not follows["stop"] and after.lower() in _STARTERS
        return not after or (begins and not after[:1].islower())
    return True
