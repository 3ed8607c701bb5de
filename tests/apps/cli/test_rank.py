"""`nlgauge rank`: the best candidates on stdout, a line per segment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import REFERENCE, SECOND_REFERENCE, SYSTEM_A, SYSTEM_B, Refusal, Run

import nlgauge

CANDIDATES = [list(group) for group in zip(SYSTEM_A, SYSTEM_B, SECOND_REFERENCE, strict=True)]


def test_candidates_of_several_files_are_chosen_line_by_line(run: Run) -> None:
    result = run("rank", "a.txt", "b.txt", "ref2.txt")
    assert result.status == 0
    expected = nlgauge.rank(CANDIDATES)
    assert result.out.splitlines() == expected.chosen
    assert result.err == f"signature: {expected.signature.short()}\n"


def test_quiet_leaves_only_the_candidates(run: Run) -> None:
    result = run("rank", "a.txt", "b.txt", "ref2.txt", "--quiet", "-m", "chrf")
    assert (result.err, len(result.out.splitlines())) == ("", len(SYSTEM_A))


def test_references_choose_the_candidate_that_scores_best(run: Run) -> None:
    result = run("rank", "a.txt", "b.txt", "--refs", "ref.txt", "--format", "json")
    record = json.loads(result.out)
    assert record["systems"] == ["a", "b"]
    assert record["against"] == "references"
    scores = [nlgauge.score(system, REFERENCE).f1.tolist() for system in (SYSTEM_A, SYSTEM_B)]
    assert [row["utilities"] for row in record["segments"]] == [list(pair) for pair in zip(*scores, strict=True)]
    assert [row["best"] for row in record["segments"]] == [0] * len(SYSTEM_A)


def test_lists_of_a_jsonl_file_are_candidates_of_a_segment(run: Run, folder: Path) -> None:
    lines = [json.dumps({"c": group, "r": text}) for group, text in zip(CANDIDATES, REFERENCE, strict=True)]
    (folder / "c.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    piped = run("rank", "c.jsonl:c", "-q")
    assert piped.out == run("rank", "a.txt", "b.txt", "ref2.txt", "-q").out
    rows = run("rank", "c.jsonl:c", "--refs", "c.jsonl:r", "--format", "tsv", "-d", "17").rows
    assert [(row["segment"], row["rank"]) for row in rows[:4]] == [("0", "1"), ("0", "2"), ("0", "3"), ("1", "1")]
    assert list(rows[0]) == ["metric", "better", "against", "segment", "rank", "candidate", "utility", "signature"]
    best = nlgauge.rank(CANDIDATES, REFERENCE)
    assert [int(row["candidate"]) for row in rows] == [index for order in best.orders for index in order]


def test_a_table_names_the_systems_of_the_candidates(run: Run) -> None:
    rows = run("rank", "a.txt", "b.txt", "--format", "tsv", "-m", "bleu").rows
    assert {row["system"] for row in rows} == {"a", "b"}
    assert rows[0]["against"] == "candidates"


def test_prune_ranks_with_fewer_pairs(run: Run, folder: Path) -> None:
    group = [
        f"{word} cat sat on the {place}." for word in ("A", "The", "My") for place in ("mat", "sofa", "bed", "rug")
    ]
    (folder / "many.jsonl").write_text(json.dumps({"c": [*group, "It rains."]}) + "\n", encoding="utf-8")
    result = run("rank", "many.jsonl:c", "-m", "chrf", "--prune", "--seed", "3", "--format", "json")
    record = json.loads(result.out)
    expected = nlgauge.rank([[*group, "It rains."]], metric="chrf", prune=True, seed=3)
    assert record["pruning"] == expected.to_dict()["pruning"]
    assert record["pruning"]["pairs"] < record["pruning"]["all_pairs"] == 13 * 12


@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [
        (["rank"], 2, "needs candidates"),
        (
            ["rank", "a.txt", "b.txt", "--refs", "ref.txt", "--prune"],
            2,
            "--prune works only without --refs and --source",
        ),
        (["rank", "a.txt"], 1, "every segment has only one candidate"),
        (["rank", "a.txt", "b.txt", "-m", "bleu", "chrf"], 2, "--metric must be one value"),
        (["rank", "--refs", "ref.txt", "a.txt"], 2, "put the systems first: nlgauge rank a.txt --refs ref.txt"),
        (["rank", "a.txt", "a.txt"], 2, "is given twice"),
        (["rank", "a.txt", "lines.jsonl:c"], 1, "'lines.jsonl:c' has 1 segment, but 'a.txt' has 6"),
        (["rank", "lines.jsonl:c"], 1, "segment 0, candidate 1 contains a line break"),
    ],
)
def test_invalid_candidates_are_refused_in_one_line(
    refused: Refusal, folder: Path, argv: list[str], status: int, message: str
) -> None:
    (folder / "lines.jsonl").write_text('{"c": ["one", "two\\nlines"]}\n', encoding="utf-8")
    assert message in refused(status, *argv)
