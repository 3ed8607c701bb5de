"""Perturbations of a text: changes that change or keep its meaning.

    words      a word is missing, or words or nouns are in another order
    names      two names of a text are swapped, or a name is replaced by a name of another text
    meaning    negation, antonyms, numbers, by English rules
    surface    a typo or other case: the meaning is kept, and the score should hardly drop

The random choice depends only on a seed and the text, not on the other texts (except for names of other texts). A
text that a perturbation cannot change is left out and counted. A name is a sequence of capitalised words that is not
at the start of a sentence; days, months and similar words are not names. With an annotator, names are words tagged
PROPN. Without one, texts in lower case have no names.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

from nlgauge.errors import DataWarning, FileFormatError, InputError, RecipeError, did_you_mean
from nlgauge.text.annotation import AnnotatedText, AnnotatedWord, Annotator, annotate_each
from nlgauge.text.words import WordSpan, split_words


class Context(NamedTuple):
    """Inputs of a change, in addition to the text."""

    draw: random.Random
    names: tuple[str, ...] = ()
    """Names in all texts, each once and sorted."""
    annotated: AnnotatedText | None = None
    """Annotation of the text, if there is an annotator."""


#: Returns the changed text, or None if the text cannot be changed.
Change: TypeAlias = Callable[[str, Context], str | None]


class Perturbation(NamedTuple):
    """One way to change a text."""

    name: str
    what: str
    change: Change
    keeps_meaning: bool = False
    """Whether the meaning is kept, so that the score should hardly drop."""
    english: bool = True
    """Whether its rules or word lists are English."""
    needs_annotator: bool = False


def text_random(seed: int, name: str, text: str) -> random.Random:
    """Random generator for a text, independent of its position."""
    return random.Random(f"{seed} {name} {text}")


def replace_span(text: str, start: int, end: int, new: str) -> str:
    """Replace a part of the text."""
    return text[:start] + new + text[end:]


def put_in(text: str, places: Sequence[Name | WordSpan | AnnotatedWord], new: Sequence[str]) -> str:
    """Replace the words at these places, which must be in order."""
    result, end = "", 0
    for place, word in zip(places, new, strict=True):
        result += text[end : place.start] + word
        end = place.end
    return result + text[end:]


def other_order(words: Sequence[str], draw: random.Random) -> list[str] | None:
    """Shuffle words into a different order; None if there is none.

    >>> other_order(["a", "a"], random.Random(1)), other_order(["a", "b"], random.Random(1))
    (None, ['b', 'a'])
    """
    if len(set(words)) < 2:
        return None
    order = list(words)
    while order == list(words):
        draw.shuffle(order)
    return order


def with_case_of(word: str, like: str) -> str:
    """Copy the case of another word: initial capital, capitals or lower case.

    >>> with_case_of("cold", "Hot"), with_case_of("cold", "HOT")
    ('Cold', 'COLD')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


_NO_NAMES = frozenset(
    (
        "i", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february",
        "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "mr",
        "mrs", "ms", "dr", "sir", "the", "a", "an", "he", "she", "it", "they", "we", "you", "this", "that", "these",
        "those",
    )
)  # fmt: skip
_ENDS = ".!?:\"“”'’"


class Name(NamedTuple):
    """A name and its position."""

    text: str
    start: int
    end: int


def find_names(text: str, annotated: AnnotatedText | None = None) -> list[Name]:
    """Find the names of a text; neighbouring words form one name.

    >>> [name.text for name in find_names("In Paris, Anna Berg met Bob on Monday.")]
    ['Paris', 'Anna Berg', 'Bob']
    """
    tagged = [] if annotated is None else [word for _, word in annotated.nouns() if word.upos == "PROPN"]
    places = _capitalised_words(text) if annotated is None else [(word.start, word.end) for word in tagged]
    joined: list[Name] = []
    for start, end in places:
        if joined and text[joined[-1].end : start] == " ":
            joined[-1] = Name(text[joined[-1].start : end], joined[-1].start, end)
        else:
            joined.append(Name(text[start:end], start, end))
    return joined


