"""Rows and shards that fail: null with a reason, tried again, reported; and nothing lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.apps.cluster.tables import ONE_SYSTEM, QUIET, corpus_rows, corpus_table, run
from tests.core.corpora import small_corpus
from tests.extras import LazyModule

import nlgauge
import nlgauge.apps.cluster as many
from nlgauge.apps.cluster import worker as work_module
from nlgauge.errors import InputError
from nlgauge.metrics.chrf import ChrF

arrow = LazyModule("pyarrow")
parquet = LazyModule("pyarrow.parquet")

pytestmark = QUIET


def poisoned(path: Path) -> tuple[list[int], nlgauge.Score]:
    """A table with rows that cannot be scored, their numbers, and the score of the others in one call."""
    corpus = small_corpus(12)
    columns = corpus_rows(corpus)
    columns["fluent"] = list(columns["fluent"])
    columns["fluent"][2] = None  # nothing there
    columns["fluent"][5], columns["ref"][5] = " ", [""]  # both sides empty
    columns["ref"][9] = []  # no reference
    parquet.write_table(arrow.table(columns), path)
    left = [index for index in range(12) if index not in {2, 5, 9}]
    metric = "bertscore:model=hash,layer=1,idf=refs,unknown=score"
    alone = nlgauge.score(
        [columns["fluent"][row] for row in left], [columns["ref"][row] for row in left], metric=metric
    )
    return [2, 5, 9], alone


@pytest.mark.parametrize("rows", [1, 5, 100])
def test_rows_that_cannot_be_scored_are_null_with_the_reason(tmp_path: Path, rows: int) -> None:
    bad, alone = poisoned(tmp_path / "pairs.parquet")
    metric = "bertscore:model=hash,layer=1,idf=refs,unknown=score"
    done = run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metric, columns=ONE_SYSTEM, shard_rows=rows)
    merged = many.merge(tmp_path / "parts")
    assert done.errors == len(merged.errors) == 3
    assert [(error.row, error.id) for error in merged.errors] == [(index, f"row-{index}") for index in bad]
    reasons = [error.error for error in merged.errors]
    assert "expected a text, got None" in reasons[0]
    assert "both empty" in reasons[1]
    assert "no reference" in reasons[2]
    score = merged.scores[0]
    assert score.signature.run["errors"] == "3"
    assert score.signature.recipe == alone.signature.recipe
    assert score.f1.tolist() == alone.f1.tolist()
    stored = parquet.read_table(sorted((tmp_path / "parts").glob("part-*"))).to_pydict()
    assert [index for index, value in enumerate(stored["bertscore/f1"]) if value is None] == bad
    assert [index for index, text in enumerate(stored["error"]) if text is not None] == bad


def test_strict_ends_at_the_first_failed_row(tmp_path: Path) -> None:
    poisoned(tmp_path / "pairs.parquet")
    with pytest.raises(InputError, match=r"row 2 \(id 'row-2'\): column 'fluent': expected a text, got None"):
        run(tmp_path / "pairs.parquet", tmp_path / "parts", columns=ONE_SYSTEM, strict=True, shard_rows=100)
    assert not list((tmp_path / "parts").glob("part-*"))


def test_neighbours_of_a_row_that_cannot_be_scored_depend_on_it(tmp_path: Path) -> None:
    poisoned(tmp_path / "pairs.parquet")
    metric = "bertscore:model=hash,layer=1,transforms=position-norm,unknown=score"
    with pytest.raises(InputError, match=r"row 2 .* neighbouring rows depend on it under position-norm"):
        run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metric, columns=ONE_SYSTEM)


def test_a_text_that_is_too_long_is_one_row(tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet")
    columns = corpus_rows(corpus) | {"fluent": ["the cat " * 100 if index == 3 else "the cat" for index in range(10)]}
    parquet.write_table(arrow.table(columns), tmp_path / "pairs.parquet")
    metric = "bertscore:model=hash,layer=1,unknown=score"
    run(tmp_path / "pairs.parquet", tmp_path / "parts", metric=metric, columns=ONE_SYSTEM, long="error")
    merged = many.merge(tmp_path / "parts")
    assert [error.row for error in merged.errors] == [3]
    assert "over the limit of 64" in merged.errors[0].error


@pytest.mark.parametrize(("odd", "error"), [(1, RuntimeError), (11, RuntimeError), (1, MemoryError)])
def test_a_text_that_breaks_a_metric_fails_one_row_and_a_broken_metric_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: int, error: type[Exception]
) -> None:
    """Up to ten rows of a shard; what is the machine's fault is no row's."""
    real = ChrF.score_texts

    def breaking(self: ChrF, hypotheses: Sequence[str], *rest: Any) -> Any:
        if any("odd" in text for text in hypotheses):
            msg = "surprise"
            raise error(msg)
        return real(self, hypotheses, *rest)

    monkeypatch.setattr(ChrF, "score_texts", breaking)
    texts = ["odd" if 20 - index <= odd else "a text" for index in range(20)]
    corpus_table(tmp_path / "pairs.parquet", 20, fluent=texts)
    done = run(tmp_path / "pairs.parquet", tmp_path / "parts", metric="chrf", columns=ONE_SYSTEM, shard_rows=100)
    if odd == 1 and error is RuntimeError:
        assert done.errors == 1
        assert many.merge(tmp_path / "parts").errors[0].error == "RuntimeError: surprise"
    else:
        assert done.failed == {0: f"{error.__name__}: surprise"}
        assert done.rows_of == {0: (0, 19)}


def test_a_shard_that_fails_three_times_is_reported_and_the_rest_goes_on(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tried = work_module.read_rows, []

    def broken(opened: Any, columns: Any, shard: Any) -> Any:
        tried.append(shard.number)
        if shard.number == 1:
            msg = "a broken disk"
            raise RuntimeError(msg)
        return real(opened, columns, shard)

    monkeypatch.setattr(work_module, "read_rows", broken)
    done = run(table, tmp_path / "parts")
    assert tried.count(1) == 3
    assert done.failed == {1: "RuntimeError: a broken disk"}
    assert (done.done, done.missing, done.complete) == (2, 1, False)
    with pytest.raises(InputError, match=r"1 of 3 parts are missing .*part-00001\.parquet"):
        many.merge(tmp_path / "parts")
    monkeypatch.undo()
    assert run(table, tmp_path / "parts").complete


def test_a_file_that_cannot_be_read_for_a_moment_is_read_again(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = work_module.read_rows, []

    def broken_once(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            msg = "cannot read 'pairs.parquet': Stale file handle"
            raise InputError(msg)
        return real(*given)

    monkeypatch.setattr(work_module, "read_rows", broken_once)
    assert run(table, tmp_path / "parts").complete


def test_an_input_that_changes_while_it_is_scored(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = work_module.write_part

    def changing(*given: Any) -> None:
        real(*given)
        corpus_table(table, fluent=["something else"] * 10)

    monkeypatch.setattr(work_module, "write_part", changing)
    with pytest.raises(InputError, match="the input changed during scoring"):
        run(table, tmp_path / "parts", shard_rows=100)


def test_a_full_disk_is_reported_and_nothing_is_lost(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.replace, []

    def full(source: Any, target: Any) -> None:
        calls.append(target)
        if len(calls) == 3:  # the plan, a part, and then no more
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"no space left in .*; finished parts are complete"):
        run(table, tmp_path / "parts")
    monkeypatch.undo()
    assert len(list((tmp_path / "parts").glob("part-*.parquet"))) == 1
    assert [path.name for path in (tmp_path / "parts").iterdir() if path.name.startswith(".")] == []
    done = run(table, tmp_path / "parts")
    assert (done.done, done.skipped) == (2, 1)
