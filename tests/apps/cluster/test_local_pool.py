"""Processes of this machine: the same numbers, and no shard lost with a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.apps.cluster.tables import COLUMNS, as_bytes, corpus_table, in_one_call, merged_bytes

import nlgauge
import nlgauge.apps.cluster as many
from nlgauge.apps.cluster import executors as pool_module
from nlgauge.apps.cluster.executors import LocalPool
from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.tasks import Tasks
from nlgauge.apps.cluster.worker import Job, Pass, Report
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import InputError, RecipeError

METRICS = ["chrf"]


def test_two_processes_give_what_one_call_gives(tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet", 20)
    run = many.score(
        tmp_path / "pairs.parquet",
        tmp_path / "parts",
        metric=METRICS,
        columns=COLUMNS,
        shard_rows=3,
        executor=many.Local(2),
    )
    assert (run.done, run.missing) == (7, 0)
    assert merged_bytes(tmp_path / "parts") == as_bytes(in_one_call(corpus, METRICS))


class Scripted:
    """Stands for a worker process: dies on the shards that it is told to, as often as it is told to."""

    deaths: ClassVar[dict[int, int]] = {}
    starts: ClassVar[bool] = True

    def __init__(self, job: Job) -> None:
        self.pipe = self  # what is waited for, and closed
        self.shard: int | None = None
        self.ready = self.starts

    def give(self, step: Pass, shard: int) -> None:
        self.shard = shard

    def receive(self) -> Report | None:
        assert self.shard is not None
        if self.deaths.get(self.shard, 0):
            self.deaths[self.shard] -= 1
            return None
        return Report(self.shard, 1, 0, 0.0, 0)

    def why_it_died(self) -> str:
        return "the worker died (status -9)"

    def close(self) -> None:
        return


def run_scripted(monkeypatch: pytest.MonkeyPatch, deaths: dict[int, int]) -> Tasks:
    monkeypatch.setattr(Scripted, "deaths", deaths)
    monkeypatch.setattr(pool_module, "_Process", Scripted)
    monkeypatch.setattr(pool_module, "wait", lambda pipes: pipes[:1])
    tasks = Tasks([RowShard(number, number, number + 1, 0, (number,), 1) for number in range(12)])
    LocalPool(Job("", (), RunOptions()), 2).run(Pass("score"), tasks)
    return tasks


def test_a_worker_that_dies_is_replaced_and_its_shard_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = run_scripted(monkeypatch, {3: 2, 5: 3})
    assert sorted(report.shard for report in tasks.reports) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert tasks.failed == {5: "the worker died (status -9)"}


def test_shards_that_kill_every_worker_are_given_up_also_where_there_is_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = run_scripted(monkeypatch, dict.fromkeys(range(12), 3))
    assert (sorted(tasks.failed), tasks.reports) == (list(range(12)), [])


def test_workers_that_never_come_to_work_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "starts", False)
    with pytest.raises(InputError, match=r"no worker comes to work.*__main__"):
        run_scripted(monkeypatch, dict.fromkeys(range(12), 9))


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": True}, {"memory": 0}, {"memory": "much"}])
def test_executors_check_what_they_are_given(wrong: Any) -> None:
    with pytest.raises(RecipeError):
        many.Local(**wrong)
    with pytest.raises(RecipeError):
        many.Ray(**wrong)
    with pytest.raises(RecipeError):
        many.Shard(1, wrong.get("workers", 2), memory=wrong.get("memory"))


SCRIPT = """
import sys, nlgauge.apps.cluster as many
if __name__ == "__main__":
    table, out = sys.argv[1:]
    columns = {"hyp": "fluent", "ref": "ref"}
    many.score(table, out, metric=["bertscore"], columns=columns, shard_rows=4, executor=many.Local(2))
"""


def children(process: int) -> list[int]:
    """Worker processes of a driver."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == process and b"spawn_main" in command:
            found.append(int(folder.name))
    return found


def wait_for_parts(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + 300
    while len(list(folder.glob("part-*.parquet"))) < count:
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers in /proc")
def test_a_worker_and_then_the_driver_are_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    # So many that a test that is kept waiting by others still finds some left to do.
    corpus = corpus_table(tmp_path / "pairs.parquet", 480)
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, tmp_path / "script.py", tmp_path / "pairs.parquet", tmp_path / "parts"]
    driver = subprocess.Popen(command)
    wait_for_parts(tmp_path / "parts", 3, driver)
    os.kill(children(driver.pid)[0], signal.SIGKILL)
    wait_for_parts(tmp_path / "parts", 12, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    there = len(list((tmp_path / "parts").glob("part-*.parquet")))
    assert 12 <= there < 120
    subprocess.run(command, check=True)
    alone = nlgauge.score(corpus.systems["fluent"], corpus.references, metric="bertscore")
    assert merged_bytes(tmp_path / "parts") == as_bytes([alone])


@pytest.mark.slow
def test_a_worker_over_its_bound_of_memory_ends(tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet", 4)
    run = many.score(
        tmp_path / "pairs.parquet",
        tmp_path / "parts",
        metric=["bertscore"],
        columns=COLUMNS,
        executor=many.Local(1, memory=0.15),  # less than any model takes
    )
    assert list(run.failed.values()) == ["the worker passed its bound of memory"]