def _capitalised_words(text: str) -> list[tuple[int, int]]:
    places = []
    at_start = True
    for word in split_words(text):
        if not any(char.isalnum() for char in word.text):
            at_start = at_start or word.text in _ENDS
            continue
        capital = word.text[:1].isupper() and (len(word.text) == 1 or not word.text.isupper())
        if capital and not at_start and word.text.lower() not in _NO_NAMES and word.text[:1].isalpha():
            places.append((word.start, word.end))
        at_start = False
    return places


def swap_names(text: str, context: Context) -> str | None:
    """Swap two different names."""
    names = find_names(text, context.annotated)
    pairs = [(a, b) for a, b in combinations(names, 2) if a.text != b.text]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def replace_name(text: str, context: Context) -> str | None:
    """Replace a name by a name of another text."""
    names = find_names(text, context.annotated)
    own = {name.text for name in names}
    others = [name for name in context.names if name not in own]
    if not names or not others:
        return None
    name = context.draw.choice(names)
    return replace_span(text, name.start, name.end, context.draw.choice(others))


#: "not" after the first of these negates the sentence. "may" is left out: "may not" forbids.
_AUXILIARIES = frozenset(
    "is are was were am can could will would should must has have had does do did".split()  # noqa: SIM905
)
_CONTRACTED = {
    "isn't": "is", "aren't": "are", "wasn't": "was", "weren't": "were", "can't": "can", "couldn't": "could",
    "won't": "will", "wouldn't": "would", "shouldn't": "should", "mustn't": "must", "hasn't": "has",
    "haven't": "have", "hadn't": "had", "doesn't": "does", "don't": "do", "didn't": "did", "cannot": "can",
}  # fmt: skip

_NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "twenty",
    "thirty", "forty", "fifty", "hundred", "thousand", "million", "billion",
)  # fmt: skip


def negate(text: str, context: Context) -> str | None:
    """Add a negation, or remove the one that the text has.

    >>> context = Context(text_random(1, "", ""))
    >>> negate("The ferry was late.", context), negate("It didn't rain.", context)
    ('The ferry was not late.', 'It did rain.')
    """
    words = split_words(text)
    for word in words:
        plain = word.text.lower().replace("’", "'")
        if plain in _CONTRACTED:
            return replace_span(text, word.start, word.end, with_case_of(_CONTRACTED[plain], word.text))
    for before, word in pairwise(words):
        if word.text.lower() in ("not", "n't") and before.text.lower() in _AUXILIARIES:
            return replace_span(text, before.end, word.end, "")
    for word in words:
        if word.text.lower() in _AUXILIARIES and word is not words[-1]:
            return replace_span(text, word.end, word.end, " NOT" if text.isupper() else " not")
    return None


def replace_by_antonym(text: str, context: Context) -> str | None:
    """Replace a word by its antonym.

    >>> replace_by_antonym("A hot summer.", Context(text_random(1, "", "")))
    'A cold summer.'
    """
    opposites = antonyms()
    words = [word for word in split_words(text) if word.text.lower() in opposites]
    if not words:
        return None
    word = context.draw.choice(words)
    return replace_span(text, word.start, word.end, with_case_of(opposites[word.text.lower()], word.text))


def replace_number(text: str, context: Context) -> str | None:
    """Replace a digit of a number, or a number word by another."""
    numbers = [word for word in split_words(text) if _is_number(word)]
    if not numbers:
        return None
    word = context.draw.choice(numbers)
    lower = word.text.lower()
    if lower in _NUMBER_WORDS:
        other = context.draw.choice([name for name in _NUMBER_WORDS if name != lower])
        return replace_span(text, word.start, word.end, with_case_of(other, word.text))
    digits = [place for place, char in enumerate(word.text) if char in "0123456789"]
    place = context.draw.choice(digits)
    # A number of several digits does not start with 0.
    allowed = "123456789" if place == digits[0] and len(digits) > 1 else "0123456789"
    other = context.draw.choice([digit for digit in allowed if digit != word.text[place]])
    return replace_span(text, word.start + place, word.start + place + 1, other)


def _is_number(word: WordSpan) -> bool:
    return bool(re.fullmatch(r"[0-9][0-9.,:]*", word.text)) or word.text.lower() in _NUMBER_WORDS


