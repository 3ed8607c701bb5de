"""The rules that make languages look alike; trees and expectations are written by hand."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from tests.strategies import trees
from tests.text.trees import tree

from nlgauge.errors import RecipeError
from nlgauge.text.conllu import Sentence
from nlgauge.text.normalise import TREE_RULES, normalise_sentence, remove_punctuation

ITALIAN = tree("""
1 Il DET 2 det
2 gatto NOUN 6 nsubj
3-4 del
3 di ADP 5 case
4 il DET 5 det
5 vicino NOUN 2 nmod
6 dorme VERB 0 root +
7 . PUNCT 6 punct
""")
ITALIAN_CLITIC = tree("""
1 Vuole VERB 0 root
2-3 dirlo +
2 dire VERB 1 xcomp
3 lo PRON 2 obj
4 , PUNCT 5 punct
5 ma CCONJ 8 cc
6 l' DET 7 det +
7 uomo NOUN 8 nsubj
8 tace VERB 1 conj +
9 ! PUNCT 1 punct
""")
FRENCH = tree("""
1 La DET 2 det
2 maison NOUN 6 nsubj
3 très ADV 4 advmod
4 blanche ADJ 2 amod
5 est AUX 6 cop
6 vide ADJ 0 root +
7 . PUNCT 6 punct
""")
FRENCH_HEAVY = tree("""
1 Un DET 2 det
2 homme NOUN 6 nsubj
3 plein ADJ 2 amod
4 de ADP 5 case
5 vie NOUN 3 obl
6 rit VERB 0 root +
7 . PUNCT 6 punct
""")
FRENCH_SET_OFF = tree("""
1 L' DET 2 det +
2 homme NOUN 8 nsubj +
3 , PUNCT 4 punct
4 grand ADJ 2 amod
5 et CCONJ 6 cc
6 fort ADJ 4 conj +
7 , PUNCT 4 punct
8 rit VERB 0 root
""")
SPANISH = tree("""
1 Un DET 2 det
2 coche NOUN 0 root
3 rojo ADJ 2 amod
4 grande ADJ 2 amod +
5 . PUNCT 2 punct
""")
SPANISH_AND = tree("""
1 ¡ PUNCT 4 punct +
2 Qué DET 4 det
3 gran ADJ 4 amod
4 casa NOUN 0 root
5 de ADP 6 case
6 campo NOUN 4 nmod
7 blanca ADJ 4 amod
8 y CCONJ 9 cc
9 alegre ADJ 7 conj +
10 ! PUNCT 4 punct
""")
GERMAN = tree("""
1 Er PRON 5 nsubj
2 hat AUX 5 aux
3 den DET 4 det
4 Hund NOUN 5 obj
5 gesehen VERB 0 root +
6 . PUNCT 5 punct
""")
GERMAN_CLAUSE = tree("""
1 dass SCONJ 8 mark
2 er PRON 8 nsubj
3 den DET 4 det
4 Hund NOUN 8 obj +
5 , PUNCT 7 punct
6 der PRON 7 nsubj PronType=Rel
7 bellt VERB 4 acl:relcl +
8 gesehen VERB 0 root
9 hat AUX 8 aux +
10 . PUNCT 8 punct
""")
#: The relative clause closed by a comma, which print leaves out before the full stop.
GERMAN_COMMAS = tree("""
1 Er PRON 9 nsubj
2 will AUX 9 aux
3 den DET 4 det
4 Hund NOUN 9 obj +
5 , PUNCT 7 punct
6 der PRON 7 nsubj PronType=Rel
7 bellt VERB 4 acl:relcl +
8 , PUNCT 7 punct
9 sehen VERB 0 root +
10 . PUNCT 9 punct
""")
GERMAN_BEHIND = tree("""
1 Er PRON 5 nsubj
2 hat AUX 5 aux
3 den DET 4 det
4 Hund NOUN 5 obj
5 gesehen VERB 0 root +
6 , PUNCT 8 punct
7 der PRON 8 nsubj PronType=Rel
8 bellt VERB 4 acl:relcl +
9 . PUNCT 5 punct
""")
TURKISH = tree("""
1 Ali PROPN 5 nsubj
2 dün ADV 5 advmod
3 kalın ADJ 4 amod
4 kitabı NOUN 5 obj
5 okudu VERB 0 root
6 mu AUX 5 aux +
7 ? PUNCT 5 punct
""")
JAPANESE = tree("""
1 彼 PRON 5 nsubj +
2 は ADP 1 case +
3 本 NOUN 5 obj +
4 を ADP 3 case +
5 読み VERB 0 root +
6 まし AUX 5 aux +
7 た AUX 5 aux +
8 。 PUNCT 5 punct +
""")
#: "that I have given the man the book", both of them `obj` in the tree.
TWO_OBJECTS = tree("""
1 Mann NOUN 3 obj
2 Buch NOUN 3 obj
3 geben VERB 0 root
""")
ITALIAN_RELATIVE = tree("""
1 Il DET 2 det
2 libro NOUN 0 root
3 che PRON 4 obj PronType=Rel
4 leggo VERB 2 acl:relcl
""")
QUESTION = tree("""
1 Quale DET 2 det PronType=Int
2 libro NOUN 3 obj
3 leggi VERB 0 root +
4 ? PUNCT 3 punct
""")
FRENCH_PRONOUN = tree("""
1 Je PRON 3 nsubj
2 l' PRON 3 obj +
3 aime VERB 0 root +
4 . PUNCT 3 punct
""")
#: "Den Hund glaube ich gesehen zu haben": the object is far from its verb.
GERMAN_FAR = tree("""
1 Den DET 2 det
2 Hund NOUN 5 obj
3 glaube VERB 0 root
4 ich PRON 3 nsubj
5 gesehen VERB 3 xcomp
6 zu PART 5 mark
7 haben AUX 5 aux
""")
ENGLISH = tree("""
1 She PRON 2 nsubj
2 paid VERB 0 root
3 $ SYM 4 nmod +
4 5 NUM 2 obj +
5 % SYM 4 nmod
6 of ADP 9 case
7 a DET 9 det
8 big ADJ 9 amod
9 house NOUN 4 nmod +
10 . PUNCT 2 punct
""")
ALL = [
    *(ITALIAN, ITALIAN_CLITIC, FRENCH, FRENCH_HEAVY, FRENCH_SET_OFF, SPANISH, SPANISH_AND, GERMAN, GERMAN_CLAUSE),
    *(GERMAN_COMMAS, GERMAN_BEHIND, TURKISH, JAPANESE, TWO_OBJECTS, ITALIAN_RELATIVE, QUESTION, FRENCH_PRONOUN),
    *(GERMAN_FAR, ENGLISH),
]


@pytest.mark.parametrize(
    ("sentence", "rule", "expected"),
    [
        (ITALIAN, "contractions", "Il gatto di il vicino dorme."),
        (ITALIAN_CLITIC, "contractions", "Vuole dire lo, ma l' uomo tace!"),
        (FRENCH, "adjectives", "La très blanche maison est vide."),
        (SPANISH, "adjectives", "Un grande rojo coche."),
        (SPANISH_AND, "adjectives", "¡Qué gran blanca y alegre casa de campo!"),
        (GERMAN, "objects", "Er hat gesehen den Hund."),
        (GERMAN_CLAUSE, "objects", "dass er gesehen hat den Hund, der bellt."),
        (GERMAN_COMMAS, "objects", "Er will sehen den Hund, der bellt."),
        (GERMAN_BEHIND, "objects", "Er hat gesehen den Hund, der bellt."),
        (GERMAN_FAR, "objects", "glaube ich gesehen zu haben Den Hund"),
        (TURKISH, "objects", "Ali dün okudu mu kalın kitabı?"),
        (JAPANESE, "objects", "彼は読みました本を。"),
        (TWO_OBJECTS, "objects", "geben Mann Buch"),
        (FRENCH_PRONOUN, "objects", "Je aime l'."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_gives_the_expected_text(sentence: object, rule: str, expected: str) -> None:
    assert normalise_sentence(sentence, [rule]) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        (FRENCH_HEAVY, "adjectives"),
        (FRENCH_SET_OFF, "adjectives"),
        (TURKISH, "adjectives"),
        (ITALIAN_RELATIVE, "objects"),
        (QUESTION, "objects"),
        (ITALIAN_CLITIC, "objects"),
        (FRENCH, "contractions"),
        (JAPANESE, "contractions"),
        *((ENGLISH, rule) for rule in TREE_RULES),
    ],
)
def test_what_has_no_such_structure_or_english_order_is_left_as_it_is(sentence: object, rule: str) -> None:
    assert TREE_RULES[rule](sentence) is sentence


@pytest.mark.parametrize("sentence", ALL, ids=lambda sentence: sentence.text)
def test_rules_compose_in_any_order_and_a_second_time_changes_nothing(sentence: object) -> None:
    for order in permutations(TREE_RULES):
        once = sentence
        for rule in order:
            once = TREE_RULES[rule](once)
            assert TREE_RULES[rule](once) is once
        for rule in order:
            assert TREE_RULES[rule](once) is once


@given(trees())
def test_words_and_tree_are_kept_whatever_the_tree(sentence: Sentence) -> None:
    for rule in TREE_RULES.values():
        result = rule(sentence)
        assert rule(result) is result
        # Forms are unique, but for commas, which one before another mark may lose.
        assert sorted(arcs(result)) == sorted(arcs(sentence))
        lost = len(sentence.words) - len(result.words)
        assert 0 <= lost <= sum(word.form == "," for word in sentence.words)
        assert "".join(result.text.split()) == "".join(word.form for word in result.words)


def arcs(sentence: Sentence) -> list[tuple[str, str, str]]:
    """Form, relation and the head's form of each word."""
    forms = ["", *(word.form for word in sentence.words)]
    return [(word.form, word.relation, forms[word.head]) for word in sentence.words if word.form != ","]


