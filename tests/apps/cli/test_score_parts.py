"""`nlgauge score --table` and `--merge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, SYSTEM_B, Refusal, Run
from tests.extras import LazyModule

import nlgauge
from nlgauge.apps.cluster import worker as work_module

arrow = LazyModule("pyarrow")
parquet = LazyModule("pyarrow.parquet")

COLUMNS = "hyp=a,hyp=b,ref=ref"


@pytest.fixture
def table(run: Run) -> str:
    """In the folder that commands are run in."""
    columns = {"a": SYSTEM_A, "b": SYSTEM_B, "ref": REFERENCE, "key": list(range(6))}
    parquet.write_table(arrow.table(columns), "pairs.parquet")
    return "pairs.parquet"


def test_parts_and_their_summary(run: Run, table: str) -> None:
    command = ("score", "--table", table, "--columns", COLUMNS, "--metric", "chrf", "bleu", "--parts", "parts")
    first = run(*command, "--shard-rows", "4")
    assert (first.status, first.out) == (0, "")
    assert "2 of 2 shards scored, 0 reused" in first.err
    again = run(*command)
    assert "0 of 2 shards scored, 2 reused" in again.err
    assert run("score", "--merge", "parts", "-o", "summary.json").status == 0
    summary = json.loads(Path("summary.json").read_text(encoding="utf-8"))
    expected = nlgauge.score_systems({"a": SYSTEM_A, "b": SYSTEM_B}, REFERENCE, metric=["chrf", "bleu"])
    assert [item["score"] for item in summary["scores"]] == [score.system_score for score in expected]
    assert [item["signature"] for item in summary["scores"]] == [str(score.signature) for score in expected]
    assert (summary["rows"], summary["scored"], summary["errors"]) == (6, 6, 0)


def test_a_merge_is_a_table_or_a_file_for_compare(run: Run, table: str) -> None:
    run("score", "--table", table, "--columns", COLUMNS, "--metric", "chrf", "--parts", "parts", "--quiet")
    shown = run("score", "--merge", "parts", "--confidence")
    assert "signature: chrf|" in shown.out
    assert "95%" in shown.out
    run("score", "--merge", "parts", "--segments", "-o", "run.json")
    expected = nlgauge.score_systems({"a": SYSTEM_A, "b": SYSTEM_B}, REFERENCE, metric=["chrf"])
    loaded = nlgauge.load_scores("run.json")
    assert [item.to_dict() for item in loaded] == [item.to_dict() for item in expected]
    run("score", "--merge", "parts", "--confidence", "-o", "summary.json")
    summary = json.loads(Path("summary.json").read_text(encoding="utf-8"))
    assert summary["scores"][0]["interval"]["n"] == 6


def test_jobs_of_an_array(run: Run, table: str) -> None:
    command = ("score", "--table", table, "--columns", COLUMNS, "-m", "chrf", "--parts", "parts", "--shard-rows", "1")
    for job in ("1/2", "2/2"):
        assert run(*command, "--shard", job).status == 0
    assert run("score", "--merge", "parts").status == 0


def test_a_first_pass_says_that_there_is_a_second(run: Run, table: str) -> None:
    command = ("score", "--table", table, "--columns", COLUMNS, "-m", "bertscore:idf=refs", "--parts", "parts")
    result = run(*command, "--shard-rows", "3", "--shard", "1/2")
    assert result.status == 0
    assert "pass 1 of 2 is complete in this job; when it is in all jobs, run them again" in result.err


def test_rows_and_shards_that_fail(run: Run, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.jsonl").write_text('{"hyp": "a", "ref": "b"}\n{"hyp": null, "ref": "b"}\n', encoding="utf-8")
    result = run("score", "--table", "bad.jsonl", "-m", "chrf", "--parts", "bad")
    assert result.status == 0
    assert "1 rows could not be scored; their scores are null" in result.err
    merged = run("score", "--merge", "bad")
    assert "1 row that could not be scored" in merged.out
    assert "1 of 2 rows were not scored; the first, id '1': column 'hyp': expected a text, got None" in merged.err
    strict = run("score", "--table", "bad.jsonl", "-m", "chrf", "--parts", "strict", "--strict")
    assert strict.status == 1
    assert "row 1: column 'hyp'" in strict.err

    def broken(*_: object) -> None:
        msg = "a broken disk"
        raise RuntimeError(msg)

    monkeypatch.setattr(work_module, "read_rows", broken)
    failed = run("score", "--table", table, "--columns", COLUMNS, "-m", "chrf", "--parts", "failed")
    assert failed.status == 1
    assert "shard 0 (rows 0 to 5) failed three times: RuntimeError: a broken disk" in failed.err


def test_a_dry_run_writes_nothing(run: Run, table: str) -> None:
    before = sorted(path.name for path in Path().iterdir())
    result = run("score", "--table", table, "--columns", COLUMNS, "-m", "chrf", "--dry-run", "--price", "0.1")
    assert result.out.startswith("12 pairs in 6 rows, 1 shards")
    assert [line.split()[0] for line in result.out.splitlines()[3:6]] == ["1", "10", "100"]
    assert "cost at 0.1 for a worker and hour" in result.out
    assert sorted(path.name for path in Path().iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--parts", "p"), "--parts works only with --table FILE"),
        (("--table", "pairs.parquet"), "--table writes its scores in parts"),
        (("--table", "pairs.parquet", "--merge", "p"), "--table cannot be combined with --merge"),
        (("a.txt", "--merge", "p"), "HYP cannot be combined with --merge"),
        (("--table", "pairs.parquet", "--parts", "p", "--columns", "mt"), "ROLE=NAME"),
        (("--table", "pairs.parquet", "--parts", "p", "--shard", "3"), "--shard must be K/N"),
        (("--table", "pairs.parquet", "--parts", "p", "--shard", "0/4"), "the job number must be from 1 to 4"),
        (
            ("--table", "pairs.parquet", "--parts", "p", "--shard", "1/4", "--workers", "2"),
            "--shard cannot be combined with --workers",
        ),
        (("--table", "pairs.parquet", "--parts", "p", "--workers", "0"), "workers must be a whole number"),
        (("--table", "pairs.parquet", "--parts", "p", "--shard-rows", "0"), "--shard-rows must be"),
        (("--table", "pairs.parquet", "--dry-run", "--shard-rows", "-1"), "--shard-rows must be"),
        (("--table", "pairs.parquet", "--parts", "p", "-o", "s.json"), "--output cannot be combined with --table"),
        (("--table", "pairs.parquet", "--parts", "p", "--segments"), "--segments cannot be combined with --table"),
        (("--table", "pairs.parquet", "--parts", "p", "--seed", "1"), "--seed works only with --confidence"),
        (
            ("--table", "pairs.parquet", "--parts", "p", "--unit", "document", "--document-ids", "d"),
            "--document-ids cannot be combined with --table, where each row is a segment",
        ),
        (("--merge", "p"), "--metric cannot be combined with --merge, because the parts are already scored"),
    ],
)
def test_conflicting_flags_of_parts_are_refused(
    refused: Refusal, table: str, words: tuple[str, ...], message: str
) -> None:
    assert message in refused(2, "score", *words, "-m", "chrf")


@pytest.mark.parametrize("words", [("--model", "mpnet"), ("--precision", "int8"), ("--citation",), ("--seed", "1")])
def test_merge_refuses_flags_of_scoring(refused: Refusal, table: str, words: tuple[str, ...]) -> None:
    assert words[0] in refused(2, "score", "--merge", "p", *words)


def test_defaults_of_a_project_are_not_those_of_parts(run: Run, table: str) -> None:
    run("score", "--table", table, "--columns", COLUMNS, "--metric", "chrf", "--parts", "parts", "--quiet")
    Path("nlgauge.toml").write_text('metric = ["bleu"]\nmodel = "mpnet"\n', encoding="utf-8")
    merged = run("score", "--merge", "parts")
    assert (merged.status, merged.err) == (0, "")
    assert "signature: chrf|" in merged.out


def test_help_hides_the_flags_of_tables(run: Run) -> None:
    assert "--worker-memory" not in run("score", "--help").out
    assert "--worker-memory" in run("score", "--help-all").out
