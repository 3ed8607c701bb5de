"""Normalise texts of several languages before encoding: the rules TEXT of Zhao et al. (2021).

    contractions   separate syntactic words by blanks (it. del -> di il); not in zh, ja, th
    adjectives     move a modifier that follows its noun before it (fr. maison blanche -> blanche maison)
    objects        move an object that precedes its verb behind it (de. den Hund sehen -> sehen den Hund)
    punctuation    remove punctuation of Unicode and ASCII

The authors released the first and the last rule (D9.3). The paper describes the two rules of word order in a line
each, so they are our interpretation: they use the tree only and are the same for all languages. They do not adapt
inflection, elision (l'ami français -> l'français ami) or capitals, and handle no exceptions of a language (attorney
general; a German sentence that begins with its object). Orders that English shares are kept: question words and
relative pronouns as objects, modifiers with a complement (plein de vie) or between commas. Words that are not
contiguous are not moved, and contractions are not split: apply `contractions` first.

The released code also puts blanks around punctuation marks; here they keep their places. After `punctuation` the two
differ only for marks inside a word (well-known -> wellknown; released code: well known).

Rules of trees map a sentence to a sentence; they return it unchanged if they do not apply, and applying them twice
changes nothing. `punctuation` works on the text and must be the last rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from nlgauge.errors import RecipeError
from nlgauge.text.conllu import Contraction, Sentence, Word, spell
from nlgauge.text.tokenizer import UNSPACED_LANGUAGES, base_language, is_punctuation, is_unspaced

#: Relations of complements, which follow an adjective in English too.
_COMPLEMENTS = frozenset({"acl", "advcl", "ccomp", "csubj", "iobj", "nmod", "nsubj", "obj", "obl", "xcomp"})

#: Relations of words that form a unit with the following noun.
_PARTS_OF_A_NOUN = frozenset({"compound", "flat", "goeswith"})

#: Relations of words that stay behind their verb: auxiliaries, Japanese and Turkish particles.
_PARTS_OF_A_VERB = frozenset({"aux", "case", "compound", "cop", "discourse", "fixed", "flat", "goeswith", "mark"})

#: The second comma of a pair is removed before another mark and at the end of a sentence.
_COMMAS = frozenset(",،、，")

#: Languages for which the released code removes all blanks.
_WITHOUT_BLANKS = ("ja", "zh")


def split_contractions(sentence: Sentence, *, lang: str = "") -> Sentence:
    """Separate syntactic words by blanks; punctuation and symbols keep their places."""
    words = list(sentence.words)
    # Indices of words that are followed by a word of the same token.
    inner = {index for token in sentence.contractions for index in range(token.first - 1, token.last - 1)}
    for index, (word, following) in enumerate(pairwise(sentence.words)):
        separate = index in inner or (_has_letters(word) and _has_letters(following))
        if separate and not word.blank and _takes_blank(word.form, following.form, lang):
            words[index] = word._replace(blank=True)
    if not sentence.contractions and tuple(words) == sentence.words:
        return sentence
    return _make_sentence(words, ())


def move_adjectives(sentence: Sentence, *, lang: str = "") -> Sentence:
    """Move modifiers (`amod`) that follow a noun before it, with their dependents; the nearest stays the nearest.

    So `coche rojo grande` becomes `grande rojo coche`, in the order of `big red car`.
    """
    while (move := next(_adjective_moves(sentence), None)) is not None:
        sentence = _swap(sentence, *move, lang=lang)
    return sentence


def move_objects(sentence: Sentence, *, lang: str = "") -> Sentence:
    """Move objects (`obj`) that precede their verb behind it and its auxiliaries, in their order."""
    while (move := next(_object_moves(sentence), None)) is not None:
        start, middle, end = move
        comma = _ends_with_comma(sentence, middle, end)
        sentence = _swap(sentence, start, middle, end, lang=lang)
        if comma:
            sentence = _remove_word(sentence, end - 1)
    return sentence


def remove_punctuation(text: str, *, lang: str = "") -> str:
    """Remove punctuation (Unicode's category P, and ASCII's); blanks become single, in zh and ja they go (D9.3).

    >>> remove_punctuation("«Non», disse - e costò 5 $!")
    'Non disse e costò 5'
    """
    unmarked = "".join(char for char in text if not is_punctuation(char))
    return ("" if base_language(lang) in _WITHOUT_BLANKS else " ").join(unmarked.split())


#: Rules that need a tree, by name.
TREE_RULES: Mapping[str, Callable[..., Sentence]] = {
    "contractions": split_contractions,
    "adjectives": move_adjectives,
    "objects": move_objects,
}

RULES = (*TREE_RULES, "punctuation")


def check_rules(rules: Sequence[str]) -> None:
    """Raise RecipeError for unknown rules, and for `punctuation` before other rules."""
    for rule in rules:
        if rule not in RULES:
            msg = f"unknown rule {rule!r}; rules are: {', '.join(RULES)}"
            raise RecipeError(msg)
    if "punctuation" in rules[:-1]:
        msg = f"'punctuation' must be the last rule, got {' '.join(rules)}"
        raise RecipeError(msg)


def normalise_sentence(sentence: Sentence, rules: Sequence[str], *, lang: str = "") -> str:
    """Apply the rules in order, and return the sentence's text."""
    check_rules(rules)
    for rule in rules:
        if rule in TREE_RULES:
            sentence = TREE_RULES[rule](sentence, lang=lang)
    return remove_punctuation(sentence.text, lang=lang) if "punctuation" in rules else sentence.text


