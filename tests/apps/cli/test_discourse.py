"""`nlgauge study discourse`: tables, JSON, TSV, a figure, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.annotated_texts import annotated, conllu

from nlgauge.apps.cli import main

A = "cat:N dog:N . | cat:N cat:N bird:N . | dog:N ."
B = "cat:N . | cat:N ."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("parses.conllu").write_text(conllu(A, B), encoding="utf-8")
    Path("a.txt").write_text(f"{annotated(A).text}\n{annotated(B).text}\n", encoding="utf-8")
    Path("r.txt").write_text(f"{annotated(B).text}\n{annotated(A).text}\n", encoding="utf-8")
    Path("one.txt").write_text(f"{annotated(A).text}\n", encoding="utf-8")
    return tmp_path


def run(*words: str) -> int:
    return main(["study", "discourse", *words, "--annotator", "parses.conllu", "--sentences", "annotator"])


@pytest.mark.usefixtures("folder")
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a.txt", "--refs", "r.txt", "-d", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["system", "feature", "mean", "references", "D", "equal", "ref", "higher"]
    # 2.5 beside 2, and 2 beside 2.5.
    assert lines[2].split() == ["a", "freq", "2.25", "2.25", "0.50", "0.00", "0.50"]
    assert any("D6.10" in line for line in lines)


@pytest.mark.usefixtures("folder")
def test_lines_are_joined_to_documents(capsys: pytest.CaptureFixture[str]) -> None:
    sentences = [part.strip() for part in annotated(A).text.split(" . ")]
    Path("lines.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    Path("ids.txt").write_text("d\n" * len(sentences), encoding="utf-8")
    Path("parses.conllu").write_text(conllu(A.replace(" . |", " |")), encoding="utf-8")
    assert run("lines.txt", "--document-ids", "ids.txt", "--unit", "document", "--format", "json") == 0
    features = json.loads(capsys.readouterr().out)["systems"]["lines"]["features"]
    assert (features["sentences"]["mean"], features["freq"]["mean"]) == (3, 2.5)  # cat 3 times, dog twice
    assert run("lines.txt", "--document-ids", "ids.txt") == 2
    assert "--document-ids needs --unit document" in capsys.readouterr().err
    assert run("lines.txt", "--unit", "document") == 2
    assert "--unit document needs --document-ids FILE" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_json_and_tsv(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a.txt", "--refs", "r.txt", "--format", "json", "--segments") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["systems"]["a"]["features"]["freq"]["documents"] == [2.5, 2.0]
    assert result["systems"]["a"]["features"]["freq"]["separation"]["hypothesis_higher"] == 0.5
    assert result["references"]["freq"]["documents"] == [[2.0], [2.5]]
    assert run("a.txt", "--format", "tsv", "--segments", "-d", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t")[:4] == ["system", "document", "text", "freq"]
    assert lines[1].split("\t")[:4] == ["a", "0", "hypothesis", "2.5"]


def test_the_figure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a.txt", "--refs", "r.txt", "--plot", "d.svg") == 0
    assert "figure: d.svg" in capsys.readouterr().err
    drawn = (folder / "d.svg").read_bytes()
    assert run("a.txt", "--refs", "r.txt", "--plot", "again.svg", "-q") == 0
    assert (folder / "again.svg").stat().st_size == len(drawn)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "needs documents (HYP ...)"),
        (["a.txt", "--plot", "d.png"], 2, "a figure needs references (--refs)"),
        (["a.txt", "--refs", "r.txt", "--plot", "d.bmp"], 2, "end in .png, .svg, .pdf"),
        (["a.txt", "--threshold", "0.5"], 2, "--threshold works only with --vectors FILE"),
        (["a.txt", "--vectors", "nothing.txt"], 1, "no such file of word vectors: 'nothing.txt'"),
        (["a.txt", "--refs", "one.txt"], 1, "'one.txt' has 1 segment, but 'a.txt' has 2"),
        (["a.txt", "--sentences", "often"], 2, "sentences must be one of rules, lines, annotator"),
    ],
)
def test_invalid_combinations_of_flags_are_refused(
    words: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*words, "--annotator", "parses.conllu"]
    if "--sentences" not in words:
        command += ["--sentences", "annotator"]
    assert main(["study", "discourse", *command]) == status
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out
