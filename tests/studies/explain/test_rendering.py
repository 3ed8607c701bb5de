"""Sentences that read as sentences."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nlgauge.studies.explain.pairs import explain_pair
from nlgauge.testing import hash_encoder


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with hash_encoder() as name:
        yield name


def test_texts_of_which_no_word_counts() -> None:
    both = explain_pair("...", "...", metric="moverscore").sentence
    assert both == (
        "moverscore is 1.000. All words of both texts are left out (punctuation). Only special tokens such "
        "as [CLS] are compared, so the score is not meaningful."
    )
    first = explain_pair("...", "A cat", metric="moverscore").sentence
    assert "All words of the hypothesis are left out (punctuation). Only special tokens such as [CLS]" in first
    assert "moves" not in first
    stops = explain_pair("A cat", "the .", metric="moverscore:stopwords=iso-en").sentence
    assert "All words of the reference are left out (stop word, punctuation)" in stops


def test_texts_of_which_nothing_is_left_at_all() -> None:
    result = explain_pair("...", "A cat", metric="moverscore:specials=drop")
    assert result.notes == ("all tokens of one of the texts have weight 0, so there is nothing to align",)


def test_special_token_is_named_in_sentence() -> None:
    moved = explain_pair("cat .", "a very old dog ran", metric="moverscore:idf=none,punctuation=keep").sentence
    assert "Costliest moves" in moved
    assert " a special token to 'ran' " in moved
    assert "'.' to a special token" in explain_pair("cat .", "a very old dog ran").sentence


def test_words_that_are_left_out_have_a_verb(model: str) -> None:
    result = explain_pair("the cat", "the dog", metric="bertscore:layer=2", model=model, leave_one_out=True)
    values = dict(zip(["the", "cat"], result.attribution(kind="leave-one-out").values, strict=True))
    assert values["the"] > 0 > values["cat"]
    expected = f"'the' ({values['the']:+.3f}) raises f1, and 'cat' ({values['cat']:+.3f}) lowers it."
    assert result.sentence.endswith(f"Leaving out one word at a time: {expected}")


def test_several_words_agree_with_the_verb() -> None:
    two = explain_pair("cat sat", "cat sat", metric="rouge1").sentence
    assert two.endswith("By Shapley values: 'cat' (+0.500) and 'sat' (+0.500) raise f1.")
    four = explain_pair("a cat sat here", "a cat sat here", metric="rouge1").sentence
    assert " raise f1 most." in four


def test_word_of_two_pieces_is_named_once_with_both_partners() -> None:
    # The example of the page, segment 11: minilm reads 'Hikers' as hike + ##rs, which have different best matches.
    result = explain_pair(
        "Walkers are advised to turn around before the sunset.", "Hikers are advised to turn back before sunset."
    )
    links = [link for link in result.links if link.kind == "backward" and link.reference == 0]
    assert len(links) == 2
    mean = sum(link.weight * (link.similarity or 0) for link in links) / sum(link.weight for link in links)
    (of_reference,) = [
        part for part in result.sentence.split(". ") if part.startswith("Weakest matches of the reference")
    ]
    assert of_reference.count("'Hikers' to ") == 1
    assert f"'Hikers' to 'Walkers' and 'are' {mean:.2f}" in of_reference
