"""Post-edited translations with HTER, in the layout of the quality estimation tasks (made texts)."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.data import load
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.studies.meta import evaluate, score_judgements

LINES = {
    "src": ["Ein Hund .", "Es regnet .", "Kein Wort ."],
    "mt": ["A dog .", "He rains .", "Any words here"],
    "pe": ["A dog .", "It rains .", "Not a word ."],
    "hter": ["0.000000", "0.333333", "1.000000"],
}


def write_split(folder: Path, name: str = "test20") -> None:
    folder.mkdir(exist_ok=True)
    for suffix, lines in LINES.items():
        (folder / f"{name}.{suffix}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_ter_against_the_post_edit_is_hter(tmp_path: Path) -> None:
    write_split(tmp_path / "en-de-test20")
    write_split(tmp_path / "ro-en-test20")
    table = load("post-edits", tmp_path)
    assert table.langpairs == ("en-de", "ro-en")
    assert table.source is not None
    assert table.source[1] == "Es regnet ."
    assert table.gold("hter").tolist()[:3] == [0.0, 0.333333, 1.0]
    assert table.gold().tolist()[:3] == pytest.approx([1.0, 0.666667, 0.0])
    scored = score_judgements(table, ["ter"])
    assert scored["ter"].values[:3] / 100 == pytest.approx(table.gold("hter")[:3], abs=1e-6)
    assert evaluate(scored).cells["ter"]["en-de"].value == pytest.approx(1)


def test_a_split_is_chosen(tmp_path: Path) -> None:
    write_split(tmp_path / "en-de")
    write_split(tmp_path / "en-de", "dev")
    with pytest.raises(RecipeError, match=r"several files of en-de.*split="):
        load("post-edits", tmp_path)
    assert len(load("post-edits", tmp_path, split="dev")) == 3
    with pytest.raises(InputError, match=r"no file named like 'train\.hter'"):
        load("post-edits", tmp_path, split="train")


def test_files_have_equally_many_lines(tmp_path: Path) -> None:
    write_split(tmp_path / "data")
    (tmp_path / "data" / "test20.pe").write_text("A dog .\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"test20\.pe: 1 lines, but .* has 3"):
        load("post-edits", tmp_path)
