"""Perturbations of a text: changes that are known to keep its meaning, or known not to.

    words      one is missing, or words or nouns are in another order
    names      two names of a text change places, or one is replaced by a name of another text
    meaning    negation, antonyms, numbers: English rules
    surface    a typo, other case: the meaning is kept, and a metric should hardly fall

Each is drawn from a seed and the text alone, so that the other texts change nothing (an entity that is put in comes
from the other texts; which one is drawn in the same way). A text that a perturbation cannot change is left out, and
counted. A name is a run of capitalised words that does not begin a sentence; days, months and the like are not names.
With an annotator that tags names (PROPN), its tags replace the rule. Texts in lower case have no names by the rule.
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
    """What a change may look at beside the text."""

    draw: random.Random
    names: tuple[str, ...] = ()
    """Names in all texts, each once and sorted."""
    annotated: AnnotatedText | None = None
    """Where an annotator was given."""


#: The changed text, or None where nothing can be changed.
Change: TypeAlias = Callable[[str, Context], str | None]


class Perturbation(NamedTuple):
    """One way to change a text."""

    name: str
    what: str
    change: Change
    keeps_meaning: bool = False
    """Whether a metric should hardly fall."""
    english: bool = True
    """Whether its rules, or its list of words, are English."""
    needs_annotator: bool = False


def drawn(seed: int, name: str, text: str) -> random.Random:
    """The draw of a text: the same wherever it stands."""
    return random.Random(f"{seed} {name} {text}")


def replaced(text: str, start: int, end: int, new: str) -> str:
    """The text with a part of it exchanged."""
    return text[:start] + new + text[end:]


def put_in(text: str, places: Sequence[Name | WordSpan | AnnotatedWord], new: Sequence[str]) -> str:
    """The text with other words in these places, which come in order."""
    made, at = "", 0
    for place, word in zip(places, new, strict=True):
        made += text[at : place.start] + word
        at = place.end
    return made + text[at:]


def other_order(words: Sequence[str], draw: random.Random) -> list[str] | None:
    """The words in an order that reads differently; None where there is none.

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
    """A word written as another is: capital, capitals or small.

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
    """A name and its place."""

    text: str
    start: int
    end: int


def find_names(text: str, annotated: AnnotatedText | None = None) -> list[Name]:
    """The names of a text, neighbouring words joined.

    >>> [name.text for name in find_names("In Paris, Anna Berg met Bob on Monday.")]
    ['Paris', 'Anna Berg', 'Bob']
    """
    tagged = [] if annotated is None else [word for _, word in annotated.nouns() if word.upos == "PROPN"]
    places = _by_rule(text) if annotated is None else [(word.start, word.end) for word in tagged]
    joined: list[Name] = []
    for start, end in places:
        if joined and text[joined[-1].end : start] == " ":
            joined[-1] = Name(text[joined[-1].start : end], joined[-1].start, end)
        else:
            joined.append(Name(text[start:end], start, end))
    return joined


def _by_rule(text: str) -> list[tuple[int, int]]:
    places = []
    begins = True
    for word in split_words(text):
        if not any(char.isalnum() for char in word.text):
            begins = begins or word.text in _ENDS
            continue
        capital = word.text[:1].isupper() and (len(word.text) == 1 or not word.text.isupper())
        if capital and not begins and word.text.lower() not in _NO_NAMES and word.text[:1].isalpha():
            places.append((word.start, word.end))
        begins = False
    return places


def with_names_exchanged(text: str, context: Context) -> str | None:
    """With two different names in each other's place."""
    names = find_names(text, context.annotated)
    pairs = [(a, b) for a, b in combinations(names, 2) if a.text != b.text]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def with_another_name(text: str, context: Context) -> str | None:
    """With one name exchanged for a name of another text."""
    names = find_names(text, context.annotated)
    own = {name.text for name in names}
    others = [name for name in context.names if name not in own]
    if not names or not others:
        return None
    name = context.draw.choice(names)
    return replaced(text, name.start, name.end, context.draw.choice(others))


#: After the first of these, "not" makes the sentence say the contrary. "may" is left out: "may not" forbids.
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


def negated(text: str, context: Context) -> str | None:
    """With a negation more, or less: what is negated already is said without it.

    >>> context = Context(drawn(1, "", ""))
    >>> negated("The ferry was late.", context), negated("It didn't rain.", context)
    ('The ferry was not late.', 'It did rain.')
    """
    words = split_words(text)
    for word in words:
        plain = word.text.lower().replace("’", "'")
        if plain in _CONTRACTED:
            return replaced(text, word.start, word.end, with_case_of(_CONTRACTED[plain], word.text))
    for before, word in pairwise(words):
        if word.text.lower() in ("not", "n't") and before.text.lower() in _AUXILIARIES:
            return replaced(text, before.end, word.end, "")
    for word in words:
        if word.text.lower() in _AUXILIARIES and word is not words[-1]:
            return replaced(text, word.end, word.end, " NOT" if text.isupper() else " not")
    return None


