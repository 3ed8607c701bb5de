"""`nlgauge study literal`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.apps.cli.conftest import Refusal, Run, write_lines

STUDY = ("study", "literal", "src.txt", "ref.txt", "--lexicon-from", "train.src", "train.ref")


def write_texts(folder: Path) -> None:
    write_lines(folder / "src.txt", ["das haus ist klein", "das buch ist klein", "das haus"])
    write_lines(folder / "ref.txt", ["the house is small", "the book is small", "the house"])
    write_lines(folder / "train.src", ["das haus", "das buch", "ist klein", "das haus ist"])
    write_lines(folder / "train.ref", ["the house", "the book", "is small", "the house is"])


def test_a_row_for_each_metric_and_kind(run: Run, folder: Path) -> None:
    write_texts(folder)
    metrics = ("-m", "xmoverscore:n=1", "bertscore:against=source", "--model", "minilm")
    result = run(*STUDY, *metrics, "--texts", "2", "--format", "json")
    assert result.status == 0, result.err
    record = json.loads(result.out)
    kinds = [(entry["metric"], entry["kind"]) for entry in record["preferences"]]
    names = ("xmoverscore:n=1", "bertscore:against=source")
    assert kinds == [(name, kind) for name in names for kind in ("literal", "source order", "shuffled")]
    # `das haus` is a tested source of three texts, but not of the first two.
    assert (record["texts"], record["lexicon_pairs"]) == (2, 4)
    assert json.loads(run(*STUDY, *metrics, "--format", "json").out)["lexicon_pairs"] == 3


def test_invalid_texts_are_refused(run: Run, refused: Refusal, folder: Path) -> None:
    write_texts(folder)
    assert run(*STUDY[:4], "-m", "xmoverscore").status == 2
    assert "got 3 and 4 lines" in refused(1, *STUDY[:5], "src.txt", "train.ref", "-m", "xmoverscore")