@cache
def antonyms() -> dict[str, str]:
    """Antonyms by word, in both directions; of several lines for a word the first counts."""
    name = "antonyms.tsv"
    text = (files("nlgauge.studies.stress") / "lists" / name).read_text(encoding="utf-8")
    table: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 2:
            msg = f"{name}, line {number}: expected two words, got {line!r}"
            raise FileFormatError(msg)
        for word, other in (parts, parts[::-1]):
            table.setdefault(word, other)
    return table


#: Minimum length of a word for a typo, which swaps two letters between the first and the last.
_SHORTEST = 4


def add_typo(text: str, context: Context) -> str | None:
    """Swap two neighbouring inner letters of a word.

    >>> add_typo("The cat", Context(text_random(1, "", ""))), add_typo("late", Context(text_random(1, "", "")))
    (None, 'ltae')
    """
    places = [
        (word.start + place)
        for word in split_words(text)
        if len(word.text) >= _SHORTEST and word.text.isalpha()
        for place in range(1, len(word.text) - 2)
        if word.text[place] != word.text[place + 1]
    ]
    if not places:
        return None
    place = context.draw.choice(places)
    return replace_span(text, place, place + 2, text[place + 1] + text[place])


def change_case(text: str, context: Context) -> str | None:
    """Convert to lower case, or to capitals if it is in lower case already; None for texts without cased letters."""
    lower = text.lower()
    other = lower if lower != text else text.upper()
    return other if other != text else None


#: Length from which a word is dropped first: short words carry little meaning.
_LONG = 4


def drop_word(text: str, context: Context) -> str | None:
    """Drop a word of four letters or more, or any word if there is none."""
    words = _letters(text)
    if len(words) < 2:
        return None
    word = context.draw.choice([word for word in words if len(word.text) >= _LONG] or words)
    if text[word.end : word.end + 1] == " ":
        return replace_span(text, word.start, word.end + 1, "")
    start = word.start - 1 if text[word.start - 1 : word.start] == " " else word.start
    return replace_span(text, start, word.end, "")


def swap_words(text: str, context: Context) -> str | None:
    """Swap two different words."""
    words = _letters(text)
    pairs = [(a, b) for a, b in combinations(words, 2) if a.text.lower() != b.text.lower()]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def shuffle_words(text: str, context: Context) -> str | None:
    """Shuffle all words; punctuation stays in place."""
    words = _letters(text)
    other = other_order([word.text for word in words], context.draw)
    return None if other is None else put_in(text, words, other)


def permuted(text: AnnotatedText, *, seed: int) -> str | None:
    """Permute the common nouns of a text; None if no order differs."""
    # As in the published code: the tag NN, which excludes names and plurals.
    common = [word for _, word in text.nouns() if word.upos == "NOUN"]
    nouns = [word for word in common if word.features.get("Number", "Sing") != "Plur"]
    forms = [text.text[word.start : word.end] for word in nouns]
    other = other_order(forms, text_random(seed, "nouns", text.text))
    return None if other is None else put_in(text.text, nouns, other)


def change_noun_order(text: str, context: Context) -> str | None:
    """Permute the nouns, as in the lookalikes of adversarial triples."""
    if context.annotated is None:
        return None
    return permuted(context.annotated, seed=context.draw.randrange(2**31))


def _letters(text: str) -> list[WordSpan]:
    return [word for word in split_words(text) if any(char.isalnum() for char in word.text)]


#: First the perturbations that change the meaning, then those that keep it.
_ALL = (
    Perturbation("negation", "a negation added or removed", negate),
    Perturbation("antonym", "a word replaced by its antonym", replace_by_antonym),
    Perturbation("number", "a number replaced by another", replace_number, english=False),
    Perturbation("name-swap", "two names swapped", swap_names),
    Perturbation("entity", "a name replaced by a name of another text", replace_name),
    Perturbation("word-drop", "a longer word removed", drop_word, english=False),
    Perturbation("word-swap", "two words swapped", swap_words, english=False),
    Perturbation("shuffle", "all words in another order", shuffle_words, english=False),
    Perturbation("noun-order", "nouns in another order", change_noun_order, english=False, needs_annotator=True),
    Perturbation("typo", "two neighbouring letters swapped", add_typo, keeps_meaning=True, english=False),
    Perturbation("casing", "text in lower case", change_case, keeps_meaning=True, english=False),
)
PERTURBATIONS = {entry.name: entry for entry in _ALL}


