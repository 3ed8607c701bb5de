"""Each perturbation changes what it says, in the same way wherever the text stands, and says where it cannot."""

from __future__ import annotations

import pytest

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.stress.perturbations import PERTURBATIONS, antonyms, chosen_perturbations, find_names, perturb
from nlgauge.text.words import split_words

TEXTS = [
    "Anna Berg met Bob in Paris, and they did not see 25 old friends.",
    "The hot summer was long.",
    "ok",
    "...",
]


def changed(name: str, text: str, *others: str, seed: int = 1) -> str | None:
    (result,) = perturb([text, *others], [PERTURBATIONS[name]], seed=seed)
    return result.texts[0] if result.changed[0] else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ferry was late.", "The ferry was not late."),
        ("They did not see it.", "They did see it."),
        ("I can't swim.", "I can swim."),
        ("She won’t go.", "She will go."),
        ("IT WAS LATE", "IT WAS NOT LATE"),
        ("Rain fell.", None),
        ("It was", None),
    ],
)
def test_negation(text: str, expected: str | None) -> None:
    assert changed("negation", text) == expected


def test_an_antonym_keeps_its_case() -> None:
    assert changed("antonym", "Hot days") in ("Cold days",)
    assert changed("antonym", "A HOT THING") == "A COLD THING"
    assert changed("antonym", "table") is None
    assert all(first != other for first, other in antonyms().items())


@pytest.mark.parametrize("text", ["in 1999", "3 cats", "1,250 people", "it cost 3.5 euros"])
def test_a_number_stays_a_number_of_its_length(text: str) -> None:
    for seed in range(20):
        result = changed("number", text, seed=seed)
        assert result is not None
        assert len(result) == len(text)
        assert sum(a != b for a, b in zip(result, text, strict=True)) == 1
        first = next(char for char in result if char.isdigit())
        assert first != "0" or text[0] == "3"
    assert changed("number", "Two cats") not in (None, "Two cats")
    assert changed("number", "no cats") is None


def test_names_are_found_and_exchanged() -> None:
    # The first word of a sentence has a capital in any case, so that it is no name by the rule.
    assert [name.text for name in find_names(TEXTS[0])] == ["Berg", "Bob", "Paris"]
    assert changed("name-swap", "They met Bob in Paris.") == "They met Paris in Bob."
    assert changed("name-swap", "in lower case, no names") is None
    other = changed("entity", "He met Bob.", "She left Oslo.")
    assert other == "He met Oslo."
    assert changed("entity", "He met Bob.", "nothing here") is None


def test_words_are_dropped_swapped_and_shuffled() -> None:
    text = "The ferry, which was late, left."
    dropped = changed("word-drop", text)
    assert dropped is not None
    assert len(split_words(dropped)) == len(split_words(text)) - 1
    assert "  " not in dropped
    swapped = changed("word-swap", text)
    assert swapped is not None
    assert sum(a.text != b.text for a, b in zip(split_words(swapped), split_words(text), strict=True)) == 2
    shuffled = changed("shuffle", text)
    assert shuffled is not None
    assert sorted(word.text for word in split_words(shuffled)) == sorted(word.text for word in split_words(text))
    for name in ("word-swap", "shuffle", "word-drop"):
        assert changed(name, "...") is None
    assert changed("shuffle", "no no no") is None


def test_the_surface_changes_and_the_letters_stay() -> None:
    typo = changed("typo", "The ferry was late.")
    assert typo is not None
    assert sorted(typo) == sorted("The ferry was late.")
    assert typo != "The ferry was late."
    assert changed("typo", "a cat") is None
    assert changed("casing", "The Cat") == "the cat"
    assert changed("casing", "the cat") == "THE CAT"
    assert changed("casing", "...") is None


def test_a_text_changes_alike_wherever_it_stands() -> None:
    chosen = [
        chosen_perturbation for chosen_perturbation in chosen_perturbations() if chosen_perturbation.name != "entity"
    ]  # which takes names from the others
    together = perturb(TEXTS, chosen, seed=3)
    alone = perturb([TEXTS[0]], chosen, seed=3)
    assert [item.texts[0] for item in together] == [single.texts[0] for single in alone]
    assert [item.texts for item in perturb(TEXTS, chosen, seed=3)] == [item.texts for item in together]
    other = perturb(TEXTS, chosen, seed=4)
    assert [item.texts for item in other] != [item.texts for item in together]


def test_what_cannot_be_changed_is_counted_and_stays() -> None:
    for item in perturb(TEXTS, chosen_perturbations()):
        assert item.count == sum(new != old for new, old in zip(item.texts, TEXTS, strict=True))
        assert item.texts[3] == "..."


def test_english_rules_are_for_english() -> None:
    assert not any(chosen_perturbation.english for chosen_perturbation in chosen_perturbations(lang="de"))
    with pytest.raises(RecipeError, match="perturbation 'negation' needs English texts, got 'de'"):
        chosen_perturbations(["negation"], lang="de")
    with pytest.raises(RecipeError, match="unknown perturbation 'negaton'; did you mean 'negation'"):
        chosen_perturbations(["negaton"])
    with pytest.raises(RecipeError, match="'noun-order' needs an annotator"):
        chosen_perturbations(["noun-order"])
    with pytest.raises(RecipeError, match="the list of perturbations is empty"):
        chosen_perturbations([])
    with pytest.raises(InputError, match="there are no texts to perturb"):
        perturb([], chosen_perturbations())