def reversed_word(text: str, context: Context) -> str | None:
    """With one word exchanged for its antonym.

    >>> reversed_word("A hot summer.", Context(drawn(1, "", "")))
    'A cold summer.'
    """
    known = antonyms()
    words = [word for word in split_words(text) if word.text.lower() in known]
    if not words:
        return None
    word = context.draw.choice(words)
    return replaced(text, word.start, word.end, with_case_of(known[word.text.lower()], word.text))


def renumbered(text: str, context: Context) -> str | None:
    """With one number exchanged for another of as many digits, or a number word for another."""
    numbers = [word for word in split_words(text) if _is_number(word)]
    if not numbers:
        return None
    word = context.draw.choice(numbers)
    lower = word.text.lower()
    if lower in _NUMBER_WORDS:
        other = context.draw.choice([name for name in _NUMBER_WORDS if name != lower])
        return replaced(text, word.start, word.end, with_case_of(other, word.text))
    digits = [place for place, char in enumerate(word.text) if char in "0123456789"]
    place = context.draw.choice(digits)
    # A number of several digits does not begin with 0.
    allowed = "123456789" if place == digits[0] and len(digits) > 1 else "0123456789"
    other = context.draw.choice([digit for digit in allowed if digit != word.text[place]])
    return replaced(text, word.start + place, word.start + place + 1, other)


def _is_number(word: WordSpan) -> bool:
    return bool(re.fullmatch(r"[0-9][0-9.,:]*", word.text)) or word.text.lower() in _NUMBER_WORDS


@cache
def antonyms() -> dict[str, str]:
    """Words and their antonyms, both ways; where a word stands twice, its first line counts."""
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


#: Letters of the shortest word that is mistyped: the first and the last stay, and two between them change places.
_SHORTEST = 4


def mistyped(text: str, context: Context) -> str | None:
    """With two neighbouring inner letters of one word exchanged.

    >>> mistyped("The cat", Context(drawn(1, "", ""))), mistyped("late", Context(drawn(1, "", "")))
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
    return replaced(text, place, place + 2, text[place + 1] + text[place])


def recased(text: str, context: Context) -> str | None:
    """All in lower case, or in capitals where it is that already; None where a text has no letters with case."""
    lower = text.lower()
    other = lower if lower != text else text.upper()
    return other if other != text else None


#: Short words carry little; one of these letters or more is dropped where there is one.
_LONG = 4


def without_a_word(text: str, context: Context) -> str | None:
    """Without one of its longer words (four letters or more; of any length where there is none)."""
    words = _letters(text)
    if len(words) < 2:
        return None
    word = context.draw.choice([word for word in words if len(word.text) >= _LONG] or words)
    if text[word.end : word.end + 1] == " ":
        return replaced(text, word.start, word.end + 1, "")
    start = word.start - 1 if text[word.start - 1 : word.start] == " " else word.start
    return replaced(text, start, word.end, "")


def exchanged(text: str, context: Context) -> str | None:
    """With two different words in each other's place; the rest stays."""
    words = _letters(text)
    pairs = [(a, b) for a, b in combinations(words, 2) if a.text.lower() != b.text.lower()]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def shuffled(text: str, context: Context) -> str | None:
    """With all words in a random order; punctuation keeps its places."""
    words = _letters(text)
    other = other_order([word.text for word in words], context.draw)
    return None if other is None else put_in(text, words, other)


def permuted(text: AnnotatedText, *, seed: int) -> str | None:
    """The text with its common nouns in another order; None where no order differs from the one it has."""
    # What the published code takes: the tag NN, which is no name and no plural.
    common = [word for _, word in text.nouns() if word.upos == "NOUN"]
    nouns = [word for word in common if word.features.get("Number", "Sing") != "Plur"]
    forms = [text.text[word.start : word.end] for word in nouns]
    other = other_order(forms, drawn(seed, "nouns", text.text))
    return None if other is None else put_in(text.text, nouns, other)


def with_nouns_permuted(text: str, context: Context) -> str | None:
    """With its nouns in another order, as the lookalikes of adversarial triples have them."""
    if context.annotated is None:
        return None
    return permuted(context.annotated, seed=context.draw.randrange(2**31))


