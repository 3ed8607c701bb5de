"""Baseline files: their digest, and how many sentences they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.errors import DataWarning, FileFormatError, ModelNotFoundError
from nlgauge.metrics.parts.baseline import Baseline, build_baseline

BASELINE = Baseline({"model": "minilm", "weights": "w" * 64, "language": "en"}, {0: (0.3, 0.31, 0.32)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "base.tsv"
    path.write_text(BASELINE.text(), encoding="utf-8")
    return path


def test_baseline_file_round_trip(path: Path) -> None:
    again = Baseline.load(path)
    assert again.digest == BASELINE.digest
    assert again.rows == BASELINE.rows
    assert again.text() == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("change", [("0.310000", "0.410000"), ("w" * 64, "v" * 64), ("\n0\t", "\n1\t")])
def test_a_changed_baseline_is_refused(path: Path, change: tuple[str, str]) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"base\.tsv' is damaged: its digest does not match its numbers"):
        Baseline.load(path)


def test_a_baseline_without_a_digest_is_refused(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("# digest")), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"is damaged: 'digest' is missing.*nlgauge build baseline"):
        Baseline.load(path)


@pytest.mark.parametrize("content", [b"", b"a line\n", b"\xff\xfe"])
def test_invalid_baseline_files_are_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"is not a baseline file|it is not a text"):
        Baseline.load(path)


def test_baseline_of_few_sentences_warns_and_skips_unknown_texts() -> None:
    sentences = ["The ferry was late.", "Nobody came.", "Bread is good.", "รถไฟมาสาย", "😀 😂"]
    with pytest.warns(DataWarning, match="a baseline from 3 sentences and 20 pairs is imprecise"):
        build_baseline(sentences, pairs=20)


def test_error_of_missing_model_names_language_that_selected_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    with pytest.raises(ModelNotFoundError, match=r"^lang='de' selects model"):
        build_baseline(["a", "b"], model="bert-base-multilingual-cased", language="deu")
