"""`nlgauge study learn`: a file for -m, or a refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, Refusal, Run, check_schema
from tests.learned_files import save_learned

import nlgauge

DATA = ("--data", "custom", "--at", "mine.tsv", "--set", "human=score")


@pytest.fixture
def ratings(folder: Path) -> Path:
    """Outputs with more and more words of the reference missing, rated by how many are left."""
    rows = [
        (" ".join(reference.split()[: len(reference.split()) - cut]), reference, -cut)
        for reference in REFERENCE * 2
        for cut in range(3)
    ]
    lines = [f"{h}\t{r}\t{n}\t{score}" for n, (h, r, score) in enumerate(rows)]
    path = folder / "mine.tsv"
    path.write_text("\n".join(["hypothesis\treference\tsegment\tscore", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("ratings")
@pytest.mark.filterwarnings("ignore::nlgauge.errors.ExtrapolationWarning")
def test_a_learned_metric_is_written_only_with_a_gain_or_on_demand(run: Run, folder: Path) -> None:
    words = ("study", "learn", *DATA, "--members", "eed", "character", "-o", "mine.json")
    refused = run(*words)
    assert refused.status == 1
    assert "combination (left out)" in refused.out
    assert "is not proven to be better than its best member" in refused.err
    assert refused.err.endswith("or write it anyway with --unproven\n")
    assert not (folder / "mine.json").exists()
    written = run(*words, "--unproven")
    assert written.status == 0
    assert "use it with -m mine.json" in written.err
    result = run("score", "a.txt", "--refs", "ref.txt", "-m", "mine.json", "--format", "json")
    (actual,) = json.loads(result.out)["scores"]
    assert actual["score"] == nlgauge.score(SYSTEM_A, REFERENCE, metric="mine.json").system_score
    assert "fit:file[" in actual["signature"]
    assert "2.case" in run("signature", "show", actual["signature"]).out


def test_a_file_is_a_metric_in_other_commands(run: Run, folder: Path) -> None:
    save_learned(folder / "own.json", ["eed", "character"])
    compared = run("compare", "a.txt", "b.txt", "--refs", "ref.txt", "-m", "own.json", "eed")
    assert (compared.status, "learned" in compared.out) == (0, True)
    explained = run("explain", "pair", "--hyp-text", "A cat sat.", "--ref-text", "The cat sat.", "-m", "own.json")
    assert (explained.status, "contribution" in explained.out) == (0, True)


@pytest.mark.usefixtures("ratings")
def test_json_follows_its_schema(run: Run, folder: Path) -> None:
    words = ("study", "learn", *DATA, "--members", "eed", "character", "--unproven", "-f", "json", "-o", "mine.json")
    (folder / "study.json").write_text(run(*words).out, encoding="utf-8")
    check_schema("study.json")
    check_schema("mine.json")


@pytest.mark.usefixtures("ratings")
def test_format_is_that_of_standard_output(run: Run, folder: Path) -> None:
    words = ("study", "learn", *DATA, "--members", "eed", "character", "--unproven", "-f", "tsv", "-o", "mine.json")
    assert "\t" in run(*words).out
    assert (folder / "mine.json").read_text(encoding="utf-8").startswith("{")


def test_one_member_is_refused(refused: Refusal) -> None:
    assert "members must be at least 2 values, got 1" in refused(
        2, "study", "learn", "--data", "wmt15", "--members", "eed", "-o", "x.json"
    )
