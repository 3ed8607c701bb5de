"""`nlgauge build norms` and `nlgauge study ensemble`: norms of members, and a search for pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, Refusal, Run, check_schema

import nlgauge


def test_norms_of_saved_scores_make_an_ensemble(run: Run) -> None:
    run("score", "a.txt", "b.txt", "--refs", "ref.txt", "-m", "chrf", "rouge1", "-o", "s.json")
    assert run("build", "norms", "--scores", "s.json", "-o", "n.json").status == 0
    check_schema("n.json")
    result = run("score", "a.txt", "--refs", "ref.txt", "-m", "ensemble:chrf+rouge1,norms=n.json", "--format", "json")
    score = nlgauge.score(SYSTEM_A, REFERENCE, metric="ensemble:chrf+rouge1,norms=n.json")
    (actual,) = json.loads(result.out)["scores"]
    assert actual["score"] == score.system_score
    assert "norms:file[" in actual["signature"]
    shown = run("signature", "show", actual["signature"]).out
    assert "2.stemmer" in shown
    compared = run("compare", "a.txt", "b.txt", "--refs", "ref.txt", "-m", "ensemble:chrf+rouge1,norms=n.json")
    assert (compared.status, "ensemble" in compared.out) == (0, True)


def test_a_search_over_a_data_set(run: Run, folder: Path) -> None:
    lines = [f"{h}\t{r}\t{n}" for n, (h, r) in enumerate(zip(SYSTEM_A * 3, REFERENCE * 3, strict=True))]
    rows = [f"{line}\t{1.0 + (7 * n) % 5}\t{1.0 + (3 * n) % 7}" for n, line in enumerate(lines)]
    header = "hypothesis\treference\tscore\tone\ttwo"
    (folder / "mine.tsv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    args = ("--data", "custom", "--at", "mine.tsv", "--set", "released=one,two", "--released", "one", "two")
    result = run("study", "ensemble", *args, "-m", "chrf", "--splits", "2", "--format", "json")
    assert result.status == 1  # what disagrees with people has no gain
    assert "no member of an ensemble has a positive correlation" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "n.json"), "needs a data set with metrics"),
        (("-o", "n.json", "--data", "wmt17-testset"), "needs metrics, such as"),
        (("-o", "n.json", "--scores", "s.json", "-m", "chrf"), "--metric is not used with --scores"),
    ],
)
def test_missing_arguments_are_named(refused: Refusal, words: tuple[str, ...], message: str) -> None:
    assert message in refused(2, "build", "norms", *words)


def test_one_system_alone_has_no_deviation(run: Run, refused: Refusal, folder: Path) -> None:
    (folder / "one.txt").write_text("A cat.\n")
    (folder / "oneref.txt").write_text("The cat.\n")
    run("score", "one.txt", "--refs", "oneref.txt", "-m", "chrf", "-o", "one.json")
    assert "norms need at least 2 scores per metric, got 1 of chrf" in refused(
        1, "build", "norms", "--scores", "one.json", "-o", "n.json"
    )
