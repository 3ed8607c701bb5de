"""Scores that were kept are those that were computed, and a changed file is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import FileFormatError, InputError

HYPS = {"a": ["A cat sat.", "Rain is near."], "b": ["One cat.", "It rains."]}
REFS = ["The cat sat.", "Rain is expected."]


@pytest.fixture(scope="module")
def scores() -> nlgauge.ScoreTable:
    return nlgauge.score_systems(HYPS, REFS, metric=["bleu", "chrf", "bertscore"], alignments=True)


def test_what_is_loaded_is_what_was_saved(scores: nlgauge.ScoreTable, tmp_path: Path) -> None:
    nlgauge.save_scores(tmp_path / "run.json", scores, references=REFS)
    again = nlgauge.load_scores(tmp_path / "run.json")
    assert [score.to_dict() for score in again] == [score.to_dict() for score in scores]
    for left, other in zip(scores, again, strict=True):
        np.testing.assert_array_equal(left.segments[left.main], other.segments[other.main])
        assert left.interval() == other.interval()
        assert left.signature == other.signature


def test_one_score_is_a_run_too(scores: nlgauge.ScoreTable, tmp_path: Path) -> None:
    nlgauge.save_scores(tmp_path / "one.json", scores[0])
    (again,) = nlgauge.load_scores(tmp_path / "one.json")
    assert again.system == "a"
    assert ScoreTable.load(tmp_path / "one.json").texts == {}


def test_a_segment_is_a_line(scores: nlgauge.ScoreTable, tmp_path: Path) -> None:
    nlgauge.save_scores(tmp_path / "run.json", scores[:1])
    text = (tmp_path / "run.json").read_text()
    assert sum(line.strip().startswith('{"segment": ') for line in text.splitlines()) == len(REFS)
    assert text.startswith('{\n  "format": "nlgauge-scores-1",\n')


def test_texts_are_kept_as_digests_only(scores: nlgauge.ScoreTable, tmp_path: Path) -> None:
    nlgauge.save_scores(tmp_path / "run.json", scores[:2], references=REFS, sources=["Die Katze.", "Regen."])
    assert "expected" not in (tmp_path / "run.json").read_text()
    saved = ScoreTable.load(tmp_path / "run.json")
    assert set(saved.texts) == {"references", "sources"}
    assert repr(saved) == "<ScoreTable: 2 of bleu, 2 segments>"
    nlgauge.save_scores(tmp_path / "lists.json", scores[:2], references=[[text] for text in REFS])
    assert ScoreTable.load(tmp_path / "lists.json").texts["references"] == saved.texts["references"]


def first(content: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = content["scores"][0]
    return record


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: first(content)["segments"][0].update(bleu=99.0), "digest does not match its numbers"),
        (
            lambda content: first(content)["statistics"]["counts"][0].__setitem__(0, 9),
            "digest does not match its numbers",
        ),
        (lambda content: content["texts"].update(references="0"), "digest does not match its numbers"),
        (lambda content: content.update(format="other/1"), r"is not a file of saved scores.*-o FILE\.json"),
        (
            lambda content: content.update(format="nlgauge-scores-9"),
            "in format nlgauge-scores-9, but this version of nlgauge reads nlgauge-scores-1",
        ),
        (lambda content: content.pop("texts"), "'texts' is missing"),
        (lambda content: first(content).pop("segments"), "score 0: the dict of a score has no 'segments'"),
        (lambda content: first(content).update(segments=[]), "score 0: the dict of a score has no segments"),
        (lambda content: first(content).update(segments=[3]), "score 0 is not a score written by nlgauge"),
        (lambda content: first(content).update(signature=":"), "score 0: ':' is not a signature"),
        (lambda content: first(content)["statistics"].update(formula="x"), "score 0: formula must be one of bleu"),
        (
            lambda content: first(content).update(main="f1"),
            r"score 0: the dict of a score has no component 'f1' \(main",
        ),
        (lambda content: content.update(scores=[]), "a list with at least one score"),
    ],
)
def test_a_changed_file_is_refused(
    scores: nlgauge.ScoreTable, tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    path = tmp_path / "run.json"
    nlgauge.save_scores(path, scores[:2], references=REFS)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=message):
        nlgauge.load_scores(path)


def test_other_files_are_refused_as_saved_scores(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not exist; make one with 'nlgauge score HYP --refs REF -o"):
        nlgauge.load_scores(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("a line of text\n")
    with pytest.raises(FileFormatError, match="is not a file of saved scores"):
        nlgauge.load_scores(tmp_path / "text.json")
    with pytest.raises(InputError, match="no scores to print: expected at least one"):
        nlgauge.save_scores(tmp_path / "x.json", [])
