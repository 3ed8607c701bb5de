"""Files of tags and scores of words."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.errors import FileFormatError
from nlgauge.studies.explain.evaluate import read_word_scores, read_word_tags


def test_tags_and_scores_are_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "tags").write_text("0 1 0\n1 1\n", encoding="utf-8")
    (tmp_path / "scores").write_text("0.5 -1 2e-3\n1 0\n", encoding="utf-8")
    (tmp_path / "scores.jsonl").write_text('{"shap": [0.5, -1]}\n', encoding="utf-8")
    assert read_word_tags(str(tmp_path / "tags")) == [[0, 1, 0], [1, 1]]
    assert read_word_scores(str(tmp_path / "scores")) == [[0.5, -1.0, 0.002], [1.0, 0.0]]
    assert read_word_scores(f"{tmp_path / 'scores.jsonl'}:shap", lower_is_error=True) == [[-0.5, 1.0]]


@pytest.mark.parametrize(("line", "got"), [("0 2", "'0 2'"), ("", "''"), ("OK BAD", "'OK BAD'")])
def test_tags_are_0_or_1(tmp_path: Path, line: str, got: str) -> None:
    (tmp_path / "tags").write_text(f"0 1\n{line}\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"line 2: expected 0 or 1 for each word, got {got}"):
        read_word_tags(str(tmp_path / "tags"))


@pytest.mark.parametrize("line", ["0.5 x", "nan", "1 inf"])
def test_scores_are_finite_numbers(tmp_path: Path, line: str) -> None:
    (tmp_path / "scores").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 1: expected a number for each word"):
        read_word_scores(str(tmp_path / "scores"))


def test_a_value_of_jsonl_that_is_no_number_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"s": [1, null]}\n', encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 1, column 's': expected a number for each word, got None"):
        read_word_scores(f"{tmp_path / 'a.jsonl'}:s")
