"""Scripts of texts."""

from __future__ import annotations

import pytest

from nlgauge.text.languages import count_scripts, foreign_script, script_of


@pytest.mark.parametrize(
    ("char", "script"),
    [
        ("A", "Latin"),
        ("ﾊ", "Katakana"),
        ("Ａ", "Latin"),
        ("ひ", "Hiragana"),
        ("語", "Han"),
        ("한", "Hangul"),
        ("ש", "Hebrew"),
        ("न", "Devanagari"),
        ("ि", "Devanagari"),
        ("ሰ", "Ethiopic"),
        ("ខ", "Khmer"),
        ("Ꭰ", "Cherokee"),
        ("𓀀", ""),
        ("5", ""),
        ("😀", ""),
        ("\u0301", ""),
    ],
)
def test_the_script_of_a_character(char: str, script: str) -> None:
    assert script_of(char) == script


def test_scripts_come_by_the_number_of_letters() -> None:
    assert list(count_scripts("aя яя あ漢字漢字")) == ["Han", "Cyrillic", "Hiragana", "Latin"]
    assert not count_scripts("12 ... 😀")


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Привет, world", "Cyrillic"),
        ("Привет, my world", ""),
        ("東京の天気", "Han"),
        ("plain", ""),
        ("", ""),
        ("😀 😂", ""),
    ],
)
def test_a_script_is_foreign_where_most_letters_are(text: str, script: str) -> None:
    assert foreign_script(text, {"Latin"}) == script
    assert foreign_script(text, {"Latin", "Cyrillic", "Han", "Hiragana"}) == ""


def test_ascii_letters_are_latin() -> None:
    assert foreign_script("word", {"Thai"}) == "Latin"
    assert foreign_script("123", {"Thai"}) == ""