def _letters(text: str) -> list[WordSpan]:
    return [word for word in split_words(text) if any(char.isalnum() for char in word.text)]


#: By name: first those that change the meaning, then those that keep it.
_ALL = (
    Perturbation("negation", "one negation more, or less", negated),
    Perturbation("antonym", "one word exchanged for its antonym", reversed_word),
    Perturbation("number", "one number exchanged for another", renumbered, english=False),
    Perturbation("name-swap", "two names in each other's place", with_names_exchanged),
    Perturbation("entity", "one name exchanged for a name of another text", with_another_name),
    Perturbation("word-drop", "one longer word missing", without_a_word, english=False),
    Perturbation("word-swap", "two words in each other's place", exchanged, english=False),
    Perturbation("shuffle", "all words in another order", shuffled, english=False),
    Perturbation("noun-order", "nouns in another order", with_nouns_permuted, english=False, needs_annotator=True),
    Perturbation("typo", "two neighbouring letters exchanged", mistyped, keeps_meaning=True, english=False),
    Perturbation("casing", "all in lower case", recased, keeps_meaning=True, english=False),
)
PERTURBATIONS = {entry.name: entry for entry in _ALL}


@dataclass(frozen=True)
class PerturbedTexts:
    """Texts under one perturbation."""

    perturbation: Perturbation
    texts: tuple[str, ...]
    """Changed, or as they were."""
    changed: tuple[bool, ...]

    @property
    def count(self) -> int:
        """Texts that could be changed."""
        return sum(self.changed)


def chosen_perturbations(
    names: Sequence[str] | None = None, *, lang: str = "en", annotator: bool = False
) -> tuple[Perturbation, ...]:
    """Perturbations by name; without names, all that the language and the lack of an annotator leave.

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
            hint = did_you_mean(name, PERTURBATIONS)
            msg = f"unknown perturbation {name!r}{hint}; there are: {', '.join(PERTURBATIONS)}"
            raise RecipeError(msg)
    chosen = tuple(PERTURBATIONS[name] for name in dict.fromkeys(names))
    if not chosen:
        msg = f"no perturbation was named; there are: {', '.join(PERTURBATIONS)}"
        raise RecipeError(msg)
    for entry in chosen:
        if entry.english and not english:
            others = ", ".join(other.name for other in PERTURBATIONS.values() if not other.english)
            msg = (
                f"{entry.name} has English rules, and the texts are in {lang!r}; for any language there are: {others}"
            )
            raise RecipeError(msg)
        if entry.needs_annotator and not annotator:
            msg = f"{entry.name} needs an annotator that knows nouns; name one with annotator="
            raise RecipeError(msg)
    return chosen


def perturb(
    texts: Sequence[str],
    perturbations: Sequence[Perturbation],
    *,
    seed: int = 12345,
    annotator: Annotator | None = None,
) -> list[PerturbedTexts]:
    """The texts under each perturbation, from a seed.

    >>> (found,) = perturb(["The ferry was late.", "Rain."], [PERTURBATIONS["negation"]])
    >>> found.texts, found.count
    (('The ferry was not late.', 'Rain.'), 1)
    """
    if not texts:
        msg = "there is no text to perturb"
        raise InputError(msg)
    annotated = [None] * len(texts) if annotator is None else _annotate(texts, annotator)
    pairs = list(zip(texts, annotated, strict=True))
    names = tuple(sorted({name.text for text, of_text in pairs for name in find_names(text, of_text)}))
    perturbed = []
    for entry in perturbations:
        made = [entry.change(text, Context(drawn(seed, entry.name, text), names, own)) for text, own in pairs]
        other = tuple(text if new is None else new for new, text in zip(made, texts, strict=True))
        changed = tuple(new != text for new, text in zip(other, texts, strict=True))
        perturbed.append(PerturbedTexts(entry, other, changed))
    return perturbed


def _annotate(texts: Sequence[str], annotator: Annotator) -> Sequence[AnnotatedText | None]:
    """Of each text; one that the annotator refuses has no words, so that none of its nouns and names is moved."""
    annotations = annotate_each(annotator, texts)
    refused = [number for number, text in enumerate(texts) if annotations[text] is None]
    if refused:
        first = ", ".join(map(str, refused[:10])) + (", ..." if len(refused) > 10 else "")
        msg = f"{len(refused)} of {len(texts)} texts ({first}) have no annotation: their nouns and names stay"
        warnings.warn(msg, DataWarning, stacklevel=3)
    return [annotations[text] or AnnotatedText(text, ()) for text in texts]
