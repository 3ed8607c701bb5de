"""Summaries judged for correctness, in the layout of the releases (made texts, judgements by hand)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlgauge.data import load
from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.meta import evaluate, score_judgements


def judged(sentence: str, *answers: str) -> dict[str, object]:
    return {"sentence": sentence, "responses": [{"worker_id": n, "response": a} for n, a in enumerate(answers)]}


def write_lines(path: Path, *records: object) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_qags_takes_the_majority_of_each_sentence(tmp_path: Path) -> None:
    first = [judged("A cat sat.", "yes", "yes", "no"), judged("It flew.", "no", "no", "no")]
    write_lines(tmp_path / "mturk_cnndm.jsonl", {"article": "A cat sat down.", "summary_sentences": first})
    second = {"article": "It rained.", "summary_sentences": [judged("It snowed.", "no", "yes", "no")]}
    write_lines(tmp_path / "mturk_xsum.jsonl", second)
    table = load("qags", tmp_path)
    assert table.systems == ("cnndm", "xsum")
    assert table.hypothesis == ("A cat sat. It flew.", "It snowed.")
    assert table.source == ("A cat sat down.", "It rained.")
    assert table.gold().tolist() == [0.5, 0.0]
    assert table.gold("yes").tolist() == pytest.approx([2 / 6, 1 / 3])
    assert load("qags", tmp_path, systems="xsum").hypothesis == ("It snowed.",)
    assert load("qags", tmp_path / "mturk_xsum.jsonl").systems == ("xsum",)


def test_qags_refuses_other_answers(tmp_path: Path) -> None:
    record = {"article": "A.", "summary_sentences": [judged("B.", "maybe")]}
    write_lines(tmp_path / "mturk_xsum.jsonl", record)
    with pytest.raises(FileFormatError, match=r"line 1, column 'responses': expected responses 'yes' or 'no'"):
        load("qags", tmp_path)
    with pytest.raises(InputError, match="mturk_"):
        load("qags", tmp_path / "..")


def test_rank2019_tells_how_often_the_correct_sentence_wins(tmp_path: Path) -> None:
    def pair(article: str, correct: str, incorrect: str) -> dict[str, str]:
        ids = {"article_id": "x", "correct_sent_id": "1-1", "incorrect_sent_id": "2-1"}
        return {"article_sent": article, "correct_sent": correct, "incorrect_sent": incorrect, **ids}

    pairs = [
        pair("he paid ten dollars in fines .", "he paid ten dollars .", "they won a million ."),
        pair("a dog bit the old man .", "a dog bit a man .", "the mayor resigned ."),
        pair("snow fell in june .", "it was white .", "snow fell in june in rome ."),
        pair("she sings in a choir .", "she sings in a choir .", "rain is expected ."),
    ]
    (tmp_path / "val_sentence_pairs.json").write_text(json.dumps(pairs), encoding="utf-8")
    table = load("rank2019", tmp_path)
    assert (len(table), table.gold().tolist()[:2]) == (8, [1.0, 0.0])
    result = evaluate(score_judgements(table, ["rouge1"]), level="topic", agreement="kendall")
    # Words in common: the correct sentence has more in three of four pairs.
    assert result.cells["rouge1"]["en"].value == pytest.approx(2 * 3 / 4 - 1)
