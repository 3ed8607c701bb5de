"""Perturbations of whole words: one is missing, two change places, all are in another order, nouns are."""

from __future__ import annotations

from nlgauge.stress.build_triples import permuted
from nlgauge.stress.perturbation import Context, Perturbation, other_order, put_in, replaced
from nlgauge.text.words import WordSpan, split_words

__all__ = ["WORDS", "exchanged", "shuffled", "with_nouns_permuted", "without_a_word"]

#: Short words carry little; one of these letters or more is dropped where there is one.
_LONG = 4


def without_a_word(text: str, context: Context) -> str | None:
    """Without one of its longer words (four letters or more; of any length where there is none)."""
    words = _letters(text)
    if len(words) < 2:
        return None
    word = context.draw.choice([one for one in words if len(one.text) >= _LONG] or words)
    if text[word.end : word.end + 1] == " ":
        return replaced(text, word.start, word.end + 1, "")
    start = word.start - 1 if text[word.start - 1 : word.start] == " " else word.start
    return replaced(text, start, word.end, "")


def exchanged(text: str, context: Context) -> str | None:
    """With two different words in each other's place; the rest stays."""
    words = _letters(text)
    pairs = [(a, b) for at, a in enumerate(words) for b in words[at + 1 :] if a.text.lower() != b.text.lower()]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def shuffled(text: str, context: Context) -> str | None:
    """With all words in a random order; punctuation keeps its places."""
    words = _letters(text)
    other = other_order([word.text for word in words], context.draw)
    return None if other is None else put_in(text, words, other)


def with_nouns_permuted(text: str, context: Context) -> str | None:
    """With its nouns in another order, as the lookalikes of adversarial triples have them."""
    if context.annotated is None:
        return None
    return permuted(context.annotated, seed=context.draw.randrange(2**31))


def _letters(text: str) -> list[WordSpan]:
    return [word for word in split_words(text) if any(char.isalnum() for char in word.text)]


WORDS = (
    Perturbation("word-drop", "one longer word missing", without_a_word, english=False),
    Perturbation("word-swap", "two words in each other's place", exchanged, english=False),
    Perturbation("shuffle", "all words in another order", shuffled, english=False),
    Perturbation("noun-order", "nouns in another order", with_nouns_permuted, english=False, needs_annotator=True),
)
