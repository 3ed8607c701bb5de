"""Models of one language are warned of with texts of another one, named or detected; no number moves."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import nlgauge
from nlgauge.errors import LanguageWarning
from nlgauge.text.languages import single_language, warn_if_unsupported

GERMAN = [
    "Ein Mann und eine Frau sitzen auf der Bank, und das Kind ist bei ihnen.",
    "Der Zug wird nicht vor dem Abend ankommen, weil er mit dem Sturm zu kämpfen hat.",
]
FINNISH = [
    "Hän sanoi, että juna on myöhässä, mutta se ei ole vielä varmaa, ja hän odottaa myös.",
    "Kun he olivat tulleet kotiin, he söivät, ja lapset olisivat halunneet vielä leikkiä, mutta nyt oli ilta.",
]
ENGLISH = ["A man and a woman are sitting on the bench.", "The train will be late because of the storm."]


def language_warnings(texts: list[str], *, sources: list[str] | None = None, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlgauge.score(texts, None if sources else texts, sources=sources, **options)
    return [str(warning.message) for warning in caught if warning.category is LanguageWarning]


def test_models_of_one_language() -> None:
    names = ["minilm", "sentence-transformers/all-MiniLM-L6-v2", "roberta-large", "muse", "./folder"]
    assert [single_language(name) for name in names] == ["en", "en", "en", "", ""]


@pytest.mark.parametrize("options", [{}, {"lang": "de"}, {"lang": "de-AT", "metric": "moverscore"}])
def test_german_under_an_english_model_is_warned_of_once(options: dict[str, str]) -> None:
    (message,) = language_warnings(GERMAN, model="minilm", **options)
    cause = "the language is set to" if options else "texts look"
    assert message == (
        f"{cause} German, but model 'minilm' was trained on English only, so scores are unreliable; "
        "use a multilingual model, such as model='muse'"
    )


def test_a_language_is_enough_whatever_the_texts_are() -> None:
    (message,) = language_warnings(["Bonjour"], model="minilm", lang="fr")
    assert "the language is set to French, but model 'minilm' was trained on English only" in message


def test_a_model_that_does_not_know_the_language_is_not_offered() -> None:
    (message,) = language_warnings(FINNISH, model="minilm")
    assert message.endswith(
        "texts look Finnish, but model 'minilm' was trained on English only, so scores are unreliable; "
        "use a model of that language (model=)"
    )


def test_sources_that_the_model_reads_are_judged() -> None:
    options = {"metric": "bertscore:against=source", "model": "minilm"}
    assert len(language_warnings(ENGLISH, sources=GERMAN, **options)) == 1
    assert len(language_warnings(ENGLISH, sources=GERMAN, src_lang="de", **options)) >= 1


def test_english_is_not_warned_of() -> None:
    assert language_warnings(ENGLISH, model="minilm") == []
    assert language_warnings(ENGLISH, model="minilm", lang="en-GB") == []


def test_the_warning_moves_no_number() -> None:
    with pytest.warns(LanguageWarning):
        named = nlgauge.score(GERMAN, GERMAN[::-1], model="minilm", lang="de")
    with pytest.warns(LanguageWarning):
        detected = nlgauge.score(GERMAN, GERMAN[::-1], model="minilm")
    assert named.system_score == detected.system_score
    assert named.signature == detected.signature


def test_a_language_that_nobody_reads_is_not_judged() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unsupported("minilm", "fi")
