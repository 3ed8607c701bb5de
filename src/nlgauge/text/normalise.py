"""Make texts of several languages look alike before they are encoded: the rules TEXT of Zhao et al. (2021).

    contractions   syntactic words with blanks between (it. del -> di il); none in zh, ja, th
    adjectives     a modifier behind its noun goes before it (fr. maison blanche -> blanche maison)
    objects        an object before its verb goes behind it (de. den Hund sehen -> sehen den Hund)
    punctuation    no punctuation, neither Unicode's nor ASCII's

The authors released the first and the last (D9.3). Of the two of word order there is a line each in print, so what
they do here is our reading: they follow the tree and know no language. Nothing mends inflection, elision (l'ami
français -> l'français ami) or capitals, and nothing is done where a language goes another way (attorney general; a
German sentence that begins with its object). What English has in the same order stays: question words and relative
pronouns as objects, modifiers with a complement (plein de vie) or set off by commas. So does what is not in one piece
in the text, and what would tear a contraction apart: split `contractions` first.

The released code puts blanks round punctuation marks as well; here a mark keeps its place. After `punctuation` there
is no difference but for marks inside a word that was split at them (well-known -> wellknown; there: well known).

Each rule of a tree takes a sentence and gives one; a sentence without what it looks for comes back as it is, and a
second time changes nothing. `punctuation` takes a text and is the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from nlgauge.errors import RecipeError
from nlgauge.text.conllu import Contraction, Sentence, Word, spell
from nlgauge.text.tokenizer import UNSPACED_LANGUAGES, base_language, is_punctuation, is_unspaced

#: Complements: what follows an adjective in English too.
_COMPLEMENTS = frozenset({"acl", "advcl", "ccomp", "csubj", "iobj", "nmod", "nsubj", "obj", "obl", "xcomp"})

#: What is one with the noun that follows.
_PARTS_OF_A_NOUN = frozenset({"compound", "flat", "goeswith"})

#: Small words that follow a verb and stay with it: auxiliaries, Japanese and Turkish particles.
_PARTS_OF_A_VERB = frozenset({"aux", "case", "compound", "cop", "discourse", "fixed", "flat", "goeswith", "mark"})

#: A pair of commas loses its second one before another mark and at the end, as in print.
_COMMAS = frozenset(",،、，")

#: Languages whose released preparation leaves no blank at all.
_JOINED = ("ja", "zh")


def split_contractions(sentence: Sentence, *, lang: str = "") -> Sentence:
    """Every syntactic word by itself; blanks go between words, while punctuation and symbols keep their places."""
    words = list(sentence.words)
    # Places of words that a word of the same token follows.
    inner = {place for token in sentence.contractions for place in range(token.first - 1, token.last - 1)}
    for place, (word, following) in enumerate(pairwise(sentence.words)):
        apart = place in inner or (_is_lettered(word) and _is_lettered(following))
        if apart and not word.blank and _takes_blank(word.form, following.form, lang):
            words[place] = word._replace(blank=True)
    if not sentence.contractions and tuple(words) == sentence.words:
        return sentence
    return _spelt(words, ())


def move_adjectives(sentence: Sentence, *, lang: str = "") -> Sentence:
    """Modifiers (`amod`) behind a noun go before it, each with its own words; the nearest one stays the nearest.

    So `coche rojo grande` becomes `grande rojo coche`, in the order of `big red car`.
    """
    while (move := next(_adjective_moves(sentence), None)) is not None:
        sentence = _swapped(sentence, *move, lang=lang)
    return sentence


def move_objects(sentence: Sentence, *, lang: str = "") -> Sentence:
    """Objects (`obj`) before their verb go behind it and its auxiliaries; several keep their order."""
    while (move := next(_object_moves(sentence), None)) is not None:
        start, middle, end = move
        comma = _lost_comma(sentence, middle, end)
        sentence = _swapped(sentence, start, middle, end, lang=lang)
        if comma:
            sentence = _without(sentence, end - 1)
    return sentence


def remove_punctuation(text: str, *, lang: str = "") -> str:
    """No character of Unicode's category P nor of ASCII's punctuation; single blanks, in zh and ja none (D9.3).

    >>> remove_punctuation("«Non», disse - e costò 5 $!")
    'Non disse e costò 5'
    """
    unmarked = "".join(char for char in text if not is_punctuation(char))
    return ("" if base_language(lang) in _JOINED else " ").join(unmarked.split())


#: The rules that need a tree, by name.
TREE_RULES: Mapping[str, Callable[..., Sentence]] = {
    "contractions": split_contractions,
    "adjectives": move_adjectives,
    "objects": move_objects,
}

RULES = (*TREE_RULES, "punctuation")


def check_rules(rules: Sequence[str]) -> None:
    """Refuse unknown rules, and `punctuation` before a rule that needs the tree."""
    for rule in rules:
        if rule not in RULES:
            msg = f"unknown rule {rule!r}; there are: {', '.join(RULES)}"
            raise RecipeError(msg)
    if "punctuation" in rules[:-1]:
        msg = f"'punctuation' works on the finished text, so it is the last rule; got {' '.join(rules)}"
        raise RecipeError(msg)


def normalise_sentence(sentence: Sentence, rules: Sequence[str], *, lang: str = "") -> str:
    """The sentence's text after the rules, in the order given."""
    check_rules(rules)
    for rule in rules:
        if rule in TREE_RULES:
            sentence = TREE_RULES[rule](sentence, lang=lang)
    return remove_punctuation(sentence.text, lang=lang) if "punctuation" in rules else sentence.text


