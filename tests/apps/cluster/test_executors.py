"""Executors: the queue of shards, processes of this machine, and actors (the real ones: `test_ray_pool.py`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.apps.cluster.tables import COLUMNS, as_bytes, corpus_table, in_one_call, merged_bytes

import nlgauge
import nlgauge.apps.cluster as many
from nlgauge.apps.cluster import executors as pool_module
from nlgauge.apps.cluster.executors import LocalPool, Tasks, progress_bar, run_on_actors
from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.worker import Job, Pass, Report
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import InputError, NlgaugeError, RecipeError, SignatureError

SHARDS = [RowShard(number, number, number + 1, 0, (0,), 1) for number in range(3)]


def report(shard: int) -> Report:
    return Report(shard, 1, 0, 0.0, 0)


def test_a_shard_comes_back_behind_the_others_and_is_given_up_after_three_tries() -> None:
    tasks, order = Tasks(SHARDS), []
    while tasks:
        shard = tasks.take()
        assert shard is not None
        order.append(shard.number)
        if shard.number == 0:
            tasks.settle(0, f"try {order.count(0)}", workers=1)
        else:
            tasks.settle(shard.number, report(shard.number), workers=1)
    assert order == [0, 1, 2, 0, 0]
    assert tasks.failed == {0: "try 3"}
    assert [item.shard for item in tasks.reports] == [1, 2]


def test_queue_is_not_empty_while_tasks_run() -> None:
    tasks = Tasks(SHARDS[:1])
    assert tasks.take() == SHARDS[0]
    assert tasks.take() is None
    assert tasks
    tasks.settle(0, report(0), workers=1)
    assert not tasks


def test_progress_without_a_terminal_is_plain_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nlgauge.io.progress.INTERVAL", 0.0)
    with progress_bar(1000, already=200, what="scoring") as bar:
        tasks = Tasks(SHARDS[:1], bar)
        tasks.take()
        tasks.show_message("the cluster has no room")
        tasks.settle(0, Report(0, 800, 0, 1.0, 0), workers=8)
    assert capsys.readouterr().err.splitlines() == [
        "nlgauge: scoring: the cluster has no room",
        "nlgauge: scoring 1,000 of 1,000 pairs (100 %), about 0 s left",
    ]


def test_progress_counts_pairs_and_workers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(1000, already=200, what="scoring") as bar:
        tasks = Tasks(SHARDS[:1], bar)
        tasks.take()
        tasks.show_message("the cluster has no room")
        tasks.settle(0, Report(0, 800, 0, 1.0, 0), workers=8)
    shown = capsys.readouterr().err
    assert "scoring: the cluster has no room\n" in shown
    assert "scoring: 100%" in shown
    assert "8 workers" in shown


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


def test_shards_that_kill_every_worker_are_given_up_even_without_other_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = run_scripted(monkeypatch, dict.fromkeys(range(12), 3))
    assert (sorted(tasks.failed), tasks.reports) == (list(range(12)), [])


def test_workers_that_never_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "starts", False)
    with pytest.raises(InputError, match=r"workers failed to start after 5 attempts.*__main__"):
        run_scripted(monkeypatch, dict.fromkeys(range(12), 9))


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": True}, {"memory": 0}, {"memory": "much"}])
def test_executors_check_their_arguments(wrong: Any) -> None:
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
    result = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == process and b"spawn_main" in command:
            result.append(int(folder.name))
    return result


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
def test_a_worker_over_its_memory_limit_ends(tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet", 4)
    run = many.score(
        tmp_path / "pairs.parquet",
        tmp_path / "parts",
        metric=["bertscore"],
        columns=COLUMNS,
        executor=many.Local(1, memory=0.15),  # less than any model takes
    )
    assert list(run.failed.values()) == ["the worker exceeded its memory limit"]


class RayError(Exception):
    """Stands for Ray's."""


class RayActorError(RayError):
    """Stands for Ray's."""


class FakeRay:
    """Answers in the order of the questions; an answer that is an error is raised."""

    exceptions = SimpleNamespace(RayError=RayError, RayActorError=RayActorError)

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}

    def ask(self, answer: Any) -> int:
        reference = len(self.answers)
        self.answers[reference] = answer
        return reference

    def wait(self, references: list[int], **_: Any) -> tuple[list[int], list[int]]:
        first = min(references)
        return [first], [reference for reference in references if reference != first]

    def get(self, reference: int) -> Any:
        answer = self.answers[reference]
        if isinstance(answer, Exception) and not isinstance(answer, NlgaugeError):
            raise answer
        return answer


