"""Escapes for LaTeX and terminals, and the width of text in a terminal."""

from __future__ import annotations

import pytest

from nlgauge.io.escapes import display_width, escape_control, escape_latex


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\\", r"\textbackslash{}"),
        ("~^<>|", r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"),
        ("&%$#_{}", r"\&\%\$\#\_\{\}"),
        ("a---b", "a-{}-{}-b"),
        ("*", "{*}"),
        ("a[1]*", "a[1]*"),
        ("a\nb", r"a\textbackslash{}nb"),
        ("Straße 漢", "Straße 漢"),
    ],
)
def test_latex_escapes(text: str, escaped: str) -> None:
    assert escape_latex(text) == escaped


def test_width_in_terminal_cells() -> None:
    assert display_width("\u1112\u1161\u11ab") == 2  # a decomposed Hangul syllable
    assert display_width("ｆ１") == 4
    assert display_width("") == 0


def test_control_characters_and_lone_surrogates_are_escaped() -> None:
    assert escape_control("\x1b[31m\udcff") == "\\x1b[31m\\udcff"
