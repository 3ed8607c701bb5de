"""`nlgauge compare --until-certain` and the margin of the gate: output, exit status, refusals, interruption."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines

from nlgauge.studies.compare import until_certain
from nlgauge.studies.compare.early_comparison import EarlyComparison
from nlgauge.studies.compare.until_certain import compare_until_certain

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "big", "old", "and", "never"]
COUNT = 200
CHRF = ("--refs", "refs.txt", "-m", "chrf", "-q")
EARLY = (*CHRF, "--until-certain")


def spoilt(lines: list[str], rate: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join("x" if rng.random() < rate else word for word in line.split()) for line in lines]


@pytest.fixture(autouse=True)
def _systems(folder: Path) -> None:
    """base.txt and same.txt are alike good, worse.txt is much worse."""
    rng = random.Random(1)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(COUNT)]
    write_lines(folder / "refs.txt", references)
    for name, rate, seed in (("base", 0.2, 2), ("same", 0.2, 3), ("worse", 0.5, 4)):
        write_lines(folder / f"{name}.txt", spoilt(references, rate, seed))
    write_lines(folder / "docs.txt", [f"d{index // 2}" for index in range(COUNT)])


def test_output_is_that_of_python(run: Run, folder: Path) -> None:
    result = run("compare", "base.txt", "worse.txt", *EARLY, "-f", "json")
    assert (result.status, result.err) == (0, "")
    texts = {name: (folder / f"{name}.txt").read_text().splitlines() for name in ("base", "worse")}
    expected = compare_until_certain(texts, (folder / "refs.txt").read_text().splitlines(), "chrf")
    record = json.loads(result.out)
    assert EarlyComparison.from_dict(record).to_dict() == expected.to_dict()
    assert record["metrics"][0]["pairs"][0]["segments"] == 50


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_format_for_people_names_the_segments_used(run: Run, form: str) -> None:
    out = run("compare", "base.txt", "worse.txt", *EARLY, "-f", form).out
    assert "stopped after 50 of 200 segments" in out
    assert "not the score of the test set" in out


def test_several_systems_and_documents(run: Run) -> None:
    result = run("compare", "base.txt", "same.txt", "worse.txt", *EARLY, "-f", "tsv")
    used = [line.split("\t")[8] for line in result.out.splitlines()[1:]]
    assert used == ["200", "50", "50"]
    documents = run("compare", "base.txt", "worse.txt", *EARLY, "--document-ids", "docs.txt")
    assert "stopped after 100 of 200 segments (50 documents)" in documents.out


@pytest.mark.parametrize(
    ("files", "flags", "status", "sentence"),
    [
        (("base", "worse"), (), 3, "gate failed: worse is worse than base: chrf difference +"),
        (("worse", "base"), (), 0, "gate passed: no significant drop: chrf difference +"),
        (("base", "worse"), ("--margin", "1"), 3, "gate failed: worse is worse than base by more than 1: chrf"),
        (("base", "same"), ("--margin", "20"), 0, "gate passed: same is not worse than base by more than 20: chrf"),
        (("base", "same"), ("--margin", "0.001"), 0, "gate undecided: not certain whether same is worse than base"),
        (("base", "same"), ("--margin", "0.001", "--strict"), 4, "gate undecided: not certain whether same is"),
        (("base", "worse"), ("--min-segments", "201"), 0, "gate undecided: not certain whether worse is worse"),
    ],
)
def test_gate_until_certain(
    run: Run, files: tuple[str, str], flags: tuple[str, ...], status: int, sentence: str
) -> None:
    result = run("compare", *(f"{name}.txt" for name in files), *EARLY, "--gate", *flags)
    assert result.status == status, result.err
    assert result.out.startswith(sentence)
    assert ("passed" in sentence) or result.err.startswith(f"nlgauge: {sentence}")


@pytest.mark.parametrize("files", [("base", "worse"), ("worse", "base"), ("base", "same")])
def test_gate_and_statement_have_the_same_numbers(run: Run, files: tuple[str, str]) -> None:
    gate, statement = run("compare", *(f"{name}.txt" for name in files), *EARLY, "--gate").out.splitlines()[:3:2]
    numbers = re.compile(r"difference \S+ in favour of \w+, interval \S+ to [^\s;,]+")
    (in_gate,), (in_statement,) = numbers.findall(gate), numbers.findall(statement)
    assert in_gate == in_statement
    if "worse" in files:
        assert "in favour of base" in in_gate


@pytest.mark.parametrize(
    ("files", "flags", "status", "sentence"),
    [
        (("base", "worse"), ("--margin", "1"), 3, "gate failed: worse is worse than base by more than 1: chrf -"),
        (("base", "same"), ("--margin", "20"), 0, "gate passed: same is not worse than base by more than 20: chrf"),
        (("base", "same"), ("--margin", "0.001"), 0, "gate undecided: the interval "),
        (("base", "same"), ("--margin", "0.001", "--strict"), 4, "gate undecided: the interval "),
        (("base", "same"), ("--margin", "20", "--alpha", "0.1"), 0, "gate passed: same is not worse than base by"),
        (("base", "worse"), ("--min-segments", "201"), 0, "gate undecided: 200 segments, at least 201 are required"),
    ],
)
def test_margin_of_a_gate_on_all_segments(
    run: Run, files: tuple[str, str], flags: tuple[str, ...], status: int, sentence: str
) -> None:
    result = run("compare", *(f"{name}.txt" for name in files), *CHRF, "--gate", *flags)
    assert result.status == status, result.err
    assert result.out.startswith(sentence)


def test_only_the_systems_of_the_gate_are_scored(run: Run) -> None:
    command = ("compare", "base.txt", "same.txt", "worse.txt", *EARLY, "--gate", "--base", "base", "--new", "worse")
    result = run(*command, "-f", "json")
    assert result.status == 3
    record = json.loads(result.out)
    assert [row["system"] for row in record["metrics"][0]["systems"]] == ["base", "worse"]
    assert record["gate"]["rows"][0]["n"] == 50


@pytest.mark.parametrize("metrics", [("chrf",), ("chrf", "rouge1"), ("rouge1", "chrf", "ter")])
def test_more_metrics_never_let_a_failing_gate_pass(run: Run, metrics: tuple[str, ...]) -> None:
    command = ("compare", "base.txt", "worse.txt", "-q", "--refs", "refs.txt", "--until-certain", "--gate")
    result = run(*command, "-m", *metrics)
    assert result.status == 3


def test_options_that_need_all_segments_are_refused(refused: Refusal) -> None:
    two = ("compare", "base.txt", "worse.txt", *EARLY)
    for flags in (("--report", "r.html"), ("--test", "t"), ("--all",), ("--plot", "p.png"), ("--ratings",)):
        message = refused(2, *two, *flags)
        assert f"{flags[0]} needs the scores of all segments; leave out --until-certain" in message
    message = refused(2, "compare", "base.txt", "worse.txt", *CHRF, "--margin", "1")
    assert "--margin is for --gate or --until-certain; add one of them" in message
    message = refused(2, *two, "--gate", "--margin", "1", "--smallest-difference", "1")
    assert "--smallest-difference and --margin both name a difference; leave one out" in message
    assert "--margin must be a number above 0" in refused(2, *two, "--margin", "0")
    assert "cannot stop early by nist" in refused(2, *two[:-2], "--until-certain", "-m", "nist")
    assert "takes two of the 3 systems" in refused(2, "compare", "same.txt", *two[1:], "--gate")


def test_saved_runs_are_refused(run: Run, refused: Refusal) -> None:
    assert run("score", "base.txt", *CHRF, "-o", "a.json", "-f", "json").status == 0
    assert run("score", "worse.txt", *CHRF, "-o", "b.json", "-f", "json").status == 0
    message = refused(2, "compare", "a.json", "b.json", "--until-certain")
    assert "--until-certain scores texts, and saved runs are scored already" in message


def test_interruption_leaves_nothing_half_written(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[int] = []
    finish = until_certain.finish  # type: ignore[attr-defined]

    def interrupt(*arguments: Any, **options: Any) -> Any:
        blocks.append(1)
        if len(blocks) == 3:
            raise KeyboardInterrupt
        return finish(*arguments, **options)

    monkeypatch.setattr(until_certain, "finish", interrupt)
    before = sorted(folder.iterdir())
    result = run("compare", "base.txt", "same.txt", *EARLY, "-f", "json", "-o", "out.json")
    assert result.status == 130
    assert sorted(folder.iterdir()) == before