def test_a_contraction_is_not_torn_apart() -> None:
    """The modifier begins inside of a token: nothing moves until the token is split."""
    torn = tree("""
1 casa NOUN 0 root
2-3 nellalta
2 nella ADP 1 dep
3 alta ADJ 1 amod
""")
    assert TREE_RULES["adjectives"](torn) is torn
    assert normalise_sentence(torn, ["contractions", "adjectives"]) == "alta casa nella"


def test_a_contraction_moves_as_a_whole() -> None:
    sentence = tree("""
1 weil SCONJ 7 mark
2 er PRON 7 nsubj
3 Wege NOUN 7 obj
4-5 zum
4 zu ADP 6 case
5 dem DET 6 det
6 Arzt NOUN 3 nmod
7 sucht VERB 0 root
""")
    assert normalise_sentence(sentence, ["objects"]) == "weil er sucht Wege zum Arzt"
    assert normalise_sentence(sentence, ["objects", "contractions"]) == "weil er sucht Wege zu dem Arzt"


def test_a_modifier_goes_before_the_whole_noun() -> None:
    sentence = tree("""
1 der DET 4 det
2 US NOUN 4 compound +
3 - PUNCT 2 punct +
4 Kongress NOUN 0 root
5 gesamt ADJ 4 amod +
6 . PUNCT 4 punct
""")
    assert normalise_sentence(sentence, ["adjectives"]) == "der gesamt US-Kongress."


