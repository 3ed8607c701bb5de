"""The language of a corpus by its function words: no false alarm on English, and other languages are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlgauge.text.languages import _LANGUAGE_OF_WORD, LANGUAGE_NAMES, language_of_texts


def test_every_list_has_words_of_its_own() -> None:
    for language in LANGUAGE_NAMES:
        assert list(_LANGUAGE_OF_WORD.values()).count(language) >= 15, language


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["Die Hard is the best film of the year, said Van der Berg."],
        ["Der Hund schläft."],  # too few words
        ["Dies irae, dies illa", "Le Monde and Die Zeit and El País wrote about the plan of the bank that was sold."],
        ["1 2 3", "!!!", "北京是中国的首都"],
        ["the und " * 20],  # two languages at once
    ],
)
def test_ambiguous_texts_get_no_language(texts: list[str]) -> None:
    assert language_of_texts(texts) in ("", "en")


def test_english_of_translations_is_never_taken_for_another_language(data_folder: Path) -> None:
    """References of all pairs of WMT17 and WMT18 to English, in corpora of 5, 20, 100 and all segments."""
    files = sorted(data_folder.glob("wmt1[78]/references/*-ref.en"))
    assert len(files) >= 14
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        for size in (5, 20, 100, len(lines)):
            result = {language_of_texts(lines[start : start + size]) for start in range(0, len(lines), size)}
            assert result <= {"", "en"}, (file.name, size)
        assert language_of_texts(lines) == "en"


def test_function_words_identify_languages_of_news(data_folder: Path) -> None:
    """Sources of WMT17 and WMT18; Russian and Chinese are told by their script elsewhere."""
    expected = {"cs", "de", "et", "fi", "lv", "tr"}
    seen = set()
    for file in sorted(data_folder.glob("wmt1[78]/source/*-src.*")):
        lines = file.read_text(encoding="utf-8").splitlines()
        language = file.suffix[1:]
        seen.add(language)
        assert language_of_texts(lines) == (language if language in {*expected, "en"} else ""), file.name
        for start in range(0, len(lines), 100):
            assert language_of_texts(lines[start : start + 100]) in {"", language}, file.name
    assert expected <= seen


@pytest.mark.parametrize("language", ["de", "fr"])
def test_function_words_identify_languages_of_captions(data_folder: Path, language: str) -> None:
    gold = json.loads((data_folder / f"multi30k/MMTgolddict_{language}.json").read_text(encoding="utf-8"))
    texts = list(gold.values())
    assert language_of_texts(texts) == language
    assert language_of_texts(texts[:20]) == language
