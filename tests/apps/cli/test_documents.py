"""Documents as units of scoring, and as what is resampled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import REFERENCE, SECOND_REFERENCE, SYSTEM_A, SYSTEM_B, Refusal, Run, write_lines

import nlgauge
from nlgauge.apps.cli import main

IDS = ["a", "a", "b", "b", "b", "c"]


@pytest.fixture
def files(folder: Path) -> Path:
    for name, lines in (
        ("sys.txt", SYSTEM_A),
        ("other.txt", SYSTEM_B),
        ("r1.txt", REFERENCE),
        ("r2.txt", SECOND_REFERENCE),
    ):
        write_lines(folder / name, lines)
    write_lines(folder / "docs.txt", IDS)
    write_lines(folder / "pieces.txt", ["a", "b", "a", "c", "c", "c"])
    write_lines(folder / "few.txt", IDS[:4])
    return folder


def test_lines_of_a_document_are_scored_as_one_text(run: Run, files: Path) -> None:
    command = ("score", "sys.txt", "--refs", "r1.txt", "r2.txt", "-m", "chrf", "-q", "--segments", "-f", "json")
    (result,) = run(*command, "--document-ids", "docs.txt", "--unit", "document").scores
    refs = list(zip(REFERENCE, SECOND_REFERENCE, strict=True))
    expected = nlgauge.score(nlgauge.join_documents(SYSTEM_A, IDS), nlgauge.join_documents(refs, IDS), metric="chrf")
    assert [row["chrf"] for row in result["segments"]] == pytest.approx(expected.segments["chrf"].tolist())
    assert len(expected) == 3
    (plain,) = run(*command, "--unit", "segment").scores
    assert len(plain["segments"]) == 6


def test_documents_in_rows_of_jsonl(run: Run, files: Path) -> None:
    texts = [nlgauge.join_documents(side, IDS) for side in (SYSTEM_A, REFERENCE)]
    rows = [json.dumps({"hyp": hyp, "ref": ref}) for hyp, ref in zip(*texts, strict=True)]
    write_lines(files / "docs.jsonl", rows)
    more = ("-m", "chrf", "-q", "--segments", "-f", "json")
    (rowwise,) = run("score", "docs.jsonl:hyp", "--refs", "docs.jsonl:ref", *more).scores
    lines = ("score", "sys.txt", "--refs", "r1.txt", "--document-ids", "docs.txt", "--unit", "document", *more)
    (joined,) = run(*lines).scores
    assert rowwise["segments"] == joined["segments"]


def test_sources_are_joined_too(run: Run, files: Path) -> None:
    command = ("score", "sys.txt", "--source", "r1.txt", "-m", "bertscore:against=source", "--model", "minilm", "-q")
    (result,) = run(*command, "--document-ids", "docs.txt", "--unit", "document", "--segments", "-f", "json").scores
    assert len(result["segments"]) == 3


def test_joined_documents_are_compared(run: Run, files: Path) -> None:
    command = ("compare", "sys.txt", "other.txt", "--refs", "r1.txt", "-m", "chrf", "-q", "-f", "json")
    (metric,) = json.loads(run(*command, "--document-ids", "docs.txt", "--unit", "document").out)["metrics"]
    assert metric["n"] == 3
    (by_line,) = json.loads(run(*command, "--document-ids", "docs.txt").out)["metrics"]
    assert (by_line["n"], by_line["documents"]) == (6, 3), "without --unit, documents are what is resampled"


def test_an_interval_over_joined_documents_is_over_documents(run: Run, files: Path) -> None:
    command = ("score", "sys.txt", "--refs", "r1.txt", "-m", "chrf", "-q", "--document-ids", "docs.txt")
    assert run(*command, "--unit", "document", "--confidence").status == 0


def test_invalid_documents_are_refused(refused: Refusal, files: Path) -> None:
    score = ("score", "sys.txt", "--refs", "r1.txt", "-m", "chrf", "-q")
    assert "--unit document needs --document-ids FILE" in refused(2, *score, "--unit", "document")
    assert "'pieces.txt': document 'a' is split" in refused(
        1, *score, "--unit", "document", "--document-ids", "pieces.txt"
    )
    for more in (("--unit", "document"), ("--confidence",)):
        message = refused(1, *score, *more, "--document-ids", "few.txt")
        assert (
            "'few.txt' has 4 lines, but needs a document id for each of 6 segments; the file ends with document 'b'"
            in message
        )
    assert "works only with --confidence or --unit document" in refused(2, *score, "--document-ids", "docs.txt")
    assert "--unit must be segment or document, got 'sentence'" in refused(2, *score, "--unit", "sentence")
    compare = ("compare", "sys.txt", "other.txt", "--refs", "r1.txt", "-m", "chrf", "-q", "--unit", "document")
    assert "has 4 lines, but needs a document id" in refused(1, *compare, "--document-ids", "few.txt")
    assert "no texts are scored" in refused(
        2, "compare", "--scores", "x.tsv", "--unit", "document", "--document-ids", "docs.txt"
    )


def judged(path: Path) -> Path:
    """Twelve documents of two segments for one system; people like long documents."""
    lines = ["hypothesis\treference\tscore\tdoc"]
    for number in range(24):
        words = " ".join(["word"] * (1 + number // 2))
        lines.append(f"{words}\t{words} more\t{number // 2 + number % 2}\td{number // 2}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_agreement_at_the_level_of_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = judged(tmp_path / "judged.tsv")
    command = [
        "study",
        "meta",
        "--data",
        "custom",
        "--at",
        str(path),
        "-m",
        "chrf",
        "-q",
        "-f",
        "json",
        "--resamples",
        "100",
    ]
    command += ["--level", "document", "--agreement", "kendall"]
    actual = []
    for more in (["--set", "document=doc"], ["--document-ids", f"{path}:doc"]):
        assert main([*command, *more]) == 0
        (result,) = json.loads(capsys.readouterr().out)["tables"]
        actual.append(result)
    assert actual[0] == actual[1]
    assert actual[0]["level"] == "document"
    assert actual[0]["options"]["unit"] == "judged document"
    assert "24 segments joined to 12 documents; score: the mean over segments" in actual[0]["notes"]
    by_metric = {row["metric"]: row["by_langpair"]["und"] for row in actual[0]["metrics"]}
    assert by_metric["chrf"]["count"] == 12
    assert by_metric["chrf"]["value"] == pytest.approx(1)
    assert main(command) == 0
    (rows,) = json.loads(capsys.readouterr().out)["tables"]
    assert rows["metrics"][0]["by_langpair"]["und"]["count"] == 24, "rows are documents where none are named"


def test_unit_document_needs_document_ids(tmp_path: Path, refused: Refusal) -> None:
    write_lines(tmp_path / "sts_en.tsv", ["5\tA plane.\tAn air plane.", "1\tx\ty"])
    message = refused(1, "study", "meta", "--data", "sts", "--at", str(tmp_path), "--level", "document", "-m", "chrf")
    assert "sts has no document ids; give one per row with --document-ids FILE" in message