@dataclass(frozen=True)
class PerturbedTexts:
    """Texts under one perturbation."""

    perturbation: Perturbation
    texts: tuple[str, ...]
    """The texts; those that could not be changed are as before."""
    changed: tuple[bool, ...]

    @property
    def count(self) -> int:
        """Number of changed texts."""
        return sum(self.changed)


def chosen_perturbations(
    names: Sequence[str] | None = None, *, lang: str = "en", annotator: bool = False
) -> tuple[Perturbation, ...]:
    """Select perturbations by name; without names, all that are available for the language and annotator.

    >>> [entry.name for entry in chosen_perturbations(lang="de")]
    ['number', 'word-drop', 'word-swap', 'shuffle', 'typo', 'casing']
    """
    english = lang.partition("-")[0].lower() == "en"
    if names is None:
        return tuple(
            entry
            for entry in PERTURBATIONS.values()
            if (english or not entry.english) and (annotator or not entry.needs_annotator)
        )
    for name in names:
        if name not in PERTURBATIONS:
            hint = did_you_mean(name, PERTURBATIONS) or f"; perturbations are {', '.join(PERTURBATIONS)}"
            msg = f"unknown perturbation {name!r}{hint}"
            raise RecipeError(msg)
    chosen = tuple(PERTURBATIONS[name] for name in dict.fromkeys(names))
    if not chosen:
        msg = f"the list of perturbations is empty; perturbations are {', '.join(PERTURBATIONS)}"
        raise RecipeError(msg)
    for entry in chosen:
        if entry.english and not english:
            others = ", ".join(other.name for other in PERTURBATIONS.values() if not other.english)
            msg = (
                f"perturbation {entry.name!r} needs English texts, got {lang!r}; those for any language are {others}"
            )
            raise RecipeError(msg)
        if entry.needs_annotator and not annotator:
            msg = f"perturbation {entry.name!r} needs an annotator; give one with annotator=, such as spacy-en"
            raise RecipeError(msg)
    return chosen


def perturb(
    texts: Sequence[str],
    perturbations: Sequence[Perturbation],
    *,
    seed: int = 12345,
    annotator: Annotator | None = None,
) -> list[PerturbedTexts]:
    """Apply each perturbation to all texts, with a seed.

    >>> (result,) = perturb(["The ferry was late.", "Rain."], [PERTURBATIONS["negation"]])
    >>> result.texts, result.count
    (('The ferry was not late.', 'Rain.'), 1)
    """
    if not texts:
        msg = "there are no texts to perturb"
        raise InputError(msg)
    annotated = [None] * len(texts) if annotator is None else _annotate(texts, annotator)
    pairs = list(zip(texts, annotated, strict=True))
    names = tuple(sorted({name.text for text, of_text in pairs for name in find_names(text, of_text)}))
    perturbed = []
    for entry in perturbations:
        changes = [
            entry.change(text, Context(text_random(seed, entry.name, text), names, own)) for text, own in pairs
        ]
        results = tuple(text if new is None else new for new, text in zip(changes, texts, strict=True))
        changed = tuple(new != text for new, text in zip(results, texts, strict=True))
        perturbed.append(PerturbedTexts(entry, results, changed))
    return perturbed


def _annotate(texts: Sequence[str], annotator: Annotator) -> Sequence[AnnotatedText | None]:
    """Annotate all texts; a text that the annotator refuses has no words, so its nouns and names are not changed."""
    annotations = annotate_each(annotator, texts)
    refused = [number for number, text in enumerate(texts, start=1) if annotations[text] is None]
    if refused:
        first = ", ".join(map(str, refused[:10])) + (", ..." if len(refused) > 10 else "")
        count = f"{len(refused)} of {len(texts)} texts (number {first})"
        msg = f"{count} could not be annotated; their nouns and names are not changed"
        warnings.warn(msg, DataWarning, stacklevel=3)
    return [annotations[text] or AnnotatedText(text, ()) for text in texts]