def _adjective_moves(sentence: Sentence) -> Iterator[tuple[int, int, int]]:
    """Places (start, middle, end): what is from middle to end goes before what is from start to middle."""
    words = sentence.words
    for noun, head in enumerate(words):
        if head.upos not in {"NOUN", "PROPN"}:
            continue
        # The farthest first: each one goes next to the noun.
        for place in range(len(words) - 1, noun, -1):
            if words[place].head != noun + 1 or words[place].base != "amod":
                continue
            block = _subtree(words, place)
            start, middle, end = _noun_start(words, noun), block[0], block[-1] + 1
            moves = (
                middle > noun
                and _is_whole(block)
                and not any(words[index].upos == "PUNCT" for index in (*range(noun, middle), middle, end - 1))
                and not any(words[index].base in _COMPLEMENTS for index in block if index > place)
                and not _tears(sentence, start, middle, end)
            )
            if moves:
                yield start, middle, end


def _object_moves(sentence: Sentence) -> Iterator[tuple[int, int, int]]:
    """As above; the object next to its verb first, so that several keep their order."""
    words = sentence.words
    for place in range(len(words) - 1, -1, -1):
        verb = words[place].head - 1
        if words[place].base != "obj" or verb < place or _asks_or_relates(words, place):
            continue
        # What is behind the verb already, such as a relative clause, stays there.
        block = [index for index in _subtree(words, place) if index < verb]
        move = (block[0], block[-1] + 1, _verb_end(words, verb))
        if _is_whole(block) and not _tears(sentence, *move):
            yield move


def _asks_or_relates(words: Sequence[Word], place: int) -> bool:
    """Whether it is a question word or a relative pronoun, or has one: which book, whose book."""
    near = [words[place], *(word for word in words if word.head == place + 1)]
    return any({"Int", "Rel"} & set(word.features.get("PronType", "").split(",")) for word in near)


def _noun_start(words: Sequence[Word], noun: int) -> int:
    """Where the noun begins with what is one with it, hyphens included: US-Behörde."""
    start = noun
    for place in range(noun - 1, -1, -1):
        if words[place].head == noun + 1 and words[place].base in _PARTS_OF_A_NOUN:
            block = _subtree(words, place)
            if _is_whole(block) and block[-1] == start - 1:
                start = block[0]
    return start


def _verb_end(words: Sequence[Word], verb: int) -> int:
    end = verb + 1
    while end < len(words) and words[end].base in _PARTS_OF_A_VERB and verb < words[end].head <= end:
        end += 1
    return end


def _subtree(words: Sequence[Word], place: int) -> list[int]:
    """Places of a word and of all that depends on it, in order."""
    places, new = {place}, {place}
    while new:
        new = {index for index, word in enumerate(words) if word.head - 1 in new}
        places |= new
    return sorted(places)


def _is_whole(block: Sequence[int]) -> bool:
    return block[-1] - block[0] + 1 == len(block)


def _tears(sentence: Sentence, *cuts: int) -> bool:
    """Whether one of the cuts (before the word at that place) is inside of a contraction."""
    return any(token.first - 1 < cut < token.last for token in sentence.contractions for cut in cuts)


def _swapped(sentence: Sentence, start: int, middle: int, end: int, *, lang: str) -> Sentence:
    """Two neighbouring blocks change places; the blanks round the two stay where they are."""
    words = list(sentence.words)
    left, right = words[middle - 1], words[end - 1]
    between = left.blank or _takes_blank(right.form, words[start].form, lang)
    words[middle - 1] = left._replace(blank=right.blank)
    words[end - 1] = right._replace(blank=between)
    order = [*range(start), *range(middle, end), *range(start, middle), *range(end, len(words))]
    return _ordered(words, sentence.contractions, order)


def _lost_comma(sentence: Sentence, middle: int, end: int) -> bool:
    """Whether the block before `middle` ends with a comma that would come before another mark, or last."""
    words = sentence.words
    alone = words[middle - 1].form in _COMMAS and all(word.head != middle for word in words)
    return alone and (end == len(words) or words[end].upos == "PUNCT")


def _without(sentence: Sentence, place: int) -> Sentence:
    """Leave out a word on which none depends; what follows moves up to the one before."""
    words = list(sentence.words)
    words[place - 1] = words[place - 1]._replace(blank=words[place].blank)
    return _ordered(words, sentence.contractions, [index for index in range(len(words)) if index != place])


def _ordered(words: Sequence[Word], contractions: Sequence[Contraction], order: Sequence[int]) -> Sentence:
    """The words at these places in this order, numbered anew."""
    number = {old + 1: new for new, old in enumerate(order, 1)} | {0: 0}
    placed = [words[old]._replace(head=number[words[old].head]) for old in order]
    moved = [token._replace(first=number[token.first], last=number[token.last]) for token in contractions]
    return _spelt(placed, sorted(moved))


def _spelt(words: Sequence[Word], contractions: Sequence[Contraction]) -> Sentence:
    sentence = Sentence(tuple(words), tuple(contractions), "")
    return replace(sentence, text=spell(sentence.words, sentence.contractions))


def _takes_blank(left: str, right: str, lang: str) -> bool:
    """Whether a blank stands between two words of the language."""
    if base_language(lang) in UNSPACED_LANGUAGES:
        return False
    return not (is_unspaced(left[-1]) or is_unspaced(right[0]))


def _is_lettered(word: Word) -> bool:
    return word.upos not in {"PUNCT", "SYM"} and any(char.isalpha() for char in word.form)
