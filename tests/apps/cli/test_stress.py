"""`nlgauge study stress`: perturbed outputs and adversarial triples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import SECOND_REFERENCE, SYSTEM_A, Refusal, Run

from nlgauge.studies.stress.suite import stress


def test_a_row_for_each_metric_and_perturbation(run: Run) -> None:
    result = run(
        "study", "stress", "a.txt", "--metric", "chrf", "rouge1", "--paraphrases", "ref2.txt", "--format", "json"
    )
    assert result.status == 0
    record = json.loads(result.out)
    expected = stress(SYSTEM_A, metric=["chrf", "rouge1"], paraphrases=SECOND_REFERENCE, name="a").to_dict()
    assert {key: record[key] for key in expected} == expected
    assert [metric["metric"] for metric in record["metrics"]] == ["chrf", "rouge1"]


def test_only_some_perturbations_against_references(run: Run) -> None:
    args = ("--refs", "ref.txt", "ref2.txt", "--perturbations", "typo", "casing", "--format", "tsv")
    rows = run("study", "stress", "a.txt", "-m", "chrf", *args).rows
    assert [row["perturbation"] for row in rows] == ["typo", "casing"]
    assert rows[1]["changed"] == str(len(SYSTEM_A))


def test_another_language_leaves_what_has_english_rules(run: Run, refused: Refusal) -> None:
    rows = run("study", "stress", "a.txt", "-m", "chrf", "--lang", "de", "--format", "tsv").rows
    assert "negation" not in {row["perturbation"] for row in rows}
    message = refused(2, "study", "stress", "a.txt", "-m", "chrf", "--lang", "de", "--perturbations", "negation")
    assert "needs English texts" in message


def test_triples_of_a_file(run: Run, folder: Path) -> None:
    (folder / "t.tsv").write_text("anchor\tparaphrase\tlookalike\na cat sat\ta kitten rested\tsat a cat\n")
    result = run("study", "stress", "--triples", "t.tsv", "--metric", "chrf", "rouge1", "--save-triples", "again.tsv")
    assert result.status == 0
    assert "adversarial triples: t.tsv" in result.out
    assert (folder / "again.tsv").read_text() == (folder / "t.tsv").read_text()


def test_released_scores_of_known_triples(run: Run, data_folder: Path) -> None:
    rows = run("study", "stress", "--triples", "paws", "--released", "--at", str(data_folder), "--format", "tsv").rows
    assert {row["metric"]: row["B wins"] for row in rows}["laser"] == "0.653"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "needs outputs (SYSTEM)"),
        (("a.txt", "--released"), "--released works only with --triples SET"),
        (("--triples", "paws", "--released", "-m", "chrf"), "--released cannot be combined with --metric"),
        (("a.txt", "--save-triples", "t.tsv"), "--save-triples works only with --triples"),
        (("--triples", "t.tsv", "--perturbations", "typo"), "--perturbations cannot be combined with --triples"),
        (("--triples", "nouns"), "needs SYSTEM, --paraphrases FILE"),
        (
            ("a.txt", "--perturbations", "typos", "-m", "chrf"),
            "perturbations does not accept 'typos'; choose from negation",
        ),
    ],
)
def test_conflicting_flags_are_refused(refused: Refusal, words: tuple[str, ...], message: str) -> None:
    assert message in refused(2, "study", "stress", *words)