class FakeActor:
    """Dies, or fails, on shards that it is told to, as often as it is told to."""

    def __init__(self, ray: FakeRay, script: dict[int, list[Any]], later: Any = None) -> None:
        answers = deque([1])  # it is there in the beginning; later, it may be gone
        self.process = SimpleNamespace(remote=lambda: ray.ask(answers.popleft() if answers else later or 1))
        self.run = SimpleNamespace(remote=lambda _, shard: ray.ask(self._answer(script, shard)))

    def _answer(self, script: dict[int, list[Any]], shard: int) -> Any:
        left = script.get(shard)
        return left.pop(0) if left else Report(shard, 1, 0, 0.0, 0)


def run(script: dict[int, list[Any]], *, later: Any = None) -> Tasks:
    ray = FakeRay()
    tasks = Tasks([RowShard(number, number, number + 1, 0, (0,), 1) for number in range(6)])
    run_on_actors(ray, [FakeActor(ray, script, later) for _ in range(2)], Pass("score"), tasks)
    return tasks


def test_an_actor_that_died_is_given_shards_again_when_it_is_back() -> None:
    tasks = run({1: [RayActorError("killed")], 4: [RayActorError("killed"), RayError("lost\nan object")]})
    assert sorted(report.shard for report in tasks.reports) == [0, 1, 2, 3, 4, 5]
    assert tasks.failed == {}


def test_a_shard_that_kills_every_actor_is_given_up() -> None:
    tasks = run({2: [RayActorError("killed")] * 3, 3: ["RuntimeError: odd"] * 3})
    assert tasks.failed == {2: "the worker died", 3: "RuntimeError: odd"}
    assert sorted(report.shard for report in tasks.reports) == [0, 1, 4, 5]


def test_a_permanent_error_ends_the_run() -> None:
    with pytest.raises(SignatureError, match="other packages"):
        run({3: [SignatureError("other packages")]})


def test_error_names_why_workers_cannot_start() -> None:
    why = "The actor died by an error raised in its creation task\n..\nModuleNotFoundError: No module named 'x'"
    with pytest.raises(InputError, match="workers cannot start on the cluster: ModuleNotFoundError: No module named"):
        run({0: [RayActorError(why)]})


def test_an_actor_that_has_not_started_gets_no_shard() -> None:
    ray = FakeRay()
    tasks = Tasks([RowShard(number, number, number + 1, 0, (0,), 1) for number in range(6)])
    there, waiting = FakeActor(ray, {}), FakeActor(ray, {})
    never = 10**9  # an answer that does not come: `wait` gives the first reference
    ray.answers[never] = None
    waiting.process = SimpleNamespace(remote=lambda: never)
    waiting.run = SimpleNamespace(remote=lambda *_: pytest.fail("it has not answered yet"))
    run_on_actors(ray, [waiting, there], Pass("score"), tasks)
    assert len(tasks.reports) == 6


def test_a_full_cluster_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr(pool_module, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(Tasks, "show_message", lambda _, text: messages.append(text))
    ray, looks = FakeRay(), [1, 2, 3]

    def wait(references: list[int], **_: Any) -> tuple[list[int], list[int]]:
        """Nobody is there at first."""
        if looks:
            looks.pop()
            return [], references
        return FakeRay.wait(ray, references)

    monkeypatch.setattr(ray, "wait", wait)
    tasks = Tasks([RowShard(0, 0, 1, 0, (0,), 1)])
    run_on_actors(ray, [FakeActor(ray, {})], Pass("score"), tasks)
    assert messages == ["no free room on the cluster for 0 s; still waiting"]
    assert len(tasks.reports) == 1


def machine(**resources: float) -> dict[str, Any]:
    return {"Alive": True, "Resources": resources}


def test_number_of_workers_that_fit_on_the_machines() -> None:
    gigabyte = 2**30
    machines = [machine(CPU=3.0, memory=10.0 * gigabyte), machine(CPU=8.0, memory=4.0 * gigabyte), machine()]
    machines.append({"Alive": False, "Resources": {"CPU": 64.0}})
    assert pool_module._count_workers(machines, 1, None) == 11
    assert pool_module._count_workers(machines, 2, None) == 5
    assert pool_module._count_workers(machines, 1, 2 * gigabyte) == 3 + 2
    with pytest.raises(
        InputError, match=r"a worker with 16 processors \(largest machine: 8\); .* --workers N to wait"
    ):
        pool_module._count_workers(machines, 16, None)
    with pytest.raises(InputError, match=r"with 1 processors and 20 GB \(largest machine: 8 and 10\.0 GB\)"):
        pool_module._count_workers(machines, 1, 20 * gigabyte)


def test_run_ends_when_no_actor_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_RESTART_SECONDS", 0.0)
    with pytest.raises(InputError, match="all workers on the cluster died"):
        run({number: [RayActorError("killed")] * 3 for number in range(6)}, later=RayActorError("gone"))