def test_an_adjective_between_quotation_marks() -> None:
    """From the Italian part of the parallel treebanks PUD (UD), n01002017, shortened."""
    sentence = tree("""
1 permetterà VERB 0 root
2 un DET 4 det
3 " PUNCT 4 punct +
4 numero NOUN 1 obj
5 enorme ADJ 4 amod +
6 " PUNCT 4 punct
7 di ADP 8 case
8 immigrati NOUN 4 nmod
9 legali ADJ 8 amod +
10 . PUNCT 1 punct
""")
    assert normalise_sentence(sentence, ["adjectives"]) == 'permetterà un "enorme numero" di legali immigrati.'


def test_an_object_with_its_clause_behind_the_verb() -> None:
    """From the German part of PUD, n01010042, shortened: the object's clause stands behind the verb already."""
    sentence = tree("""
1 Punkt NOUN 0 root +
2 , PUNCT 8 punct
3 an ADP 4 case
4 dem PRON 8 obl
5 er PRON 8 nsubj
6 das DET 7 det
7 Gefühl NOUN 8 obj
8 hatte VERB 1 acl:relcl +
9 , PUNCT 14 punct
10 dass SCONJ 14 mark
11 sie PRON 14 nsubj
12 das DET 13 det
13 Gebäude NOUN 14 obj
14 verlassen VERB 7 acl
15 sollten AUX 14 aux +
16 . PUNCT 1 punct
""")
    expected = "Punkt, an dem er hatte das Gefühl, dass sie verlassen sollten das Gebäude."
    assert normalise_sentence(sentence, ["objects"]) == expected


def test_a_modifier_in_pieces_stays() -> None:
    sentence = tree("""
1 Vino NOUN 3 nsubj
2 buono ADJ 1 amod
3 beve VERB 0 root
4 assai ADV 2 advmod
""")
    assert TREE_RULES["adjectives"](sentence) is sentence


def test_a_language_without_blanks_gets_none() -> None:
    sentence = tree("""
1-2 ab
1 a NOUN 0 root
2 b NOUN 1 obj
""")
    assert normalise_sentence(sentence, ["contractions"], lang="zh-TW") == "ab"
    assert normalise_sentence(sentence, ["contractions"], lang="it") == "a b"


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("Don't stop — it's «well-known», 5 $!", "en", "Dont stop its wellknown 5"),
        ("我喜欢 苹果,因为 甜。", "zh", "我喜欢苹果因为甜"),
        ("「猫」 です。", "ja", "猫です"),
        ("고양이가, 잔다.", "ko", "고양이가 잔다"),
        ("¿Qué?  ¡No!", "es", "Qué No"),
        ("5 € + 3", "de", "5 € 3"),
        ("...", "de", ""),
    ],
)
def test_punctuation_by_hand(text: str, lang: str, expected: str) -> None:
    assert remove_punctuation(text, lang=lang) == expected
    assert remove_punctuation(expected, lang=lang) == expected


def test_all_rules_combined() -> None:
    rules = ["contractions", "adjectives", "objects", "punctuation"]
    assert normalise_sentence(ITALIAN_CLITIC, rules, lang="it") == "Vuole dire lo ma l uomo tace"
    assert normalise_sentence(JAPANESE, rules, lang="ja") == "彼は読みました本を"
    assert normalise_sentence(FRENCH, [], lang="fr") == FRENCH.text


def test_rules_that_cannot_work_are_refused() -> None:
    with pytest.raises(
        RecipeError, match="unknown rule 'adjective'; rules are: contractions, adjectives, objects, pun"
    ):
        normalise_sentence(FRENCH, ["adjective"])
    with pytest.raises(RecipeError, match="must be the last rule, got punctuation objects"):
        normalise_sentence(FRENCH, ["punctuation", "objects"])