def _adjective_moves(sentence: Sentence) -> Iterator[tuple[int, int, int]]:
    """Moves (start, middle, end): the words from middle to end go before those from start to middle."""
    words = sentence.words
    for noun, head in enumerate(words):
        if head.upos not in {"NOUN", "PROPN"}:
            continue
        # The farthest modifier first, because each one is moved next to the noun.
        for modifier in range(len(words) - 1, noun, -1):
            if words[modifier].head != noun + 1 or words[modifier].base != "amod":
                continue
            block = _subtree(words, modifier)
            start, middle, end = _noun_start(words, noun), block[0], block[-1] + 1
            is_movable = (
                middle > noun
                and _is_contiguous(block)
                and not any(words[index].upos == "PUNCT" for index in (*range(noun, middle), middle, end - 1))
                and not any(words[index].base in _COMPLEMENTS for index in block if index > modifier)
                and not _splits_contraction(sentence, start, middle, end)
            )
            if is_movable:
                yield start, middle, end


def _object_moves(sentence: Sentence) -> Iterator[tuple[int, int, int]]:
    """Moves of objects; the object next to the verb comes first, so several keep their order."""
    words = sentence.words
    for index in range(len(words) - 1, -1, -1):
        verb = words[index].head - 1
        if words[index].base != "obj" or verb < index or _is_wh_phrase(words, index):
            continue
        # Words behind the verb, such as a relative clause, stay there.
        block = [member for member in _subtree(words, index) if member < verb]
        move = (block[0], block[-1] + 1, _verb_end(words, verb))
        if _is_contiguous(block) and not _splits_contraction(sentence, *move):
            yield move


def _is_wh_phrase(words: Sequence[Word], index: int) -> bool:
    """Whether a word is, or directly governs, a question word or a relative pronoun: which book, whose book."""
    phrase = [words[index], *(word for word in words if word.head == index + 1)]
    return any({"Int", "Rel"} & set(word.features.get("PronType", "").split(",")) for word in phrase)


def _noun_start(words: Sequence[Word], noun: int) -> int:
    """Index of the first word of a compound noun, hyphens included: US-Behörde."""
    start = noun
    for index in range(noun - 1, -1, -1):
        if words[index].head == noun + 1 and words[index].base in _PARTS_OF_A_NOUN:
            block = _subtree(words, index)
            if _is_contiguous(block) and block[-1] == start - 1:
                start = block[0]
    return start


def _verb_end(words: Sequence[Word], verb: int) -> int:
    end = verb + 1
    while end < len(words) and words[end].base in _PARTS_OF_A_VERB and verb < words[end].head <= end:
        end += 1
    return end


def _subtree(words: Sequence[Word], root: int) -> list[int]:
    """Indices of a word and of all its dependents, in order."""
    indices, new = {root}, {root}
    while new:
        new = {index for index, word in enumerate(words) if word.head - 1 in new}
        indices |= new
    return sorted(indices)


def _is_contiguous(block: Sequence[int]) -> bool:
    return block[-1] - block[0] + 1 == len(block)


def _splits_contraction(sentence: Sentence, *cuts: int) -> bool:
    """Whether one of the cuts (before the word of that index) is inside a contraction."""
    return any(token.first - 1 < cut < token.last for token in sentence.contractions for cut in cuts)


def _swap(sentence: Sentence, start: int, middle: int, end: int, *, lang: str) -> Sentence:
    """Swap two neighbouring blocks; the blanks around them stay."""
    words = list(sentence.words)
    left, right = words[middle - 1], words[end - 1]
    between = left.blank or _takes_blank(right.form, words[start].form, lang)
    words[middle - 1] = left._replace(blank=right.blank)
    words[end - 1] = right._replace(blank=between)
    order = [*range(start), *range(middle, end), *range(start, middle), *range(end, len(words))]
    return _reorder(words, sentence.contractions, order)


def _ends_with_comma(sentence: Sentence, middle: int, end: int) -> bool:
    """Whether the block before `middle` ends with a comma that would precede another mark or end the sentence."""
    words = sentence.words
    is_comma = words[middle - 1].form in _COMMAS and all(word.head != middle for word in words)
    return is_comma and (end == len(words) or words[end].upos == "PUNCT")


def _remove_word(sentence: Sentence, removed: int) -> Sentence:
    """Remove a word without dependents; the previous word takes over its blank."""
    words = list(sentence.words)
    words[removed - 1] = words[removed - 1]._replace(blank=words[removed].blank)
    return _reorder(words, sentence.contractions, [index for index in range(len(words)) if index != removed])


def _reorder(words: Sequence[Word], contractions: Sequence[Contraction], order: Sequence[int]) -> Sentence:
    """A sentence of the words with these indices, in this order, with new numbers."""
    number = {old + 1: new for new, old in enumerate(order, 1)} | {0: 0}
    reordered = [words[old]._replace(head=number[words[old].head]) for old in order]
    renumbered = [token._replace(first=number[token.first], last=number[token.last]) for token in contractions]
    return _make_sentence(reordered, sorted(renumbered))


def _make_sentence(words: Sequence[Word], contractions: Sequence[Contraction]) -> Sentence:
    sentence = Sentence(tuple(words), tuple(contractions), "")
    return replace(sentence, text=spell(sentence.words, sentence.contractions))


def _takes_blank(left: str, right: str, lang: str) -> bool:
    """Whether the language separates two words by a blank."""
    if base_language(lang) in UNSPACED_LANGUAGES:
        return False
    return not (is_unspaced(left[-1]) or is_unspaced(right[0]))


def _has_letters(word: Word) -> bool:
    return word.upos not in {"PUNCT", "SYM"} and any(char.isalpha() for char in word.form)
